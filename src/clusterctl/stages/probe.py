"""Finds the place for the GPU nodes, or reads it back where they stand already."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusterctl.engine.actions import CancelReservation, Plan, ProbeCapacity, RememberPlacement
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.probing import ProbeLedger
from clusterctl.errors import LeftoversError, UsageError
from clusterctl.model.capacity import (
    PROBE,
    TAG_PURPOSE,
    Candidate,
    Question,
    RegionFacts,
    Reservation,
    ReservationOrder,
    Source,
    Verdict,
)
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_OWNER, TAG_RUN, NodegroupState
from clusterctl.model.decision import Asked, Decision, Remembered, placement_of, standing_first
from clusterctl.model.placement import Placement
from clusterctl.model.ranking import rank
from clusterctl.model.reservations import check_reservation
from clusterctl.model.run import RunContext
from clusterctl.model.validity import check_live, check_types, check_zones, notices
from clusterctl.ports import CapacitySurvey, Clock, ClusterReader, PlacementStore, ReservationReader

STANDING = ("ACTIVE", "CREATING", "UPDATING", "DEGRADED")
FRESH = timedelta(minutes=5)  # how long the answers of a survey are used within one run
LEAST_BILLED_S = 60.0


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
    patience_s = 0.0

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
        candidates = rank(question, facts, self._ledger.outcomes(), reservation)
        decision = _decision(candidates, facts, before, run)
        return replace(
            decision, reservation=reservation, outcomes=self._ledger.outcomes(), notices=(*checked, *decision.notices)
        )

    def plan(self, inputs: Outputs, observed: Decision) -> Plan:
        run, asked = inputs[RunContext], inputs[Asked]
        _refuse_leaks(observed)
        if observed.strays:
            why = "left by a probe that was killed"
            return tuple(CancelReservation(one.region, one.reservation_id, why) for one in observed.strays)
        if asked.probe and (places := _worth_proving(observed)):
            return (ProbeCapacity(tuple(_order(one, run) for one in places), _cost(places)),)
        best = observed.candidate
        wanted = placement_of(best, asked, run, observed.remembered)
        return (RememberPlacement(wanted),) if asked.save and wanted != observed.remembered else ()

    def waiting_for(self, inputs: Outputs, observed: Decision) -> str:
        return ""

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
        if state.status not in STANDING:
            return None
        _refuse_other_names(before, asked, explicit)
        return state

    def _unremembered_group(self, facts: Sequence[RegionFacts], asked: Asked) -> NodegroupState | None:
        """A node group that stands without a file to remember it: the cloud says where, not the search."""
        for region in facts:
            if region.subnets is not None:
                state = self._readers.clusters.nodegroup(region.region, asked.question.cluster, asked.nodegroup)
                if state.status in STANDING:
                    return state
        return None

    def _read_back(self, state: NodegroupState, inputs: Outputs, before: Placement | None) -> Decision:
        run, asked = inputs[RunContext], inputs[Asked]
        check_live(state, asked.question, inputs[Remembered].explicit)
        question = replace(
            asked.question, regions=(state.region,), instance_types=(state.instance_type,), zones=(),
            nodes=max(1, state.desired), reservation_id=state.reservation_id,
        )  # fmt: skip
        reservation = (
            self._readers.reservations.find(state.region, state.reservation_id) if state.reservation_id else None
        )
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
        if facts and now - at < FRESH and not _strays(facts, run):
            return facts
        facts = self._readers.survey.ask(question)
        self._seen[question] = (now, facts)
        return facts


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
        if not one.cancelled:
            order = one.order
            raise LeftoversError(
                f"reservation {one.reservation_id} in {order.zone} could not be cancelled and may still cost money;"
                f" it ends by itself within {order.lifetime_s / 60 + 60:.0f} minutes of its making",
                hint="aws ec2 cancel-capacity-reservation"
                f" --region {order.region} --capacity-reservation-id {one.reservation_id}",
            )


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
        strays=_strays(facts, run),
        notices=notices(facts),
    )


def _strays(facts: Sequence[RegionFacts], run: RunContext) -> tuple[Reservation, ...]:
    """Probe reservations of this cluster and owner that an earlier run did not live to cancel."""
    return tuple(
        one
        for region in facts
        for one in region.reservations
        if one.is_probe
        and not one.is_block
        and (one.tags.get(TAG_CLUSTER), one.tags.get(TAG_OWNER)) == (run.cluster, run.owner)
        and one.tags.get(TAG_RUN) != run.run_id
        and one.state in ("active", "pending")
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


def _order(place: Candidate, run: RunContext) -> ReservationOrder:
    """What to reserve. The token is the same for the same place in the same run, however often it is asked."""
    words = (run.run_id, place.region, place.zone_id, place.instance_type, str(place.nodes))
    tags = {key: value for key, value in run.tags.items() if key != TAG_EXPIRES}
    return ReservationOrder(
        region=place.region,
        zone=place.zone,
        zone_id=place.zone_id,
        instance_type=place.instance_type,
        count=place.nodes,
        client_token=str(uuid.uuid5(uuid.NAMESPACE_URL, "/".join(words))),
        tags=tuple((tags | {TAG_PURPOSE: PROBE}).items()),
    )


def _cost(places: Sequence[Candidate]) -> float | None:
    """USD at most, if each reservation stands for a minute; None if a price is unknown."""
    prices = [one.hourly_usd for one in places]
    known = [price for price in prices if price is not None]
    return round(sum(known) * LEAST_BILLED_S / 3600, 2) if len(known) == len(prices) else None
