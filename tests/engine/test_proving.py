"""Proofs in the middle of a run: made again when they are old, and never taken for a verdict when they are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from clusterctl.engine.actions import HoldCapacity, ProveAgain
from clusterctl.engine.attempts import PlaceFailedError
from clusterctl.engine.probing import ProbeLedger
from clusterctl.engine.proving import FRESH_S, CapacityProver
from clusterctl.errors import LeftoversError
from clusterctl.model.capacity import ProbeOutcome, ReservationOrder
from clusterctl.model.failures import classify
from fakes import START, FakeClock, Recorder

ORDER = ReservationOrder("us-east-2", "us-east-2a", "use2-az1", "g6.12xlarge", 2, "token")
OTHER = replace(ORDER, zone="us-east-2b", zone_id="use2-az2")
AGAIN = ProveAgain(ORDER, 0.15)


class ScriptedProber:
    """Fails where a code is given for the zone, else finds room; remembers what was asked."""

    def __init__(self, codes: dict[str, str] | None = None, *, cancelled: bool = True) -> None:
        self.codes, self.cancelled = codes or {}, cancelled
        self.proved: list[str] = []
        self.held: list[str] = []

    def prove(self, orders: Sequence[ReservationOrder]) -> tuple[ProbeOutcome, ...]:
        self.proved += [one.zone for one in orders]
        return tuple(ProbeOutcome(one, START, self._failure(one), "cr-1", self.cancelled) for one in orders)

    def hold(self, order: ReservationOrder) -> ProbeOutcome:
        self.held.append(order.zone)
        failure = self._failure(order)
        return ProbeOutcome(order, START, failure, "" if failure else "cr-9", bool(failure), held=not failure)

    def cancel(self, region: str, reservation_id: str) -> None:
        raise NotImplementedError

    def _failure(self, order: ReservationOrder) -> object:
        code = self.codes.get(order.zone)
        return classify(code, f"{code} it says") if code else None


def prover(prober: ScriptedProber, clock: FakeClock | None = None, ledger: ProbeLedger | None = None) -> CapacityProver:
    return CapacityProver(prober, ledger or ProbeLedger(), clock or FakeClock())


@pytest.mark.parametrize(("age_s", "asked"), [(0, []), (FRESH_S - 1, []), (FRESH_S, ["us-east-2a"])])
def test_a_proof_is_made_again_once_it_is_old(age_s: float, asked: list[str]) -> None:
    prober, clock, ledger, told = ScriptedProber(), FakeClock(), ProbeLedger(), Recorder()
    ledger.record((ProbeOutcome(ORDER, START),))
    clock.slept_s = age_s
    prover(prober, clock, ledger).prove_again(AGAIN, told.tell)
    assert prober.proved == asked
    assert bool(told.words) is not bool(asked)


def test_an_older_failure_is_no_proof() -> None:
    prober, ledger = ScriptedProber(), ProbeLedger()
    ledger.record((ProbeOutcome(ORDER, START, classify("InsufficientInstanceCapacity", "none")),))
    prover(prober, ledger=ledger).prove_again(AGAIN, Recorder().tell)
    assert prober.proved == ["us-east-2a"]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("InsufficientInstanceCapacity", "no-capacity"),
        ("InstanceLimitExceeded", "quota"),
        ("Unsupported", "not-offered"),
    ],
)
def test_room_that_is_gone_fails_the_place_with_its_cause(code: str, outcome: str) -> None:
    with pytest.raises(PlaceFailedError) as caught:
        prover(ScriptedProber({"us-east-2a": code})).prove_again(AGAIN, Recorder().tell)
    attempt = caught.value.attempt
    assert (attempt.region, attempt.zone, attempt.outcome) == ("us-east-2", "us-east-2a", outcome)
    assert f"{code} it says" in attempt.reason


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "UnauthorizedOperation", "InternalError", "SomethingNew"])
def test_a_proof_that_could_not_be_made_says_nothing_against_the_place(code: str) -> None:
    told = Recorder()
    prover(ScriptedProber({"us-east-2a": code})).prove_again(AGAIN, told.tell)
    assert told.words == [f"not proved again: {code} it says"]


def test_a_proof_that_nobody_saw_cancelled_stops_the_run() -> None:
    with pytest.raises(LeftoversError, match="cr-1 in us-east-2a could not be cancelled"):
        prover(ScriptedProber(cancelled=False)).prove_again(AGAIN, Recorder().tell)


def test_a_hold_keeps_the_first_place_that_has_room_and_asks_no_further() -> None:
    prober, ledger = ScriptedProber({"us-east-2a": "InsufficientInstanceCapacity"}), ProbeLedger()
    third = replace(ORDER, zone="us-east-2c", zone_id="use2-az3")
    prover(prober, ledger=ledger).hold(HoldCapacity((ORDER, OTHER, third)), Recorder().tell)
    assert prober.held == ["us-east-2a", "us-east-2b"]
    assert [(one.available, one.held) for one in ledger.outcomes()] == [(False, False), (True, True)]


def test_the_price_of_a_hold_is_said_and_an_unknown_one_is_called_so() -> None:
    known = HoldCapacity((ORDER,), 3.83, 18.4)
    assert str(known).endswith("about 3.83 USD, 18.40 USD if nobody is left to end it")
    assert str(HoldCapacity((ORDER, OTHER))).endswith("what that costs is not known")
