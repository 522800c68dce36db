"""Add-ons of EKS, and the OIDC provider, as eksctl sees to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.aws import AwsError, segment
from clusterctl.sandbox.eksctl.failure import EksctlError

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.aws import Aws
    from clusterctl.sandbox.eksctl.config import ClusterConfig
    from clusterctl.sandbox.eksctl.output import Console

_DEFAULT = ("vpc-cni", "kube-proxy", "coredns", "metrics-server")
_EARLY = ("vpc-cni", "kube-proxy", "coredns", "eks-pod-identity-agent")
_NEED_NODES = frozenset({"coredns", "metrics-server", "aws-ebs-csi-driver", "aws-efs-csi-driver"})
_WAIT_S = 1500.0


def early_and_late(config: ClusterConfig) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The add-ons made before the node groups, and those after; defaults included."""
    wanted = {addon["name"]: addon for addon in config.addons}
    if not config.addons_config.get("disableDefaultAddons"):
        wanted = {name: wanted.get(name, {"name": name}) for name in _DEFAULT} | wanted
    early = [wanted.pop(name) for name in _EARLY if name in wanted]
    return early, list(wanted.values())


def announce_defaults(config: ClusterConfig, console: Console) -> None:
    """Say which default add-ons will come unasked."""
    named = {addon["name"] for addon in config.addons}
    missing = [name for name in _DEFAULT if name not in named]
    if missing and not config.addons_config.get("disableDefaultAddons"):
        listed = ", ".join(missing)
        console.info(f"default addons {listed} were not specified, will install them as EKS addons")


def create_addons(aws: Aws, console: Console, cluster: str, addons: list[dict[str, Any]], *, has_nodes: bool) -> None:
    """Create add-ons one after the other, skipping those that exist."""
    for addon in addons:
        name = addon["name"]
        if _status(aws, cluster, name) not in {"", "CREATE_FAILED"}:
            console.info(f'addon "{name}" already exists, skipping')
            continue
        console.info("creating addon: " + name)
        aws.eks("POST", f"/clusters/{segment(cluster)}/addons", _request(addon))
        if has_nodes or name not in _NEED_NODES:
            _await(aws, console, cluster, name)
        console.info(f"successfully created addon: {name}")


def _request(addon: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"addonName": addon["name"]}
    for key, field in (
        ("version", "addonVersion"),
        ("configurationValues", "configurationValues"),
        ("serviceAccountRoleARN", "serviceAccountRoleArn"),
        ("tags", "tags"),
    ):
        if addon.get(key):
            body[field] = addon[key]
    if addon.get("resolveConflicts"):
        body["resolveConflicts"] = addon["resolveConflicts"].upper()
    return body


def _status(aws: Aws, cluster: str, name: str) -> str:
    try:
        answer = aws.eks("GET", f"/clusters/{segment(cluster)}/addons/{segment(name)}")
    except AwsError as problem:
        if problem.code == "ResourceNotFoundException":
            return ""
        raise
    return str(answer["addon"]["status"])


def _await(aws: Aws, console: Console, cluster: str, name: str) -> None:
    status = ""

    def settled() -> bool:
        nonlocal status
        status = _status(aws, cluster, name)
        return status != "CREATING"

    if not console.wait_until(settled, _WAIT_S, every_s=15.0) or status == "DEGRADED":
        raise EksctlError(f'timed out waiting for addon "{name}" to become active, status: "{status}"')
    if status != "ACTIVE":
        raise EksctlError(f'addon status transitioned to "{status}"')


def associate_oidc_provider(aws: Aws, console: Console, cluster: dict[str, Any]) -> None:
    """Make the IAM OIDC provider of a cluster; one that exists is left alone."""
    name, issuer = cluster["name"], cluster["identity"]["oidc"]["issuer"]
    if provider_arn(aws, issuer):
        console.info(f'IAM Open ID Connect provider is already associated with cluster "{name}" in "{aws.region}"')
        return
    aws.query(
        "iam",
        "CreateOpenIDConnectProvider",
        Url=issuer,
        ClientIDList=["sts.amazonaws.com"],
        ThumbprintList=["9e99a48a9960b14926bb7f3b02e22da2b0ab7280"],
        Tags=[{"Key": "alpha.eksctl.io/cluster-name", "Value": name}],
    )
    console.done(f'created IAM Open ID Connect provider for cluster "{name}" in "{aws.region}"')


def provider_arn(aws: Aws, issuer: str) -> str:
    """The ARN of the OIDC provider of an issuer, or ""."""
    answer = aws.query("iam", "ListOpenIDConnectProviders")
    suffix = issuer.removeprefix("https://")
    rows = answer.get("OpenIDConnectProviderList") or []
    return next((row["Arn"] for row in rows if row["Arn"].endswith(suffix)), "")


def remove_oidc_provider(aws: Aws, console: Console, cluster: dict[str, Any]) -> None:
    """Delete the OIDC provider of a cluster where there is one."""
    issuer = ((cluster.get("identity") or {}).get("oidc") or {}).get("issuer", "")
    arn = provider_arn(aws, issuer) if issuer else ""
    if arn:
        console.info("deleting IAM OIDC provider")
        aws.query("iam", "DeleteOpenIDConnectProvider", OpenIDConnectProviderArn=arn)
