"""What a teardown is about, and what each of its steps leaves behind for the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.kube import Component
from clusterctl.model.leftovers import KEPT_UNLESS_PURGED, Findings, Resource
from clusterctl.model.run import RunContext

OPERATED = (  # kinds that have to go while their operators live
    "rayjobs.ray.io", "rayservices.ray.io", "raycronjobs.ray.io", "rayclusters.ray.io",
    "mpijobs.kubeflow.org", "jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh",
    "nodesets.slinky.slurm.net", "loginsets.slinky.slurm.net", "restapis.slinky.slurm.net",
    "accountings.slinky.slurm.net", "tokens.slinky.slurm.net", "controllers.slinky.slurm.net",
    "mariadbs.k8s.mariadb.com",
)  # fmt: skip
LOAD_BALANCERS = "services"
CLAIMS = "persistentvolumeclaims"
BALANCING = ("gateways.gateway.networking.k8s.io", "ingresses.networking.k8s.io", LOAD_BALANCERS)
SNAPSHOTS = "volumesnapshotcontents.snapshot.storage.k8s.io"


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster and its GPU node group."""

    region: str
    cluster: str
    nodegroup: str
    run: RunContext | None = None  # who tears down, where another run may be at work


@dataclass(frozen=True, slots=True)
class Emptied:
    """What is in the cluster that would outlive it, while its API answers; `silent` says why it does not."""

    cluster: ClusterState
    objects: dict[str, int] = field(default_factory=dict, hash=False)  # resource -> how many
    volumes: tuple[str, ...] = ()  # ids of volumes that its claims are bound to
    silent: str = ""
    balanced: tuple[str, ...] = ()  # services that hold a load balancer, as NAMESPACE/NAME

    @property
    def reachable(self) -> bool:
        return bool(self.cluster.endpoint) and not self.silent


@dataclass(frozen=True, slots=True)
class ReleasesLeft:
    """The components of ours that are still installed."""

    components: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that stays, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class OperatorLeft:
    """What is left of an operator: components to remove, what they left behind, and what stays for a reason.

    `relying` are operators that have to be told that it goes.
    """

    components: tuple[Component, ...] = ()
    definitions: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    relying: tuple[Any, ...] = ()
    silent: str = ""


@dataclass(frozen=True, slots=True)
class NodegroupLeft:
    state: NodegroupState


@dataclass(frozen=True, slots=True)
class ClusterLeft:
    """`foreseen` marks a plan's guess: nothing can be searched for before the cluster is really gone."""

    state: ClusterState
    foreseen: bool = False


@dataclass(frozen=True, slots=True)
class Remains:
    """What a search finds once everything has been deleted."""

    findings: Findings = field(default_factory=Findings)
    reservations: tuple[str, ...] = ()
    kept_cluster: str = ""  # why the cluster itself was left
    forgotten: bool = False
    purge: bool = False

    @property
    def removable(self) -> tuple[Resource, ...]:
        return tuple(
            one for one in self.findings.resources if one.owned and (self.purge or one.kind not in KEPT_UNLESS_PURGED)
        )

    @property
    def kept(self) -> tuple[Resource, ...]:
        """What is left on purpose: somebody's data, and what does not carry the cluster's mark."""
        return tuple(one for one in self.findings.resources if one not in self.removable)
