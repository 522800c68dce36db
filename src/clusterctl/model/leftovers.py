"""What can remain of a cluster on AWS, whose it is, and what it costs to leave it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from clusterctl.model.failures import Failure


class ResourceKind(StrEnum):
    """The kinds that outlive a cluster, in the order in which they have to go: users before what they use."""

    INSTANCE = "instance"
    LOAD_BALANCER = "load-balancer"  # application and network; the id is the ARN
    CLASSIC_LOAD_BALANCER = "classic-load-balancer"  # the id is the name
    TARGET_GROUP = "target-group"  # the id is the ARN
    NAT_GATEWAY = "nat-gateway"
    NETWORK_INTERFACE = "network-interface"
    ADDRESS = "address"  # an elastic IP; the id is the allocation
    SECURITY_GROUP = "security-group"
    STACK = "stack"  # CloudFormation; the id is the name
    VOLUME = "volume"
    SNAPSHOT = "snapshot"
    FILE_SYSTEM = "file-system"  # of EFS
    LUSTRE = "lustre-file-system"  # of FSx
    PLACEMENT_GROUP = "placement-group"  # the id is the name
    LAUNCH_TEMPLATE = "launch-template"
    LOG_GROUP = "log-group"  # the id is the name
    OIDC_PROVIDER = "oidc-provider"  # IAM's, in no region; the id is the ARN
    RESERVATION = "capacity-reservation"


REMOVAL_ORDER = {kind: position for position, kind in enumerate(ResourceKind)}
KEPT_UNLESS_PURGED = frozenset(  # somebody's data
    {ResourceKind.VOLUME, ResourceKind.SNAPSHOT, ResourceKind.FILE_SYSTEM, ResourceKind.LUSTRE}
)
BLOCKERS = frozenset({  # what keeps a VPC, and so the stack of a cluster, from being deleted
    ResourceKind.INSTANCE, ResourceKind.LOAD_BALANCER, ResourceKind.CLASSIC_LOAD_BALANCER,
    ResourceKind.NETWORK_INTERFACE, ResourceKind.SECURITY_GROUP,
})  # fmt: skip

_COMMANDS: dict[ResourceKind, Callable[[str], str]] = {
    ResourceKind.INSTANCE: lambda one: f"ec2 terminate-instances --instance-ids {one}",
    ResourceKind.LOAD_BALANCER: lambda one: f"elbv2 delete-load-balancer --load-balancer-arn {one}",
    ResourceKind.CLASSIC_LOAD_BALANCER: lambda one: f"elb delete-load-balancer --load-balancer-name {one}",
    ResourceKind.TARGET_GROUP: lambda one: f"elbv2 delete-target-group --target-group-arn {one}",
    ResourceKind.NAT_GATEWAY: lambda one: f"ec2 delete-nat-gateway --nat-gateway-id {one}",
    ResourceKind.NETWORK_INTERFACE: lambda one: f"ec2 delete-network-interface --network-interface-id {one}",
    ResourceKind.ADDRESS: lambda one: f"ec2 release-address --allocation-id {one}",
    ResourceKind.SECURITY_GROUP: lambda one: f"ec2 delete-security-group --group-id {one}",
    ResourceKind.STACK: lambda one: f"cloudformation delete-stack --stack-name {one}",
    ResourceKind.VOLUME: lambda one: f"ec2 delete-volume --volume-id {one}",
    ResourceKind.SNAPSHOT: lambda one: f"ec2 delete-snapshot --snapshot-id {one}",
    ResourceKind.FILE_SYSTEM: lambda one: f"efs delete-file-system --file-system-id {one}",
    ResourceKind.LUSTRE: lambda one: f"fsx delete-file-system --file-system-id {one}",
    ResourceKind.PLACEMENT_GROUP: lambda one: f"ec2 delete-placement-group --group-name {one}",
    ResourceKind.LAUNCH_TEMPLATE: lambda one: f"ec2 delete-launch-template --launch-template-id {one}",
    ResourceKind.LOG_GROUP: lambda one: f"logs delete-log-group --log-group-name {one}",
    ResourceKind.OIDC_PROVIDER: lambda one: f"iam delete-open-id-connect-provider --open-id-connect-provider-arn {one}",
    ResourceKind.RESERVATION: lambda one: f"ec2 cancel-capacity-reservation --capacity-reservation-id {one}",
}


def removal_command(kind: ResourceKind, resource_id: str, region: str) -> str:
    """The AWS CLI command that removes a resource; names on AWS may hold what a shell would act on."""
    return f"aws {_COMMANDS[kind](shlex.quote(resource_id))} --region {shlex.quote(region)}"


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing on AWS that belongs to a cluster. `owned` is True only if its own mark says so."""

    kind: ResourceKind
    resource_id: str
    region: str
    owned: bool
    why: str = ""
    monthly_usd: float | None = None
    command: str = ""
    tags: dict[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_id} in {self.region}"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search found, and the kinds that it was not allowed or not able to look for: those are not "nothing"."""

    resources: tuple[Resource, ...] = ()
    unsearched: dict[ResourceKind, Failure] = field(default_factory=dict, hash=False)


HOURS_A_MONTH = 730
PRICES_CHECKED_ON = "2026-11-30"  # list prices of us-east-1; other regions differ by some percent
GIB_MONTH_USD = {"gp3": 0.08, "gp2": 0.10, "io1": 0.125, "io2": 0.125, "st1": 0.045, "sc1": 0.015, "standard": 0.05}
SNAPSHOT_GIB_MONTH_USD = 0.05
EFS_GIB_MONTH_USD = 0.30
LOG_GIB_MONTH_USD = 0.03
LUSTRE_GIB_MONTH_USD = 0.14
HOURLY_USD = {
    ResourceKind.NAT_GATEWAY: 0.045,
    ResourceKind.LOAD_BALANCER: 0.0225,
    ResourceKind.CLASSIC_LOAD_BALANCER: 0.025,
    ResourceKind.ADDRESS: 0.005,
}


_MARKS = (  # tags whose value is a cluster's name: ours, eksctl's, EKS's, those of controllers inside the cluster
    "clusterctl:cluster", "alpha.eksctl.io/cluster-name", "eks:cluster-name", "aws:eks:cluster-name",
    "eks:eks-cluster-name", "elbv2.k8s.aws/cluster", "cluster.k8s.amazonaws.com/name", "KubernetesCluster",
)  # fmt: skip


def mark_keys(cluster: str) -> tuple[str, ...]:
    """The tag keys by which AWS can be asked for candidates; names_cluster then judges their values."""
    return (_owned_by(cluster), *_MARKS)


def names_cluster(tags: Mapping[str, str], cluster: str) -> bool:
    """True if a mark says that the thing belongs to the cluster of this name. What is `shared` does not."""
    return tags.get(_owned_by(cluster)) == "owned" or any(tags.get(key) == cluster for key in _MARKS)


def _owned_by(cluster: str) -> str:
    return f"kubernetes.io/cluster/{cluster}"
