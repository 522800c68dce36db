"""From parsed flags to the commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.sandbox.eksctl import clusters, deletion, listing, nodegroups
from clusterctl.sandbox.eksctl.addons import associate_oidc_provider
from clusterctl.sandbox.eksctl.cli import print_schema
from clusterctl.sandbox.eksctl.config import ClusterConfig
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.output import Console
from clusterctl.sandbox.eksctl.parsing import read_config
from clusterctl.sandbox.eksctl.plugins import PluginChoice
from clusterctl.sandbox.eksctl.session import Session
from clusterctl.sandbox.eksctl.validation import check_cluster, check_creation

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable


def _config(flags: Namespace) -> ClusterConfig:
    if not flags.config_file:
        raise EksctlError("the stand-in reads a config file: --config-file/-f must be set")
    for name in ("name", "cluster", "region"):
        if getattr(flags, name, ""):
            raise EksctlError(f"cannot use --{name} when --config-file/-f is set")
    config = ClusterConfig(read_config(flags.config_file))
    check_cluster(config)
    return config


def _region(flags: Namespace) -> str:
    region = flags.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise EksctlError(
            "AWS Region must be set, please set the AWS Region in AWS config file or as environment variable"
        )
    return region


def _session(flags: Namespace, region: str = "", console: Console | None = None) -> Session:
    return Session.begin(region or _region(flags), console or Console(), flags.timeout)


def _plugins(flags: Namespace) -> PluginChoice:
    return PluginChoice(flags.install_nvidia_plugin, flags.install_neuron_plugin)


def create_cluster(flags: Namespace) -> None:
    """`create cluster -f`."""
    config = _config(flags)
    check_creation(config)
    wanted = flags.kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    options = clusters.ClusterOptions(
        kubeconfig=Path(wanted) if flags.write_kubeconfig else None,
        with_nodegroups=not flags.without_nodegroup,
        plugins=_plugins(flags),
    )
    clusters.create_cluster(_session(flags, config.region), config, options)


def create_nodegroup(flags: Namespace) -> None:
    """`create nodegroup -f`."""
    config = _config(flags)
    session = _session(flags, config.region)
    clusters.check_version(session, config)
    nodegroups.create_nodegroups(session, config, _plugins(flags))


def delete_nodegroup(flags: Namespace) -> None:
    """`delete nodegroup`; with a file it only plans, unless approved."""
    if flags.config_file:
        config = _config(flags)
        session, cluster = _session(flags, config.region), config.name
        names = [one.name for one in config.nodegroups]
        if not flags.approve:
            session.console.info(f"(plan) {len(names)} nodegroup(s) would be deleted from cluster {cluster}")
            session.console.warn("no changes were applied, run again with '--approve' to apply the changes")
            return
    else:
        if not flags.cluster or not flags.name:
            raise EksctlError(f"--{'name' if flags.cluster else 'cluster'} must be set")
        session, cluster, names = _session(flags), flags.cluster, [flags.name]
    options = deletion.DeletionOptions(wait=flags.wait, drain=flags.drain, ignore_budgets=flags.disable_eviction)
    deletion.delete_nodegroups(session, cluster, names, options)


def delete_cluster(flags: Namespace) -> None:
    """`delete cluster`."""
    if flags.config_file:
        config = _config(flags)
        name, region = config.name, config.region
    else:
        name, region = flags.name, ""
    if not name:
        raise EksctlError("--name must be set")
    options = deletion.DeletionOptions(
        wait=flags.wait, force=flags.force, ignore_budgets=flags.disable_nodegroup_eviction
    )
    deletion.delete_cluster(_session(flags, region), name, options)


def _listing_session(flags: Namespace) -> Session:
    """Documents own stdout: the log moves to stderr."""
    console = Console() if flags.output == "table" else Console(stream=sys.stderr)
    return Session.begin(_region(flags), console, flags.timeout)


def get_cluster(flags: Namespace) -> None:
    """`get cluster`."""
    rows = listing.clusters(_listing_session(flags), flags.name)
    sys.stdout.write(listing.render(rows, flags.output, "clusters") + "\n")


def get_nodegroup(flags: Namespace) -> None:
    """`get nodegroup`."""
    if not flags.cluster:
        raise EksctlError("--cluster must be set")
    rows = listing.nodegroups(_listing_session(flags), flags.cluster, flags.name)
    sys.stdout.write(listing.render(rows, flags.output, "nodegroups") + "\n")


def describe_stacks(flags: Namespace) -> None:
    """`utils describe-stacks`."""
    rows = listing.stacks(_listing_session(flags), flags.cluster)
    sys.stdout.write(listing.render(rows, flags.output, "stacks") + "\n")


def associate_provider(flags: Namespace) -> None:
    """`utils associate-iam-oidc-provider`; without approval it only says what it would do."""
    session = _session(flags)
    cluster = session.operable_cluster(flags.cluster)
    if not flags.approve:
        session.console.info(f'(plan) would create IAM Open ID Connect provider for cluster "{flags.cluster}"')
        session.console.warn("no changes were applied, run again with '--approve' to apply the changes")
        return
    associate_oidc_provider(session.aws, session.console, cluster)


COMMANDS: dict[tuple[str, str], Callable[[Namespace], None]] = {
    ("create", "cluster"): create_cluster,
    ("create", "nodegroup"): create_nodegroup,
    ("delete", "cluster"): delete_cluster,
    ("delete", "nodegroup"): delete_nodegroup,
    ("get", "cluster"): get_cluster,
    ("get", "nodegroup"): get_nodegroup,
    ("utils", "schema"): print_schema,
    ("utils", "associate-iam-oidc-provider"): associate_provider,
    ("utils", "describe-stacks"): describe_stacks,
}
