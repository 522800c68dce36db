"""Names that EKS, eksctl and CloudFormation accept, and the stacks that eksctl makes of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from clusterctl.errors import UsageError

STACK_NAME_LIMIT = 128
CLUSTER_NAME_LIMIT = 100
NODEGROUP_NAME_LIMIT = 63

_EKSCTL_NAME = re.compile(r"[a-zA-Z][-a-zA-Z0-9]*")


def cluster_stack(cluster: str) -> str:
    return f"eksctl-{cluster}-cluster"


def nodegroup_stack(cluster: str, nodegroup: str) -> str:
    return f"eksctl-{cluster}-nodegroup-{nodegroup}"


def kubeconfig_name(region: str, cluster: str) -> str:
    """The file name of a cluster's kubeconfig, in the folder of all of them."""
    return f"{region}-{cluster}"


def check_names(cluster: str, nodegroups: Iterable[str]) -> None:
    """Refuse names that eksctl, EKS or CloudFormation would refuse minutes later."""
    _check_name("CLUSTER_NAME", cluster, CLUSTER_NAME_LIMIT)
    for nodegroup in nodegroups:
        _check_name("GPU_NODEGROUP_NAME", nodegroup, NODEGROUP_NAME_LIMIT)
        stack = nodegroup_stack(cluster, nodegroup)
        if len(stack) > STACK_NAME_LIMIT:
            raise UsageError(
                f"the stack name {stack[:40]}… would be {len(stack)} characters, the limit is {STACK_NAME_LIMIT}",
                hint="choose a shorter CLUSTER_NAME or GPU_NODEGROUP_NAME",
            )


def _check_name(setting: str, name: str, limit: int) -> None:
    if not _EKSCTL_NAME.fullmatch(name):
        raise UsageError(
            f"{setting} {name!r} is not a name that EKS takes",
            hint="begin with a letter, then letters, digits and hyphens",
        )
    if len(name) > limit:
        raise UsageError(f"{setting} is {len(name)} characters long, EKS takes {limit}", hint="choose a shorter name")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that looks most like this one, or an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else ""
