"""What a stage or the executor may ask of the world. Readers change nothing; writers are the executor's alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from clusterctl.model.capacity import ProbeOutcome, Question, RegionFacts, Reservation, ReservationOrder
from clusterctl.model.cluster import ClusterState, NodegroupState, StackState
from clusterctl.model.estate import Estate, Sweep
from clusterctl.model.instances import InstanceType
from clusterctl.model.kube import Component, KubeAccess, ReleaseState, Signal, WorkloadRef, WorkloadState
from clusterctl.model.leftovers import Findings, Resource
from clusterctl.model.placement import Placement
from clusterctl.model.pods import PodFacts
from clusterctl.model.verification import NodeFacts


class Clock(Protocol):
    """Time. The sandbox's runs faster."""

    def now(self) -> datetime: ...
    def sleep(self, seconds: float) -> None:
        """Wait; raises InterruptedRunError as soon as the run is asked to stop."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls AWS."""

    account_id: str
    arn: str
    partition: str = "aws"


class Account(Protocol):
    def identity(self) -> Identity:
        """Raises AccessError without credentials, or with expired ones."""


# --- readers


class CapacitySurvey(Protocol):
    """Asks regions what they have; regions side by side, never longer than a deadline."""

    def enabled_regions(self) -> tuple[str, ...]: ...
    def instance_type(self, region: str, name: str) -> InstanceType | None: ...
    def similar_types(self, region: str, name: str) -> tuple[str, ...]: ...
    def ask(self, question: Question) -> tuple[RegionFacts, ...]: ...


class ReservationReader(Protocol):
    def find(self, region: str, reservation_id: str) -> Reservation | None: ...
    def ours(self, regions: Sequence[str]) -> tuple[Reservation, ...]:
        """Reservations that carry clusterctl's tags and still cost money."""


class ClusterReader(Protocol):
    def cluster(self, region: str, name: str) -> ClusterState: ...
    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState: ...
    def stack(self, region: str, name: str) -> StackState: ...


class KubeReader(Protocol):
    def nodes(self, access: KubeAccess, selector: str = "") -> tuple[NodeFacts, ...]: ...
    def workload(self, access: KubeAccess, ref: WorkloadRef) -> WorkloadState: ...
    def objects(self, access: KubeAccess, resource: str, selector: str = "") -> tuple[Mapping[str, Any], ...]: ...
    def found(self, access: KubeAccess, signals: Sequence[Signal]) -> Mapping[Signal, Mapping[str, Any]]:
        """The objects behind these signals, as far as they exist."""


class LogStream(Protocol):
    """Output of pods while it comes."""

    @property
    def running(self) -> bool: ...
    def take(self) -> tuple[str, ...]:
        """The whole lines that have come since the last call."""

    def stop(self) -> None: ...


class JobReader(Protocol):
    """Jobs, their pods and what they print."""

    def object(self, access: KubeAccess, ref: WorkloadRef) -> Mapping[str, Any] | None:
        """None where the object, or its kind, is not there."""

    def pods(self, access: KubeAccess, namespace: str = "", selector: str = "") -> tuple[PodFacts, ...]: ...
    def log(self, access: KubeAccess, pod: PodFacts) -> tuple[str, ...]:
        """All that its first container printed; nothing from one that never ran."""

    def ask(self, access: KubeAccess, pod: PodFacts, words: Sequence[str]) -> tuple[str, ...]:
        """What a command that changes nothing prints in a pod; nothing where it cannot be run."""

    def follow(self, access: KubeAccess, namespace: str, selector: str, count: int) -> LogStream:
        """Lines of `count` pods at once, each with the pod's name in front: `[pod/NAME/CONTAINER] `."""


class ReleaseReader(Protocol):
    def release(self, access: KubeAccess, component: Component) -> ReleaseState: ...


class KubeconfigReader(Protocol):
    def path(self, cluster: str, region: str) -> str: ...
    def exists(self, cluster: str, region: str) -> bool: ...
    def current(self, access: KubeAccess) -> bool:
        """Whether the file is there and leads to this very API."""


class LeftoverReader(Protocol):
    """Searches by tag and by VPC for what belongs to a cluster and is still there."""

    def search(
        self, region: str, cluster: str, vpc_id: str = "", volumes: Sequence[str] = (), since: datetime | None = None
    ) -> Findings:
        """`volumes` are ids of volumes and snapshots that the cluster itself made; `since` is when it was made."""


class MarkReader(Protocol):
    """Finds by clusterctl's marks what exists, without any memory of it."""

    def sweep(self, regions: Sequence[str]) -> Sweep: ...
    def estate(self, region: str, cluster: str) -> Estate: ...


# --- writers, for the executor alone


class ToolRun(Protocol):
    """A child process that works while we watch the world."""

    @property
    def running(self) -> bool: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def tail(self) -> str:
        """The end of what it printed."""

    def stop(self) -> None:
        """End it and its children, kindly first."""


class Eksctl(Protocol):
    def create_cluster(self, config: str) -> ToolRun: ...
    def create_nodegroup(self, config: str) -> ToolRun: ...
    def delete_cluster(self, region: str, cluster: str) -> ToolRun: ...
    def associate_oidc(self, region: str, cluster: str) -> ToolRun: ...


class Prober(Protocol):
    """Makes reservations to prove capacity, and cancels them; a region's zones one by one, regions side by side."""

    def prove(self, orders: Sequence[ReservationOrder]) -> tuple[ProbeOutcome, ...]: ...
    def hold(self, order: ReservationOrder) -> ProbeOutcome:
        """Make a reservation and keep it; it ends by itself after the order's lifetime."""

    def cancel(self, region: str, reservation_id: str) -> None: ...
    def cancel_made(self, intent: Mapping[str, str]) -> tuple[str, ...]:
        """Cancel what came of an order whose run was killed; the ids. Raises for what cannot be looked for."""


class AwsWriter(Protocol):
    def create_addon(self, region: str, cluster: str, addon: str) -> None: ...
    def delete_addon(self, region: str, cluster: str, addon: str) -> None: ...
    def delete_nodegroup(self, region: str, cluster: str, nodegroup: str) -> None: ...
    def delete_stack(self, region: str, stack: str) -> None:
        """Lift termination protection and begin to delete; returns before the stack is gone."""

    def remove(self, resource: Resource) -> None: ...
    def tag(self, region: str, resources: Sequence[str], tags: Mapping[str, str]) -> None: ...


class Releases(Protocol):
    def install(self, access: KubeAccess, component: Component, values: str) -> None: ...
    def uninstall(self, access: KubeAccess, component: Component) -> None: ...


class KubeWriter(Protocol):
    def apply(self, access: KubeAccess, manifests: str) -> None: ...
    def run(
        self, access: KubeAccess, pod: WorkloadRef, words: Sequence[str], stdin: str = "", container: str = ""
    ) -> None:
        """A command in a pod's first container, or a named one. Raises ToolFailedError for another exit code than 0."""

    def delete(self, access: KubeAccess, ref: WorkloadRef) -> None: ...
    def delete_all(self, access: KubeAccess, resource: str, selector: str = "") -> None: ...
    def delete_named(self, access: KubeAccess, resource: str, name: str) -> None:
        """Delete one object without a namespace and see it gone. Raises LeftoversError with what holds it."""

    def remove(self, access: KubeAccess, manifests: str) -> None:
        """Delete these objects; fine where some are gone, or their kind is."""

    def delete_listed(self, access: KubeAccess, resource: str, names: Sequence[str]) -> None:
        """`names` are NAMESPACE/NAME."""


class KubeconfigWriter(KubeconfigReader, Protocol):
    def write(self, access: KubeAccess) -> str: ...
    def remove(self, cluster: str, region: str) -> None: ...


class PlacementStore(Protocol):
    def load(self) -> Placement | None: ...
    def save(self, placement: Placement) -> None: ...
    def remove(self) -> None: ...


class Journal(Protocol):
    """Intents on disk before each side effect, so that a run killed at any instant can be resumed or cleaned."""

    def effect(self, name: str, facts: Mapping[str, str]) -> AbstractContextManager[None]: ...
    def unsettled(self) -> tuple[Mapping[str, str], ...]: ...
    def settle(self, intent: Mapping[str, str]) -> None:
        """Write that an intent of an earlier run has been seen to."""

    def clear(self) -> None: ...
