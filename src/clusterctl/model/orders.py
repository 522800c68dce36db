"""The reservations that a run asks for: a proof that is cancelled at once, and a hold until the nodes have joined."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from clusterctl.model.capacity import (
    HOLD,
    PROBE,
    TAG_PURPOSE,
    Candidate,
    ProbeOutcome,
    Question,
    RegionFacts,
    Reservation,
    ReservationOrder,
)
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_OWNER, TAG_RUN
from clusterctl.model.run import RunContext

LEAST_BILLED_S = 60.0
HOLD_LIFETIME_S = 60 * 60.0  # a cluster takes 15 to 20 minutes, its node group 5 to 30
EXPECTED_HOLD_S = 25 * 60.0
WORTH_KEEPING = timedelta(minutes=20)  # a hold that ends sooner may not last until the nodes have joined
_ALIVE = ("active", "pending")


def order_for(place: Candidate, run: RunContext, *turn: object) -> ReservationOrder:
    """What to reserve as a proof. The token is the same for the same place, run and turn, however often it is asked."""
    words = (run.run_id, place.region, place.zone_id, place.instance_type, str(place.nodes), *map(str, turn))
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


def hold_for(place: Candidate, run: RunContext, *turn: object) -> ReservationOrder:
    """What to reserve and keep: the same, under a purpose of its own and with an end that outlives the making."""
    proof = order_for(place, run, "hold", *turn)
    return ReservationOrder(
        region=proof.region,
        zone=proof.zone,
        zone_id=proof.zone_id,
        instance_type=proof.instance_type,
        count=proof.count,
        client_token=proof.client_token,
        lifetime_s=HOLD_LIFETIME_S,
        tags=tuple((dict(proof.tags) | {TAG_PURPOSE: HOLD}).items()),
    )


def cost_of(places: Sequence[Candidate], seconds: float = LEAST_BILLED_S) -> float | None:
    """USD if a reservation in each place stands for so long; None if a price is unknown."""
    prices = [one.hourly_usd for one in places]
    known = [price for price in prices if price is not None]
    return round(sum(known) * seconds / 3600, 2) if len(known) == len(prices) else None


def strays(facts: Iterable[RegionFacts], run: RunContext) -> tuple[Reservation, ...]:
    """Proofs of this cluster and owner that an earlier run did not live to cancel."""
    return tuple(one for one in _ours(facts, run) if one.is_probe and one.tags.get(TAG_RUN) != run.run_id)


def holds(facts: Iterable[RegionFacts], run: RunContext) -> tuple[Reservation, ...]:
    """Reservations of this cluster and owner that wait for nodes, whichever run made them."""
    return tuple(one for one in _ours(facts, run) if one.is_hold)


def fitting(reservation: Reservation, question: Question, now: datetime) -> bool:
    """Whether a hold that was found is still what is looked for, and lasts long enough to be of use."""
    zones = set(question.zones)
    return (
        reservation.state == "active"
        and reservation.instance_type in question.instance_types
        and reservation.total == reservation.available == question.nodes
        and (not zones or bool(zones & {reservation.zone, reservation.zone_id}))
        and (reservation.end is None or reservation.end - now > WORTH_KEEPING)
    )


def outcome_of(reservation: Reservation, now: datetime) -> ProbeOutcome:
    """A hold that was found, as the proof that it is."""
    order = ReservationOrder(
        reservation.region,
        reservation.zone,
        reservation.zone_id,
        reservation.instance_type,
        reservation.total,
        client_token="",
        tags=tuple(reservation.tags.items()),
    )
    return ProbeOutcome(order, now, None, reservation.reservation_id, cancelled=False, held=True)


def _ours(facts: Iterable[RegionFacts], run: RunContext) -> Iterable[Reservation]:
    for region in facts:
        for one in region.reservations:
            marks = (one.tags.get(TAG_CLUSTER), one.tags.get(TAG_OWNER))
            if not one.is_block and marks == (run.cluster, run.owner) and one.state in _ALIVE:
                yield one
