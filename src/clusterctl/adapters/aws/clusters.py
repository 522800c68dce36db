"""Clusters as EKS, CloudFormation, EC2 and IAM show them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from botocore.exceptions import ClientError

from clusterctl.adapters.aws.faults import code_of, translated
from clusterctl.adapters.aws.nodegroups import nodegroup_state
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.adapters.aws.stacks import stack_state
from clusterctl.adapters.aws.subnets import private_by_zone, subnets_of
from clusterctl.model.cluster import ClusterState, HealthIssue, NodegroupState, StackState
from clusterctl.model.names import cluster_stack, nodegroup_stack
from clusterctl.model.specs import SYSTEM_NODEGROUP

LOOKS = 3
T = TypeVar("T")


class AwsClusterReader:
    """Implements ports.ClusterReader. What does not exist has an empty status; what may not be read is an error."""

    def __init__(self, session: AwsSession) -> None:
        self._session = session

    def cluster(self, region: str, name: str) -> ClusterState:
        with translated(f"describe cluster {name} in {region}"):
            return seen_whole(lambda: self._cluster(region, name))

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        with translated(f"describe node group {name} of {cluster} in {region}"):
            return seen_whole(lambda: nodegroup_state(self._session, region, cluster, name))

    def stack(self, region: str, name: str) -> StackState:
        return stack_state(self._session, region, name)

    def _cluster(self, region: str, name: str) -> ClusterState:
        stack = stack_state(self._session, region, cluster_stack(name))
        system = stack_state(self._session, region, nodegroup_stack(name, SYSTEM_NODEGROUP))
        eks = self._session.client("eks", region)
        found = found_or_none(eks.describe_cluster, "cluster", name=name)
        if found is None:
            return ClusterState(region, name, stack=stack, system_stack=system)
        network = found.get("resourcesVpcConfig", {})
        issuer = found.get("identity", {}).get("oidc", {}).get("issuer", "")
        addons, issues = self._addons(eks, name)
        return ClusterState(
            region=region,
            name=name,
            status=found["status"],
            version=found.get("version", ""),
            arn=found.get("arn", ""),
            endpoint=found.get("endpoint") or "",
            certificate_authority=found.get("certificateAuthority", {}).get("data") or "",
            oidc_issuer=issuer,
            oidc_provider=bool(issuer) and self._trusts(issuer),
            vpc_id=network.get("vpcId", ""),
            private_subnets=self._private_subnets(region, network),
            addons=addons,
            addon_issues=issues,
            nodegroups=self._nodegroups(eks, name),
            tags=found.get("tags", {}),
            stack=stack,
            system_stack=system,
            created=found.get("createdAt"),
        )

    def _addons(self, eks: Any, cluster: str) -> tuple[dict[str, str], tuple[HealthIssue, ...]]:
        names = _every(eks, "list_addons", "addons", cluster)
        asked = [found_or_none(eks.describe_addon, "addon", clusterName=cluster, addonName=name) for name in names]
        found = [one for one in asked if one is not None]
        issues = [
            HealthIssue(issue["code"], f"{one['addonName']}: {issue['message']}")
            for one in found
            for issue in one.get("health", {}).get("issues", ())
        ]
        return {one["addonName"]: one["status"] for one in found}, tuple(issues)

    def _nodegroups(self, eks: Any, cluster: str) -> dict[str, str]:
        names = _every(eks, "list_nodegroups", "nodegroups", cluster)
        asked = [
            found_or_none(eks.describe_nodegroup, "nodegroup", clusterName=cluster, nodegroupName=name)
            for name in names
        ]
        return {one["nodegroupName"]: one["status"] for one in asked if one is not None}

    def _private_subnets(self, region: str, network: dict[str, Any]) -> dict[str, str]:
        found = subnets_of(self._session, region, network.get("vpcId", ""), network.get("subnetIds", []))
        return private_by_zone(found)

    def _trusts(self, issuer: str) -> bool:
        """Whether IAM has a provider for the issuer; its ARN ends in the issuer's host and path."""
        listed = self._session.client("iam").list_open_id_connect_providers()["OpenIDConnectProviderList"]
        host_and_path = issuer.removeprefix("https://")
        return any(one["Arn"].endswith(f"/{host_and_path}") for one in listed)


def seen_whole(look: Callable[[], T]) -> T:
    """A look of many calls, taken again where a thing vanished between two of them, as it does while it is deleted."""
    for _ in range(LOOKS - 1):
        try:
            return look()
        except ClientError as fault:
            if "NotFound" not in code_of(fault):
                raise
    return look()


def found_or_none(call: Callable[..., Any], key: str, **names: str) -> dict[str, Any] | None:
    """EKS's answer, or None where EKS says that there is no such thing."""
    try:
        found: dict[str, Any] = call(**names)[key]
    except ClientError as fault:
        if code_of(fault) == "ResourceNotFoundException":
            return None
        raise
    return found


def _every(eks: Any, call: str, key: str, cluster: str) -> Iterator[str]:
    for page in eks.get_paginator(call).paginate(clusterName=cluster):
        yield from page[key]
