"""Proof of capacity in the middle of a run: once more right before a launch, or kept until the nodes have joined."""

from __future__ import annotations

from collections.abc import Callable

from clusterctl.engine.actions import HoldCapacity, ProveAgain
from clusterctl.engine.attempts import Attempt, PlaceFailedError
from clusterctl.engine.probing import ProbeLedger
from clusterctl.errors import LeftoversError
from clusterctl.model.capacity import ProbeOutcome, ReservationOrder
from clusterctl.model.failures import Cause, Failure
from clusterctl.ports import Clock, Prober

Tell = Callable[[str], None]
FRESH_S = 5 * 60.0  # how long a proof is good enough to launch by
_SPEAKS_AGAINST = {Cause.CAPACITY, Cause.NOT_OFFERED, Cause.QUOTA}


class CapacityProver:
    """Makes proofs and holds, and writes what they show into the ledger."""

    def __init__(self, prober: Prober, ledger: ProbeLedger, clock: Clock) -> None:
        self._prober = prober
        self._ledger = ledger
        self._clock = clock

    def prove_again(self, action: ProveAgain, tell: Tell) -> None:
        """Raises PlaceFailedError where the room is gone, LeftoversError for a proof that could not be cancelled.

        A proof that could not be made says nothing against the place.
        """
        order = action.order
        known = self._ledger.proved_at(order)
        if known and (age := (self._clock.now() - known).total_seconds()) < FRESH_S:
            tell(f"proved {age:.0f} s ago")
            return
        (outcome,) = self._prober.prove((order,))
        self._ledger.record((outcome,))
        if not outcome.cancelled:
            raise leaked(outcome)
        failure = outcome.failure
        if failure is None:
            return
        if failure.cause in _SPEAKS_AGAINST:
            raise PlaceFailedError(_attempt(order, failure))
        tell(f"not proved again: {failure.message or failure.code}")

    def hold(self, action: HoldCapacity, tell: Tell) -> None:
        """Try the places in order, and keep the first reservation that is given."""
        for order in action.orders:
            outcome = self._prober.hold(order)
            self._ledger.record((outcome,))
            if outcome.failure is None:
                tell(f"{order.count} x {order.instance_type} held in {order.zone} by {outcome.reservation_id}")
                return
            tell(f"{order.zone}: {outcome.failure.message or outcome.failure.code}")


def leaked(outcome: ProbeOutcome) -> LeftoversError:
    """The error for a reservation whose cancellation nobody has seen."""
    order = outcome.order
    return LeftoversError(
        f"reservation {outcome.reservation_id} in {order.zone} could not be cancelled and may still cost money;"
        f" it ends by itself within {order.lifetime_s / 60 + 60:.0f} minutes of its making",
        hint=f"aws ec2 cancel-capacity-reservation --region {order.region}"
        f" --capacity-reservation-id {outcome.reservation_id}",
    )


def _attempt(order: ReservationOrder, failure: Failure) -> Attempt:
    reason = f"proved again right before the launch: {failure.message or failure.code}"
    return Attempt(order.region, order.zone, order.instance_type, failure.cause.value, reason, failure)
