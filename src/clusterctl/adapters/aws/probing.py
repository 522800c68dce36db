"""Proves capacity: a reservation made and at once cancelled, and never one that is left behind unnamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import Any

from clusterctl.adapters.aws.cancelling import Canceller
from clusterctl.adapters.aws.faults import AWS_FAULTS, failure_of, translated
from clusterctl.adapters.aws.reservations import is_ours, list_alive, look_up, read_reservation
from clusterctl.adapters.aws.session import AwsSession, Purpose
from clusterctl.engine.effects import RESERVE
from clusterctl.errors import LeftoversError
from clusterctl.model.capacity import ProbeOutcome, Reservation, ReservationOrder
from clusterctl.model.cluster import TAG_EXPIRES, TAG_RUN
from clusterctl.model.failures import Cause, Failure, Remedy, Scope
from clusterctl.model.instances import quota_family
from clusterctl.ports import Clock, Journal

TRIES = 6
FIRST_PAUSE_S = 1.0
PENDING_LIMIT_S = 60.0
SEARCH_LOOKS = 3
_AGAIN = {Cause.THROTTLED, Cause.TRANSIENT}
_SAME_FOR_THE_REGION = {Cause.QUOTA, Cause.DENIED, Cause.CREDENTIALS, Cause.ACCOUNT}


@dataclass(slots=True)
class _Trial:
    """One order on its way: what was sent, and what we hold or may hold."""

    order: ReservationOrder
    parameters: dict[str, Any]
    made: Reservation | None = None
    unheard: bool = False  # a call went out and no answer came: something may have been made


class Ec2Prober:
    """The Prober port. `steady` is a clock that no interruption wakes: a cancellation is always finished."""

    def __init__(self, aws: AwsSession, clock: Clock, steady: Clock, journal: Journal) -> None:
        self._aws = aws
        self._clock = clock
        self._steady = steady
        self._journal = journal
        self._canceller = Canceller(aws, steady, journal)

    def prove(self, orders: Sequence[ReservationOrder]) -> tuple[ProbeOutcome, ...]:
        """Try every order; a region's one after the other, since unused reservations fill its quota.

        Raises InterruptedRunError once all that was made is cancelled, LeftoversError if that failed.
        """
        regions = {order.region: [one for one in orders if one.region == order.region] for order in orders}
        halt = Event()
        with ThreadPoolExecutor(max_workers=max(1, len(regions))) as pool:
            running = [pool.submit(self._region, group, halt) for group in regions.values()]
            try:
                wait(running)
            except BaseException:
                halt.set()  # leaving the pool waits for the cancellations under way
                raise
        return tuple(outcome for one in _results(running) for outcome in one)

    def hold(self, order: ReservationOrder) -> ProbeOutcome:
        """One order that is kept if it is given; whatever else was or may have been made is undone."""
        trial = _Trial(order, self._parameters(order))
        with self._journal.effect("CreateCapacityReservation", _facts(order)):
            try:
                failure = self._make(trial) or self._await_active(trial)
                if failure:
                    self._undo(trial)
            except BaseException:
                self._undo(trial)
                raise
        held = trial.made.reservation_id if trial.made and not failure else ""
        return ProbeOutcome(order, self._clock.now(), failure, held, cancelled=not held, held=bool(held))

    def cancel(self, region: str, reservation_id: str) -> None:
        """Cancel a reservation of ours, seen cancelled. Raises UsageError for any other, LeftoversError if it stays."""
        self._canceller.cancel_ours(region, reservation_id)

    def cancel_made(self, intent: Mapping[str, str]) -> tuple[str, ...]:
        """Look several times, since EC2 may need a moment to show what it has just made."""
        region, cancelled = intent["region"], set[str]()
        for look in range(SEARCH_LOOKS):
            with translated(f"list capacity reservations in {region}"):
                listed = list_alive(self._aws.client("ec2", region), region)
            for one in listed:
                if is_ours(one) and _came_of(intent, one) and one.reservation_id not in cancelled:
                    self._canceller.cancel_own(region, one.reservation_id)
                    cancelled.add(one.reservation_id)
            self._clock.sleep(2.0 * (look + 1))
        return tuple(sorted(cancelled))

    def _region(self, orders: Sequence[ReservationOrder], halt: Event) -> list[ProbeOutcome]:
        outcomes: list[ProbeOutcome] = []
        for order in orders:
            if halt.is_set():
                break
            self._clock.sleep(0)  # raises if the run is asked to stop
            known = next((one.failure for one in outcomes if _speaks_for(one, order)), None)
            outcomes.append(ProbeOutcome(order, self._clock.now(), known) if known else self._prove(order))
        return outcomes

    def _prove(self, order: ReservationOrder) -> ProbeOutcome:
        """One order from asking to cancelled. Its intent stays open in the journal as long as anything may stand."""
        trial = _Trial(order, self._parameters(order))
        with self._journal.effect(RESERVE, _facts(order)):
            try:
                failure = self._make(trial) or self._await_active(trial)
            except BaseException:
                self._undo(trial)
                raise
            cancelled = True
            try:
                self._undo(trial)
            except LeftoversError:
                cancelled = False
        held = trial.made.reservation_id if trial.made else ""
        return ProbeOutcome(order, self._clock.now(), failure, held, cancelled)

    def _make(self, trial: _Trial) -> Failure | None:
        """Ask until there is an answer, with the same token and parameters: a repeat cannot make a second one."""
        failure = self._ask(trial)
        for number in range(TRIES - 1):
            if failure is None or failure.cause not in _AGAIN:
                break
            self._clock.sleep(FIRST_PAUSE_S * 2**number)
            failure = self._ask(trial)
        return failure

    def _ask(self, trial: _Trial) -> Failure | None:
        client = self._aws.client("ec2", trial.order.region, Purpose.ONCE)
        try:
            answer = client.create_capacity_reservation(**trial.parameters)["CapacityReservation"]
        except AWS_FAULTS as fault:
            failure = failure_of(fault)
            trial.unheard = trial.unheard or failure.cause is Cause.TRANSIENT
            return failure
        except BaseException:
            trial.unheard = True
            raise
        trial.made = read_reservation(trial.order.region, answer)
        return None

    def _await_active(self, trial: _Trial) -> Failure | None:
        """Accepted is not provisioned: only `active` proves anything."""
        order, waited, pause = trial.order, 0.0, 2.0
        while trial.made and trial.made.state in ("pending", "assessing") and waited < PENDING_LIMIT_S:
            self._clock.sleep(pause)
            waited, pause = waited + pause, pause * 2
            try:
                client = self._aws.client("ec2", order.region)
                trial.made = look_up(client, order.region, trial.made.reservation_id) or trial.made
            except AWS_FAULTS as fault:
                return failure_of(fault)
        state = trial.made.state if trial.made else ""
        if state == "active":
            return None
        return Failure(Cause.UNKNOWN, Scope.CALL, Remedy.STOP, state, f"the reservation stayed {state or 'unseen'}")

    def _undo(self, trial: _Trial) -> None:
        """Cancel what was made, and what may have been made. Raises LeftoversError if it cannot be seen to be over."""
        if trial.made is None and trial.unheard:
            trial.made = self._search(trial)
        if trial.made is not None:
            self._canceller.cancel_own(trial.order.region, trial.made.reservation_id)

    def _search(self, trial: _Trial) -> Reservation | None:
        """The reservation of a call whose answer was lost, told by the tags it was given."""
        order = trial.order
        for look in range(SEARCH_LOOKS):
            try:
                listed = list_alive(self._aws.client("ec2", order.region), order.region)
            except AWS_FAULTS:
                listed = ()
            for one in listed:
                same = (one.instance_type, one.zone_id, one.total) == (*order.place, order.count)
                if same and dict(order.tags).items() <= one.tags.items():
                    return one
            self._steady.sleep(2.0 * (look + 1))
        return None

    def _parameters(self, order: ReservationOrder) -> dict[str, Any]:
        end = (self._clock.now() + timedelta(seconds=order.lifetime_s)).replace(microsecond=0)
        tags = {**dict(order.tags), TAG_EXPIRES: end.isoformat()}
        return {
            "ClientToken": order.client_token,
            "InstanceType": order.instance_type,
            "InstancePlatform": "Linux/UNIX",
            "AvailabilityZoneId": order.zone_id,
            "InstanceCount": order.count,
            "InstanceMatchCriteria": "targeted",
            "EndDateType": "limited",
            "EndDate": end,
            "TagSpecifications": [
                {
                    "ResourceType": "capacity-reservation",
                    "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                }
            ],
        }


def _came_of(intent: Mapping[str, str], made: Reservation) -> bool:
    """By the tags and the place: no answer of EC2 shows the client token."""
    if made.tags.get(TAG_RUN) != intent["run"] or made.state == "cancelling":
        return False
    place = (made.instance_type, made.zone_id, str(made.total))
    return place == (intent["instance_type"], intent["zone_id"], intent["count"])


def _speaks_for(outcome: ProbeOutcome, order: ReservationOrder) -> bool:
    """True if the failure of one zone holds for the region: a quota for the family, a permission for all."""
    failure = outcome.failure
    if failure is None or failure.cause not in _SAME_FOR_THE_REGION:
        return False
    family = quota_family(outcome.order.instance_type) == quota_family(order.instance_type)
    enough = outcome.order.count <= order.count and outcome.order.instance_type == order.instance_type
    return failure.cause is not Cause.QUOTA or (family and enough)


def _results(futures: Sequence[Future[list[ProbeOutcome]]]) -> list[list[ProbeOutcome]]:
    """All results; of several exceptions the one about money that still runs."""
    problems = [problem for one in futures if (problem := one.exception())]
    if problems:
        raise next((one for one in problems if isinstance(one, LeftoversError)), problems[0])
    return [one.result() for one in futures]


def _facts(order: ReservationOrder) -> dict[str, str]:
    """What the journal keeps of an order."""
    return {
        "region": order.region, "zone": order.zone, "zone_id": order.zone_id, "count": str(order.count),
        "instance_type": order.instance_type, "client_token": order.client_token,
    }  # fmt: skip
