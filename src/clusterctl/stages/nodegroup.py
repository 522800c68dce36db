"""The GPU node group: in the best place that has room, or in the next one; what failed goes before anything comes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from clusterctl.engine.actions import AwaitNodegroup, CreateNodegroup, DeleteNodegroup, Plan, RememberPlacement
from clusterctl.engine.attempts import Attempt, Attempts
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import CapacityUnavailableError, ClusterctlError, StageIncompleteError, UsageError
from clusterctl.model.capacity import Candidate
from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.decision import Asked, Decision, placement_of
from clusterctl.model.failures import Remedy
from clusterctl.model.launch import launch_error
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.model.specs import (
    GPU_TAINT,
    NodegroupSpec,
    check_ami_family,
    check_launchable,
    placement_group,
)
from clusterctl.model.standing import Standing, describe, nodegroup_standing
from clusterctl.ports import ClusterReader
from clusterctl.rendering.eksctl_config import render_nodegroup


@dataclass(frozen=True, slots=True)
class NodegroupStage:
    """Provides NodegroupState. Asked again after a place has failed, it plans the removal and the next place."""

    clusters: ClusterReader

    name: ClassVar[str] = "nodegroup"
    requires: ClassVar[tuple[type, ...]] = (Settings, RunContext, Asked, Decision, ClusterState)
    provides: ClassVar[type[NodegroupState]] = NodegroupState
    patience_s: ClassVar[float] = 30 * 60.0

    def observe(self, inputs: Outputs) -> NodegroupState:
        cluster = inputs[ClusterState]
        return self.clusters.nodegroup(cluster.region, cluster.name, inputs[Asked].nodegroup)

    def plan(self, inputs: Outputs, observed: NodegroupState) -> Plan:
        """Raises what ended the search for a place, or what contradicts the node group that stands there."""
        standing = nodegroup_standing(observed.status, observed.stack)
        if standing is Standing.GOING:
            return ()
        failed = inputs[Attempts].last_failure if Attempts in inputs else None
        if standing is not Standing.ABSENT and failed and _is_of(failed, observed):
            return _replace(inputs, observed, failed.reason)
        match standing:
            case Standing.ABSENT:
                return _create(inputs, observed)
            case Standing.BROKEN:
                return _replace(inputs, observed, describe(observed))
            case Standing.COMING:
                if observed.exists:  # until EKS shows it, nobody knows what it is to be
                    _check_asked(inputs, observed)
                zone = ",".join(observed.zones)
                return (AwaitNodegroup(observed.region, observed.cluster, observed.name, zone),)
            case _:
                _check_asked(inputs, observed)
                return ()

    def waiting_for(self, inputs: Outputs, observed: NodegroupState) -> str:
        if not observed.ready:
            return "; ".join([describe(observed), *(issue.message for issue in observed.issues)])
        if observed.instances < observed.desired:
            newest = max(observed.activities, key=lambda one: one.at, default=None)
            reason = f": {newest.message}" if newest and newest.status == "Failed" else ""
            return f"{observed.instances} of {observed.desired} instances in service{reason}"
        return ""

    def expect(self, inputs: Outputs, observed: NodegroupState) -> NodegroupState:
        if observed.ready:
            return observed
        spec = _spec(inputs, _next_place(inputs))
        return replace(
            observed,
            status="ACTIVE",
            instance_type=spec.instance_type,
            zones=(spec.zone,),
            subnets=(spec.subnet,) if spec.subnet else (),
            desired=spec.desired,
            minimum=spec.minimum,
            maximum=spec.maximum,
            instances=spec.desired,
            reservation_id=spec.reservation_id,
            taints=spec.taints,
            tags=spec.tags,
        )


def _is_of(failed: Attempt, state: NodegroupState) -> bool:
    """Whether what stands there is what has failed: not ready, and in that very zone as far as EKS shows zones."""
    return not state.ready and (not state.zones or bool(set(failed.zone.split(",")) & set(state.zones)))


def _create(inputs: Outputs, state: NodegroupState) -> Plan:
    place = _next_place(inputs)
    spec = _spec(inputs, place)
    decision = inputs[Decision]
    placement = placement_of(place, inputs[Asked], inputs[RunContext], decision.remembered)
    return (
        RememberPlacement(replace(placement, gpu_subnet=spec.subnet)),
        CreateNodegroup(
            region=state.region,
            cluster=state.cluster,
            nodegroup=state.name,
            zone=place.zone,
            nodes=spec.desired,
            instance_type=place.instance_type,
            config=render_nodegroup(spec),
            reservation_id=spec.reservation_id,
        ),
    )


def _replace(inputs: Outputs, state: NodegroupState, why: str) -> Plan:
    """Remove what failed, then go on where a place is left; where none is, the next plan says why."""
    if not state.ours:
        raise UsageError(
            f"node group {state.name} of {state.cluster} is broken and was not made by clusterctl ({describe(state)})",
            hint=f"eksctl delete nodegroup --cluster {state.cluster} --region {state.region} --name {state.name}, "
            "or choose another GPU_NODEGROUP_NAME",
        )
    removal = DeleteNodegroup(state.region, state.cluster, state.name, why)
    try:
        return (removal, *_create(inputs, state))
    except ClusterctlError:
        return (removal,)


def _next_place(inputs: Outputs) -> Candidate:
    """The best place of the cluster's region that has not failed in this run; zones that EC2 itself named come first.

    Raises the cause of the last failure where another zone cannot help, else CapacityUnavailableError.
    """
    attempts = inputs[Attempts] if Attempts in inputs else Attempts()
    last = attempts.last_failure
    if last and last.failure and last.failure.remedy is not Remedy.NEXT_ZONE:
        raise launch_error(
            last.failure,
            f"{last.instance_type} in {last.zone}: {last.reason}",
            hint=_hint(inputs, last),
            details=_report(attempts.tried),
        )
    places = _places(inputs)
    left = [
        one
        for one in places
        if not attempts.failed_in(one.zone, one.instance_type) and _subnet(inputs, one) is not None
    ]
    hinted = last.failure.zones if last and last.failure else ()
    best = next(iter(sorted(left, key=lambda one: one.zone not in hinted)), None)
    if best is None:
        raise _nowhere(inputs, attempts, places)
    return best


def _places(inputs: Outputs) -> tuple[Candidate, ...]:
    """Where the nodes may live. A reservation that was named is never left for On-Demand capacity."""
    named = inputs[Settings].capacity_reservation_id
    places = inputs[Decision].in_region()
    return tuple(one for one in places if one.reservation_id == named) if named else places


def _subnet(inputs: Outputs, place: Candidate) -> str | None:
    """The private subnet of a place: empty before there is a cluster, None where the cluster has none there."""
    return place.subnet_id or inputs[ClusterState].private_subnets.get(place.zone)


def _spec(inputs: Outputs, place: Candidate) -> NodegroupSpec:
    settings, decision = inputs[Settings], inputs[Decision]
    kind, reservation = decision.kinds[place.instance_type], decision.reservation
    check_launchable(kind)
    check_ami_family(settings.node_ami_family, kind.accelerator)
    return NodegroupSpec(
        cluster=inputs[ClusterState].name,
        region=place.region,
        name=inputs[Asked].nodegroup,
        instance_type=place.instance_type,
        accelerator=kind.accelerator,
        zone=place.zone,
        subnet=_subnet(inputs, place) or "",
        desired=place.nodes,
        minimum=place.nodes,
        maximum=place.nodes,
        ami_family=settings.node_ami_family,
        reservation_id=place.reservation_id,
        is_block=bool(reservation and reservation.is_block and place.reservation_id),
        placement_group=placement_group(reservation if place.reservation_id else None),
        taints=(GPU_TAINT,) if settings.gpu_taint else (),
        tags=inputs[RunContext].tags,
    )


def _check_asked(inputs: Outputs, state: NodegroupState) -> None:
    """A node group that stands is not changed in silence: what was asked and what is there are both named."""
    for what, asked, there in _contradictions(inputs, state):
        raise UsageError(
            f"node group {state.name} has {what} {there}, {asked} was asked for",
            hint="clusterctl nodegroup --destroy, then run this again; or ask for what is there",
        )
    named = inputs[Settings].capacity_reservation_id
    if named and state.reservation_id != named:
        raise StageIncompleteError(
            f"node group {state.name} does not use {named}: "
            f"its launch template names {state.reservation_id or 'no reservation'}, so its nodes cost On-Demand",
            hint="clusterctl nodegroup --destroy, then run this again",
        )


def _contradictions(inputs: Outputs, state: NodegroupState) -> Iterable[tuple[str, str, str]]:
    decision = inputs[Decision]
    types = tuple(dict.fromkeys(one.instance_type for one in decision.in_region()))
    zones = tuple(dict.fromkeys(one.zone for one in decision.in_region()))
    if state.instance_type and state.instance_type not in types:
        yield "the type", " or ".join(types), state.instance_type
    if state.zones and not set(state.zones) <= set(zones):
        yield "the zone", " or ".join(zones), ", ".join(state.zones)
    if state.desired != decision.candidate.nodes:
        yield "a size of", str(decision.candidate.nodes), str(state.desired)


def _nowhere(inputs: Outputs, attempts: Attempts, places: Sequence[Candidate]) -> CapacityUnavailableError:
    """No place is left: each one with the reason, tried or not."""
    region = inputs[ClusterState].region
    ruled_out = [
        f"{one.instance_type} in {one.zone}: {one.reason or one.verdict.value}"
        for one in inputs[Decision].candidates
        if one.region == region and not one.usable
    ]
    zoneless = [one for one in places if _subnet(inputs, one) is None]
    skipped = [f"{one.instance_type} in {one.zone}: no private subnet in {one.zone}" for one in zoneless]
    reasons = "\n".join(filter(None, [_report(attempts.tried), *skipped, *ruled_out]))
    nodes = inputs[Decision].candidate.nodes
    types = ", ".join(dict.fromkeys(one.instance_type for one in places))
    return CapacityUnavailableError(
        f"no zone of {region} has room for {nodes} x {types}: {'; '.join(reasons.splitlines())}",
        hint="clusterctl probe --all-regions shows where there is capacity",
        details=reasons,
    )


def _report(tried: Iterable[Attempt]) -> str:
    return "\n".join(f"{one.instance_type} in {one.zone}: {one.reason}" for one in tried)


def _hint(inputs: Outputs, last: Attempt) -> str:
    nodes = inputs[Decision].candidate.nodes
    kind = inputs[Decision].kinds.get(last.instance_type)
    need = f"{nodes * kind.vcpus} vCPUs" if kind else f"{nodes} x {last.instance_type}"
    return f"{need} are needed in {last.region}; clusterctl doctor shows quotas and permissions"
