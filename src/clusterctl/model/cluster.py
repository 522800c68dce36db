"""What exists on AWS of a cluster, and what its states mean for us."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from clusterctl.model.failures import Failure
from clusterctl.model.kube import KubeAccess, parse_version

ADDONS = ("vpc-cni", "coredns", "kube-proxy", "metrics-server", "eks-pod-identity-agent")
TAG_RUN = "clusterctl:run"
TAG_CLUSTER = "clusterctl:cluster"
TAG_EXPIRES = "clusterctl:expires-at"
TAG_OWNER = "clusterctl:owner"
TAG_HOLD = "clusterctl:hold"  # on a node group: the reservation that only held its capacity until it had joined


class StackVerdict(Enum):
    """What a stack's status means before eksctl is asked to create over it."""

    ABSENT = "absent"
    DONE = "done"
    BUSY = "busy"
    BROKEN = "broken"
    UNDELETABLE = "undeletable"


@dataclass(frozen=True, slots=True)
class StackState:
    """A CloudFormation stack: its status in CloudFormation's words, its tags and its first failure."""

    name: str
    status: str = ""
    tags: dict[str, str] = field(default_factory=dict, hash=False)
    created: datetime | None = None
    failure: Failure | None = None
    deleted: datetime | None = None  # when its deletion began

    @property
    def verdict(self) -> StackVerdict:
        return stack_verdict(self.status)


def stack_verdict(status: str) -> StackVerdict:
    """The stack state table: eksctl itself takes a rolled-back stack for an existing node group and exits 0."""
    if status in ("", "DELETE_COMPLETE"):
        return StackVerdict.ABSENT
    if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"):
        return StackVerdict.DONE
    if status == "DELETE_FAILED":
        return StackVerdict.UNDELETABLE
    if status.endswith("_IN_PROGRESS"):
        return StackVerdict.BUSY
    return StackVerdict.BROKEN


@dataclass(frozen=True, slots=True)
class HealthIssue:
    """One entry of an EKS health report."""

    code: str
    message: str
    resource_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalingActivity:
    """One activity of an Auto Scaling group."""

    at: datetime
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class NodegroupState:
    """A managed node group as EKS, Auto Scaling and CloudFormation show it. `status` is empty when there is none."""

    region: str
    cluster: str
    name: str
    status: str = ""
    stack: StackState = StackState("")
    instance_type: str = ""
    zones: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()
    desired: int = 0
    minimum: int = 0
    maximum: int = 0
    capacity_type: str = ""
    ami_type: str = ""
    reservation_id: str = ""
    labels: dict[str, str] = field(default_factory=dict, hash=False)
    taints: tuple[tuple[str, str, str], ...] = ()
    tags: dict[str, str] = field(default_factory=dict, hash=False)
    issues: tuple[HealthIssue, ...] = ()
    activities: tuple[ScalingActivity, ...] = ()
    instances: int = 0
    created: datetime | None = None
    holds: tuple[str, ...] = ()  # reservations of ours that still keep capacity for it

    @property
    def exists(self) -> bool:
        return bool(self.status)

    @property
    def ready(self) -> bool:
        return self.status == "ACTIVE"

    @property
    def named_reservation(self) -> str:
        """The reservation that the nodes live in; not one that merely held their capacity, and is over by now."""
        return "" if self.reservation_id == self.tags.get(TAG_HOLD) else self.reservation_id

    @property
    def ours(self) -> bool:
        """True if the mark on it, or on what is left of its stack, says that clusterctl made it."""
        return self.cluster in (self.tags.get(TAG_CLUSTER), self.stack.tags.get(TAG_CLUSTER))


@dataclass(frozen=True, slots=True)
class ClusterState:
    """An EKS cluster and what surrounds it. `status` is empty when there is none."""

    region: str
    name: str
    status: str = ""
    version: str = ""
    arn: str = ""
    endpoint: str = ""
    certificate_authority: str = ""
    oidc_issuer: str = ""
    oidc_provider: bool = False
    vpc_id: str = ""
    private_subnets: dict[str, str] = field(default_factory=dict, hash=False)  # zone name -> subnet id
    addons: dict[str, str] = field(default_factory=dict, hash=False)  # name -> status
    addon_issues: tuple[HealthIssue, ...] = ()
    nodegroups: dict[str, str] = field(default_factory=dict, hash=False)  # name -> status
    tags: dict[str, str] = field(default_factory=dict, hash=False)
    stack: StackState = StackState("")
    system_stack: StackState = StackState("")  # of the node group that carries operators
    kubeconfig_current: bool = False  # whether this machine's own kubeconfig leads here
    created: datetime | None = None

    @property
    def exists(self) -> bool:
        return bool(self.status)

    @property
    def ready(self) -> bool:
        return self.status == "ACTIVE"

    @property
    def ours(self) -> bool:
        """True if the mark on it, or on what is left of its stack, says that clusterctl made it."""
        return self.name in (self.tags.get(TAG_CLUSTER), self.stack.tags.get(TAG_CLUSTER))

    @property
    def access(self) -> KubeAccess:
        """How its API is reached; the endpoint is empty until there is one."""
        return KubeAccess(self.region, self.name, self.endpoint, self.certificate_authority)


def cluster_notices(state: ClusterState, wanted_version: str) -> tuple[str, ...]:
    """What the user should know of a cluster that is used as it stands."""
    notices = []
    if state.exists and not state.ours:
        notices.append(f"cluster {state.name} was not made by clusterctl: it is only added to, and never deleted")
    if state.version and parse_version(state.version) < parse_version(wanted_version):
        notices.append(f"cluster {state.name} runs Kubernetes {state.version}, {wanted_version} was asked for")
    return tuple(notices)
