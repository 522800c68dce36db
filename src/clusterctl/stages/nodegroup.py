"""The GPU node group: in the best place that has room, or in the next one; what failed goes before anything comes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from clusterctl.engine.actions import (
    AwaitNodegroup,
    CancelReservation,
    CreateNodegroup,
    DeleteNodegroup,
    LeaveRegion,
    Plan,
    ProveAgain,
    RememberPlacement,
)
from clusterctl.engine.attempts import Attempt, Attempts
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import ClusterctlError, StageIncompleteError, UsageError
from clusterctl.model.capacity import Candidate, Verdict
from clusterctl.model.cluster import TAG_CLUSTER, TAG_HOLD, TAG_RUN, ClusterState, NodegroupState
from clusterctl.model.contention import refuse_work_of_others
from clusterctl.model.decision import Asked, Decision, after_failures, placement_of
from clusterctl.model.fallback import another_place_helps, next_place, nowhere
from clusterctl.model.launch import launch_error
from clusterctl.model.orders import cost_of, order_for
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
from clusterctl.ports import ClusterReader, ReservationReader
from clusterctl.rendering.eksctl_config import render_nodegroup


@dataclass(frozen=True, slots=True)
class NodegroupStage:
    """Provides NodegroupState. Asked again after a place has failed, it plans the removal and the next place."""

    clusters: ClusterReader
    reservations: ReservationReader

    name: ClassVar[str] = "nodegroup"
    requires: ClassVar[tuple[type, ...]] = (Settings, RunContext, Asked, Decision, ClusterState)
    provides: ClassVar[type[NodegroupState]] = NodegroupState
    patience_s: ClassVar[float] = 30 * 60.0

    def observe(self, inputs: Outputs) -> NodegroupState:
        cluster = inputs[ClusterState]
        state = self.clusters.nodegroup(cluster.region, cluster.name, inputs[Asked].nodegroup)
        held = [one for one in self.reservations.ours((cluster.region,)) if one.is_hold]
        return replace(
            state, holds=tuple(one.reservation_id for one in held if one.tags.get(TAG_CLUSTER) == cluster.name)
        )

    def plan(self, inputs: Outputs, observed: NodegroupState) -> Plan:
        """Raises what ended the search for a place, or what contradicts the node group that stands there."""
        refuse_work_of_others(inputs[RunContext], observed)
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
                joined = not self.waiting_for(inputs, observed)
                return _release(observed, observed.holds, "the nodes have joined") if joined else ()

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
            holds=(),
        )


def _is_of(failed: Attempt, state: NodegroupState) -> bool:
    """Whether what stands there is what has failed: not ready, and in that very zone as far as EKS shows zones."""
    return not state.ready and (not state.zones or bool(set(failed.zone.split(",")) & set(state.zones)))


def _create(inputs: Outputs, state: NodegroupState) -> Plan:
    place = _unless_over(inputs, state, _next_place(inputs))
    proof = _proof(inputs, place)
    if place.region != state.region:
        return (*proof, LeaveRegion(state.region, place.region, "no zone has room"))
    spec = _spec(inputs, place)
    placement = placement_of(place, inputs[Asked], inputs[RunContext], inputs[Decision].remembered)
    useless = [one for one in state.holds if one != place.reservation_id]
    return (
        *_release(state, useless, "its place is given up"),
        *proof,
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


def _unless_over(inputs: Outputs, state: NodegroupState, place: Candidate) -> Candidate:
    """A place whose hold has ended meanwhile is a place like any other."""
    held = place.reservation_id and place.reservation_id != inputs[Settings].capacity_reservation_id
    return replace(place, reservation_id="") if held and place.reservation_id not in state.holds else place


def _proof(inputs: Outputs, place: Candidate) -> Plan:
    """The room of a place is proved once more, where no reservation keeps it."""
    if place.reservation_id or not (inputs[Asked].probe or inputs[Asked].hold):
        return ()
    order = order_for(place, inputs[RunContext], "launch", len(_attempts(inputs).tried))
    return (ProveAgain(order, cost_of((place,))),)


def _release(state: NodegroupState, reservations: Iterable[str], why: str) -> Plan:
    return tuple(CancelReservation(state.region, one, why) for one in reservations)


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
    """The best place that has not failed in this run.

    Raises the cause of the last failure where another place cannot help, else CapacityUnavailableError.
    """
    last = _attempts(inputs).last_failure
    if last and last.failure and not another_place_helps(last.failure, held=_was_held(inputs, last)):
        raise launch_error(
            last.failure,
            f"{last.instance_type} in {last.zone}: {last.reason}",
            hint=_hint(inputs, last),
            details=_report(_attempts(inputs).tried),
        )
    seen = _seen(inputs)
    hinted = last.failure.zones if last and last.failure else ()
    best = next_place((one for one in seen if one.usable), inputs[ClusterState].region, hinted)
    if best is None:
        raise nowhere(seen, inputs[Decision].candidate.nodes, _way_out(inputs))
    return best


def _was_held(inputs: Outputs, attempt: Attempt) -> bool:
    """Whether the place had been kept by a reservation of ours, not by one that the user named."""
    named = inputs[Settings].capacity_reservation_id
    held = {one.zone for one in inputs[Decision].candidates if one.reservation_id and one.reservation_id != named}
    return attempt.zone in held


def _attempts(inputs: Outputs) -> Attempts:
    return inputs[Attempts] if Attempts in inputs else Attempts()


def _seen(inputs: Outputs) -> tuple[Candidate, ...]:
    """Every place that was asked for, with what this run has learned of it, best first.

    A reservation that was named is never left for On-Demand capacity, and a cluster that stood before this run is
    never left for another region.
    """
    named, cluster = inputs[Settings].capacity_reservation_id, inputs[ClusterState]
    places = [one for one in inputs[Decision].candidates if not named or one.reservation_id == named]
    seen = after_failures([_reachable(inputs, one) for one in places], _attempts(inputs).failures)
    new = cluster.tags.get(TAG_RUN) == inputs[RunContext].run_id
    return tuple(one for one in seen if new or one.region == cluster.region)


def _reachable(inputs: Outputs, place: Candidate) -> Candidate:
    """A zone of the cluster's region where the cluster has no private subnet cannot be used whatever its capacity."""
    if not place.usable or place.region != inputs[ClusterState].region or _subnet(inputs, place) is not None:
        return place
    return replace(place, verdict=Verdict.SKIPPED, reason=f"no private subnet in {place.zone}")


def _way_out(inputs: Outputs) -> str:
    region = inputs[ClusterState].region
    if any(one.region != region and one.usable for one in inputs[Decision].candidates):
        return f"the cluster in {region} stood before: clusterctl teardown, then run this again to go elsewhere"
    return "clusterctl probe --all-regions shows where there is capacity"


def _subnet(inputs: Outputs, place: Candidate) -> str | None:
    """The private subnet of a place: empty before there is a cluster, None where the cluster has none there."""
    return place.subnet_id or inputs[ClusterState].private_subnets.get(place.zone)


def _spec(inputs: Outputs, place: Candidate) -> NodegroupSpec:
    settings, decision = inputs[Settings], inputs[Decision]
    kind, reservation = decision.kinds[place.instance_type], decision.reservation
    check_launchable(kind)
    check_ami_family(settings.node_ami_family, kind.accelerator)
    held = {TAG_HOLD: place.reservation_id} if place.reservation_id and not reservation else {}
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
        tags=inputs[RunContext].tags | held,
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


def _report(tried: Iterable[Attempt]) -> str:
    return "\n".join(f"{one.instance_type} in {one.zone}: {one.reason}" for one in tried)


def _hint(inputs: Outputs, last: Attempt) -> str:
    nodes = inputs[Decision].candidate.nodes
    kind = inputs[Decision].kinds.get(last.instance_type)
    need = f"{nodes * kind.vcpus} vCPUs" if kind else f"{nodes} x {last.instance_type}"
    return f"{need} are needed in {last.region}; clusterctl doctor shows quotas and permissions"
