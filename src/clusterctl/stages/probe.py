"""Finds the place for the GPU nodes, or reads it back where they stand already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusterctl.engine.actions import CancelReservation, HoldCapacity, Plan, ProbeCapacity, RememberPlacement
from clusterctl.engine.attempts import Attempts
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.probing import ProbeLedger
from clusterctl.engine.proving import leaked
from clusterctl.errors import UsageError
from clusterctl.model.capacity import (
    Candidate,
    Question,
    RegionFacts,
    Reservation,
    Source,
    Verdict,
)
from clusterctl.model.cluster import NodegroupState
from clusterctl.model.decision import Asked, Decision, Remembered, after_failures, placement_of, standing_first
from clusterctl.model.orders import (
    EXPECTED_HOLD_S,
    HOLD_LIFETIME_S,
    cost_of,
    fitting,
    hold_for,
    holds,
    order_for,
    outcome_of,
    strays,
)
from clusterctl.model.placement import Placement
from clusterctl.model.ranking import rank
from clusterctl.model.reservations import check_reservation
from clusterctl.model.run import RunContext
from clusterctl.model.validity import check_live, check_types, check_zones, notices
from clusterctl.ports import CapacitySurvey, Clock, ClusterReader, PlacementStore, ReservationReader

STANDING = ("ACTIVE", "CREATING", "UPDATING", "DEGRADED")
FRESH = timedelta(minutes=5)  # how long the answers of a survey are used within one run


@dataclass(frozen=True, slots=True)
class Readers:
    """What the stage reads."""

    survey: CapacitySurvey
    reservations: ReservationReader
    clusters: ClusterReader
    placement: PlacementStore


class ProbeStage:
    """Provides the Decision. Once nodes stand, their place is the decision: they fill what a search would look for."""

    name = "probe"
    requires: tuple[type, ...] = (RunContext, Asked, Remembered)
    provides = Decision
    patience_s = 5 * 60.0  # until EKS shows a node group whose stack is there

    def __init__(self, readers: Readers, ledger: ProbeLedger, clock: Clock) -> None:
        self._readers = readers
        self._ledger = ledger
        self._clock = clock
        self._seen: dict[Question, tuple[datetime, tuple[RegionFacts, ...]]] = {}

    def observe(self, inputs: Outputs) -> Decision:
        run, asked, explicit = inputs[RunContext], inputs[Asked], inputs[Remembered].explicit
        before = self._readers.placement.load()
        _check_account(before, run)
        if state := self._remembered_group(before, asked, explicit):
            return self._read_back(state, inputs, before)
        question = self._question(before, inputs)
        reservation = self._reservation(question)
        facts = self._ask(question, run)
        if state := self._unremembered_group(facts, asked):
            return self._read_back(state, inputs, before)
        checked = self._check(inputs, replace(asked, question=question), facts, reservation)
        held = [one for one in holds(facts, run) if fitting(one, question, self._clock.now())]
        outcomes = (*(outcome_of(one, self._clock.now()) for one in held), *self._ledger.outcomes())
        tried = inputs[Attempts] if Attempts in inputs else Attempts()
        ranked = after_failures(rank(question, facts, outcomes, reservation), tried.failures)
        candidates = asked.budget.hold(ranked, {region.region: region.prices for region in facts})
        decision = _decision(candidates, facts, before, run)
        useless = tuple(one for one in holds(facts, run) if one not in held)
        return replace(
            decision, reservation=reservation, outcomes=outcomes, strays=(*decision.strays, *useless),
            notices=(*checked, *decision.notices),
        )  # fmt: skip

    def plan(self, inputs: Outputs, observed: Decision) -> Plan:
        run, asked = inputs[RunContext], inputs[Asked]
        _refuse_leaks(observed)
        if observed.pending:
            return ()
        if observed.strays:
            why = "left by a run that was killed"
            return tuple(CancelReservation(one.region, one.reservation_id, why) for one in observed.strays)
        turn = len(inputs[Attempts].tried) if Attempts in inputs else 0
        if (asked.probe or asked.hold) and (places := _worth_proving(observed)):
            return (_hold(places, run, turn) if asked.hold else _probe(places, run, turn),)
        best = observed.candidate
        wanted = placement_of(best, asked, run, observed.remembered)
        return (RememberPlacement(wanted),) if asked.save and wanted != observed.remembered else ()

    def waiting_for(self, inputs: Outputs, observed: Decision) -> str:
        return observed.pending

    def expect(self, inputs: Outputs, observed: Decision) -> Decision:
        """An unproved place as well as a proved one: what comes after looks the same in a plan."""
        return observed

    def _question(self, before: Placement | None, inputs: Outputs) -> Question:
        """The question, held to the region of a cluster that stands already."""
        asked, explicit = inputs[Asked], inputs[Remembered].explicit
        question = asked.question
        same = before is not None and before.region and before.cluster_name == question.cluster
        if before is None or not same or not self._readers.clusters.cluster(before.region, before.cluster_name).exists:
            return question
        if explicit & {"REGION", "REGIONS"} and before.region not in question.regions:
            asked_for = ", ".join(question.regions)
            raise UsageError(
                f"{asked_for} is asked for, and cluster {before.cluster_name} stands in {before.region}",
                hint="use another --placement FILE for another cluster, or run clusterctl teardown first",
            )
        return replace(question, regions=(before.region,))

    def _remembered_group(
        self, before: Placement | None, asked: Asked, explicit: frozenset[str]
    ) -> NodegroupState | None:
        if before is None or not before.region or not before.gpu_nodegroup_name:
            return None
        clusters = self._readers.clusters
        state = clusters.nodegroup(before.region, before.cluster_name, before.gpu_nodegroup_name)
        if not _is_there(state):
            return None
        _refuse_other_names(before, asked, explicit)
        return state

    def _unremembered_group(self, facts: Sequence[RegionFacts], asked: Asked) -> NodegroupState | None:
        """A node group that stands without a file to remember it: the cloud says where, not the search."""
        for region in facts:
            if region.subnets is not None:
                state = self._readers.clusters.nodegroup(region.region, asked.question.cluster, asked.nodegroup)
                if _is_there(state):
                    return state
        return None

    def _read_back(self, state: NodegroupState, inputs: Outputs, before: Placement | None) -> Decision:
        run, asked = inputs[RunContext], inputs[Asked]
        if not state.exists:
            return Decision((), remembered=before, pending=f"EKS does not show node group {state.name} yet")
        check_live(state, asked.question, inputs[Remembered].explicit)
        question = replace(
            asked.question, regions=(state.region,), instance_types=(state.instance_type,), zones=(),
            nodes=max(1, state.desired), reservation_id=state.named_reservation,
        )  # fmt: skip
        named = state.named_reservation
        reservation = self._readers.reservations.find(state.region, named) if named else None
        facts = self._ask(question, run)
        candidates = standing_first(rank(question, facts), state, reservation)
        return replace(_decision(candidates, facts, before, run), reservation=reservation, live=True)

    def _reservation(self, question: Question) -> Reservation | None:
        """The reservation that the user named. Raises UsageError if no region asked knows it."""
        if not question.reservation_id:
            return None
        for region in question.regions:
            if found := self._readers.reservations.find(region, question.reservation_id):
                return found
        raise UsageError(
            f"no reservation {question.reservation_id} in {', '.join(question.regions)}",
            hint="name its region with -r; its owner must share it with this account",
        )

    def _check(
        self, inputs: Outputs, asked: Asked, facts: Sequence[RegionFacts], reservation: Reservation | None
    ) -> tuple[str, ...]:
        """Raises for what cannot be asked; returns what should be known of the reservation."""
        question = asked.question
        check_types(question, facts, asked.gpus_per_node, self._readers.survey)
        check_zones(question, facts)
        if reservation is None:
            return ()
        return check_reservation(reservation, question, self._clock.now(), inputs[RunContext].expires_at)

    def _ask(self, question: Question, run: RunContext) -> tuple[RegionFacts, ...]:
        now = self._clock.now()
        at, facts = self._seen.get(question, (now, ()))
        if facts and now - at < FRESH and not (strays(facts, run) or holds(facts, run)):
            return facts
        facts = self._readers.survey.ask(question)
        self._seen[question] = (now, facts)
        return facts


def _is_there(state: NodegroupState) -> bool:
    """Also a node group of which CloudFormation knows alone: it takes capacity and quota, and EKS will show where."""
    return state.status in STANDING or (not state.exists and state.stack.status == "CREATE_IN_PROGRESS")


def _check_account(before: Placement | None, run: RunContext) -> None:
    if before and before.account_id and before.account_id != run.account_id:
        raise UsageError(
            f"the placement file belongs to account {before.account_id}, the credentials to {run.account_id}",
            hint="use the other credentials, or another --placement FILE",
        )


def _refuse_other_names(before: Placement, asked: Asked, explicit: frozenset[str]) -> None:
    """One placement file leads to one node group; a second one would hide the way back to the first."""
    said = (
        ("CLUSTER_NAME", asked.question.cluster, before.cluster_name),
        ("GPU_NODEGROUP_NAME", asked.nodegroup, before.gpu_nodegroup_name),
    )
    for key, wanted, stands in said:
        if key in explicit and wanted != stands:
            raise UsageError(
                f"{key} is {wanted}, and the placement file leads to {stands}, which stands in {before.region}",
                hint="use another --placement FILE for it, or run clusterctl teardown first",
            )


def _refuse_leaks(observed: Decision) -> None:
    """Raise LeftoversError for a probe whose cancellation nobody has seen."""
    for one in observed.outcomes:
        if not one.cancelled and not one.held:
            raise leaked(one)


def _decision(
    candidates: tuple[Candidate, ...], facts: Sequence[RegionFacts], before: Placement | None, run: RunContext
) -> Decision:
    return Decision(
        candidates=candidates,
        kinds={name: kind for region in reversed(facts) for name, kind in region.types.items()},
        region_zones={region.region: region.zones for region in facts},
        prices={region.region: region.prices for region in facts},
        remembered=before,
        probed=any(one.source is Source.PROBE for one in candidates),
        strays=strays(facts, run),
        notices=notices(facts),
    )


def _worth_proving(observed: Decision) -> tuple[Candidate, ...]:
    """The open places of the best type; less wanted types wait until that one cannot be had anywhere."""
    best = next((one for one in observed.candidates if one.usable), None)
    if best is None or best.verdict is Verdict.AVAILABLE:
        return ()
    return tuple(
        one
        for one in observed.candidates
        if one.usable and one.source is Source.UNPROBED and one.instance_type == best.instance_type
    )


def _probe(places: Sequence[Candidate], run: RunContext, turn: int) -> ProbeCapacity:
    return ProbeCapacity(tuple(order_for(one, run, turn) for one in places), cost_of(places))


def _hold(places: Sequence[Candidate], run: RunContext, turn: int) -> HoldCapacity:
    """One place after the other until one has room: only that one is kept, and paid for."""
    dearest = sorted(places, key=lambda one: (one.hourly_usd is not None, -(one.hourly_usd or 0)))[:1]
    return HoldCapacity(
        tuple(hold_for(one, run, turn) for one in places),
        cost_of(dearest, EXPECTED_HOLD_S),
        cost_of(dearest, 2 * HOLD_LIFETIME_S),  # EC2 ends it within an hour of the end that was asked for
    )
