"""Teardown, step by step: what lives in the cluster, releases, GPU nodes, the cluster, and what all of that left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from clusterctl.engine.actions import (
    Action,
    CancelReservation,
    DeleteCluster,
    DeleteNodegroup,
    DeleteObjects,
    ForgetCluster,
    Plan,
    RemoveRelease,
    RemoveResource,
)
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.refusals import Refusals
from clusterctl.errors import ClusterctlError, LeftoversError
from clusterctl.model.cluster import TAG_CLUSTER, ClusterState, NodegroupState, StackVerdict
from clusterctl.model.contention import is_removed, refuse_work_of_others
from clusterctl.model.documents import remains_document
from clusterctl.model.kube import Component
from clusterctl.model.standing import Standing, describe, nodegroup_standing
from clusterctl.model.target import (
    BALANCING,
    CLAIMS,
    LOAD_BALANCERS,
    OPERATED,
    SNAPSHOTS,
    ClusterLeft,
    Emptied,
    NodegroupLeft,
    ReleasesLeft,
    Remains,
    Target,
)
from clusterctl.ports import (
    ClusterReader,
    KubeconfigReader,
    KubeReader,
    LeftoverReader,
    PlacementStore,
    ReleaseReader,
    ReservationReader,
)

# claims hold data: they go only when that is asked for, and their volumes are listed otherwise
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_WORKLOADS = (*OPERATED, *BALANCING)


@dataclass(frozen=True, slots=True)
class EmptiedStage:
    """Custom resources while their operators live, then load balancers, and claims where that is asked."""

    clusters: ClusterReader
    kube: KubeReader
    resources: tuple[str, ...] = _WORKLOADS
    refusals: Refusals = field(default_factory=Refusals)
    strict: bool = False  # the cluster stays, so what cannot be deleted is a failure

    name: ClassVar[str] = "workloads"
    requires: ClassVar[tuple[type, ...]] = (Target,)
    provides: ClassVar[type[Emptied]] = Emptied
    patience_s: ClassVar[float] = 10 * 60.0

    def with_claims(self) -> EmptiedStage:
        return replace(self, resources=(*self.resources, CLAIMS))

    def only(self, resources: tuple[str, ...]) -> EmptiedStage:
        return replace(self, resources=resources)

    def without_objects(self) -> EmptiedStage:
        return replace(self, resources=())

    def observe(self, inputs: Outputs) -> Emptied:
        """A dead API is no reason to keep paying: what only it could tell is then searched for on AWS."""
        target = inputs[Target]
        cluster = self.clusters.cluster(target.region, target.cluster)
        if not cluster.endpoint:
            return Emptied(cluster)
        try:
            found = {one: self.kube.objects(cluster.access, one) for one in self.resources}
            made = [*self._objects(cluster, "persistentvolumes"), *self._objects(cluster, SNAPSHOTS)]
        except ClusterctlError as problem:
            return Emptied(cluster, silent=problem.message)
        counts = {name: sum(_holds(name, one) for one in objects) for name, objects in found.items()}
        balanced = tuple(_named(one) for one in found.get(LOAD_BALANCERS, ()) if _holds(LOAD_BALANCERS, one))
        return Emptied(cluster, counts, tuple(filter(None, map(_volume, made))), balanced=balanced)

    def plan(self, inputs: Outputs, observed: Emptied) -> Plan:
        if not observed.cluster.ours:
            return ()
        access, services = observed.cluster.access, observed.balanced
        actions = (
            DeleteObjects(access, name, names=services if name == LOAD_BALANCERS else ())
            for name, count in observed.objects.items()
            if count
        )
        return untried(actions, self.refusals)

    def forgives(self, action: Action, problem: ClusterctlError) -> bool:
        return not self.strict and self.refusals.record(str(action), problem)

    def waiting_for(self, inputs: Outputs, observed: Emptied) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: Emptied) -> Emptied:
        return replace(observed, objects={}, balanced=())

    def _objects(self, cluster: ClusterState, resource: str) -> tuple[Mapping[str, Any], ...]:
        return self.kube.objects(cluster.access, resource) if self.resources else ()


@dataclass(frozen=True, slots=True)
class ReleasesGoneStage:
    """Uninstalls our releases while the API answers. In an adopted cluster nobody can tell whose they are."""

    releases: ReleaseReader
    components: tuple[Component, ...]
    refusals: Refusals = field(default_factory=Refusals)
    strict: bool = False
    named: bool = False  # the user asked for these very releases to go, from a cluster of somebody else as well

    name: ClassVar[str] = "releases"
    requires: ClassVar[tuple[type, ...]] = (Emptied,)
    provides: ClassVar[type[ReleasesLeft]] = ReleasesLeft
    patience_s: ClassVar[float] = 0.0

    def observe(self, inputs: Outputs) -> ReleasesLeft:
        emptied = inputs[Emptied]
        if not emptied.reachable:
            return ReleasesLeft()
        access = emptied.cluster.access
        return ReleasesLeft(tuple(one for one in self.components if self.releases.release(access, one).exists))

    def plan(self, inputs: Outputs, observed: ReleasesLeft) -> Plan:
        cluster = inputs[Emptied].cluster
        if not cluster.ours and not self.named:
            return ()
        access = cluster.access
        return untried((RemoveRelease(access, one) for one in observed.components), self.refusals)

    def forgives(self, action: Action, problem: ClusterctlError) -> bool:
        return not self.strict and self.refusals.record(str(action), problem)

    def waiting_for(self, inputs: Outputs, observed: ReleasesLeft) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: ReleasesLeft) -> ReleasesLeft:
        return ReleasesLeft()


@dataclass(frozen=True, slots=True)
class NodegroupGoneStage:
    """GPU nodes before system nodes: they cost most."""

    clusters: ClusterReader

    name: ClassVar[str] = "nodegroup"
    requires: ClassVar[tuple[type, ...]] = (Target, ReleasesLeft)
    provides: ClassVar[type[NodegroupLeft]] = NodegroupLeft
    patience_s: ClassVar[float] = 30 * 60.0

    def observe(self, inputs: Outputs) -> NodegroupLeft:
        target = inputs[Target]
        return NodegroupLeft(self.clusters.nodegroup(target.region, target.cluster, target.nodegroup))

    def plan(self, inputs: Outputs, observed: NodegroupLeft) -> Plan:
        state = observed.state
        there = nodegroup_standing(state.status, state.stack) is not Standing.ABSENT
        if not there or not state.ours:
            return ()
        _refuse_makers(inputs[Target], state)
        return (DeleteNodegroup(state.region, state.cluster, state.name, "teardown"),)

    def waiting_for(self, inputs: Outputs, observed: NodegroupLeft) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: NodegroupLeft) -> NodegroupLeft:
        state = observed.state
        return NodegroupLeft(type(state)(state.region, state.cluster, state.name))


@dataclass(frozen=True, slots=True)
class ClusterGoneStage:
    """Deletes the cluster if clusterctl made it; one that was adopted stays."""

    clusters: ClusterReader

    name: ClassVar[str] = "cluster"
    requires: ClassVar[tuple[type, ...]] = (Target, NodegroupLeft)
    provides: ClassVar[type[ClusterLeft]] = ClusterLeft
    patience_s: ClassVar[float] = 45 * 60.0

    def observe(self, inputs: Outputs) -> ClusterLeft:
        target = inputs[Target]
        return ClusterLeft(self.clusters.cluster(target.region, target.cluster))

    def plan(self, inputs: Outputs, observed: ClusterLeft) -> Plan:
        state = observed.state
        if not _there(state) or not state.ours:
            return ()
        _refuse_makers(inputs[Target], state)
        return (DeleteCluster(state.region, state.name, "teardown"),)

    def waiting_for(self, inputs: Outputs, observed: ClusterLeft) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: ClusterLeft) -> ClusterLeft:
        return ClusterLeft(ClusterState(observed.state.region, observed.state.name), foreseen=True)


@dataclass(frozen=True, slots=True)
class LeftoversGoneStage:
    """Searches by mark and by VPC for what outlived the cluster, removes what is ours, and proves the rest absent."""

    leftovers: LeftoverReader
    reservations: ReservationReader
    kubeconfig: KubeconfigReader
    placement: PlacementStore
    purge: bool = False
    refusals: Refusals = field(default_factory=Refusals)

    name: ClassVar[str] = "leftovers"
    requires: ClassVar[tuple[type, ...]] = (Target, Emptied, ClusterLeft)
    provides: ClassVar[type[Remains]] = Remains
    patience_s: ClassVar[float] = 10 * 60.0

    def observe(self, inputs: Outputs) -> Remains:
        target, emptied, left = inputs[Target], inputs[Emptied], inputs[ClusterLeft].state
        if inputs[ClusterLeft].foreseen:
            return Remains(purge=self.purge)
        if _there(left):
            why = "" if left.ours else f"was not made by clusterctl ({describe(left)})"
            return Remains(kept_cluster=why, forgotten=True, purge=self.purge)
        before = emptied.cluster
        since = before.created if before.ours else None
        findings = self.leftovers.search(target.region, target.cluster, before.vpc_id, emptied.volumes, since)
        held = self.reservations.ours((target.region,))
        ours = tuple(one.reservation_id for one in held if one.tags.get(TAG_CLUSTER) == target.cluster)
        remembered = self._remembers(target) or self.kubeconfig.exists(target.cluster, target.region)
        return Remains(findings, ours, forgotten=not remembered, purge=self.purge)

    def plan(self, inputs: Outputs, observed: Remains) -> Plan:
        target = inputs[Target]
        cancel = tuple(CancelReservation(target.region, one, "left behind") for one in observed.reservations)
        held = observed.reservations
        wanted = tuple(RemoveResource(one) for one in observed.removable if one.resource_id not in held)
        removals: Plan = (*cancel, *untried(wanted, self.refusals))
        if removals or observed.forgotten or observed.findings.unsearched:
            return removals
        if wanted:
            raise self._left(observed)
        return (ForgetCluster(target.region, target.cluster),)

    def forgives(self, action: Action, problem: ClusterctlError) -> bool:
        """The rest is tried all the same; what stays is told at the end."""
        return isinstance(action, RemoveResource) and self.refusals.record(str(action), problem)

    def waiting_for(self, inputs: Outputs, observed: Remains) -> str:
        return ", ".join(f"{kind} could not be looked for" for kind in observed.findings.unsearched)

    def _remembers(self, target: Target) -> bool:
        kept = self.placement.load()
        return kept is not None and kept.cluster_name in ("", target.cluster) and kept.region in ("", target.region)

    def _left(self, observed: Remains) -> LeftoversError:
        """All that could not be removed, each with the reason that was met."""
        met = {one.resource_id: self.refusals.of(str(RemoveResource(one))) for one in observed.removable}
        why = {name: error.message for name, error in met.items() if error}
        names = ", ".join(str(one) for one in observed.removable)
        error = LeftoversError(
            f"{len(why)} resource(s) could not be removed: {names}",
            hint=observed.removable[0].command,
            details="\n".join(f"{name}: {said}" for name, said in why.items()),
        )
        return error.with_document(remains_document(observed, why))

    def verdict(self, inputs: Outputs, observed: Remains) -> LeftoversError:
        error = LeftoversError(f"absence is not proved: {self.waiting_for(inputs, observed)}", hint="clusterctl doctor")
        return error.with_document(remains_document(observed))

    def expect(self, inputs: Outputs, observed: Remains) -> Remains:
        return replace(
            observed, findings=replace(observed.findings, resources=observed.kept), reservations=(), forgotten=True
        )


def _refuse_makers(target: Target, state: ClusterState | NodegroupState) -> None:
    """Another run that makes what is to go would make it again; one that removes it wants the same as we."""
    if target.run and not is_removed(state):
        refuse_work_of_others(target.run, state)


def _there(state: ClusterState) -> bool:
    return state.exists or state.stack.verdict is not StackVerdict.ABSENT


def _holds(resource: str, one: Mapping[str, Any]) -> bool:
    """Whether an object holds something on AWS, or a pod on a node; a plain Service holds nothing."""
    return resource != LOAD_BALANCERS or one.get("spec", {}).get("type") == "LoadBalancer"


def _volume(one: Mapping[str, Any]) -> str:
    """The id of a volume or snapshot that a driver made for the cluster; what it was given is not its own."""
    if handle := one.get("status", {}).get("snapshotHandle"):
        given = one.get("spec", {}).get("source", {}).get("snapshotHandle")
        return "" if given else str(handle)
    made = PROVISIONED_BY in (one.get("metadata", {}).get("annotations") or {})
    return str(one.get("spec", {}).get("csi", {}).get("volumeHandle", "")) if made else ""


def _named(one: Mapping[str, Any]) -> str:
    about = one.get("metadata", {})
    return f"{about.get('namespace', '')}/{about.get('name', '')}"


def untried(actions: Iterable[Action], refusals: Refusals) -> Plan:
    """Actions that were not refused yet."""
    return tuple(action for action in actions if refusals.of(str(action)) is None)
