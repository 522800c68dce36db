"""Reservations as proof of capacity: whatever goes wrong, none is left and none is made twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from clusterctl.adapters.aws.probing import Ec2Prober
from clusterctl.adapters.aws.reservations import Ec2Reservations
from clusterctl.errors import InterruptedRunError, LeftoversError, UsageError
from clusterctl.model.capacity import ReservationOrder
from clusterctl.model.failures import Cause
from local_aws import LocalAws

G6 = "g6.12xlarge"
TAGS = (("clusterctl:run", "run-1"), ("clusterctl:cluster", "training"), ("clusterctl:purpose", "probe"))
CREATE = "ec2:CreateCapacityReservation"
CANCEL = "ec2:CancelCapacityReservation"


class Intents:
    """A journal in memory: which effects were begun, and which ended."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, Mapping[str, str]]] = []
        self.open: list[str] = []

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        self.begun.append((name, facts))
        self.open.append(name)
        yield
        self.open.remove(name)

    def unsettled(self) -> tuple[Mapping[str, str], ...]:
        return ()

    def settle(self, intent: Mapping[str, str]) -> None:
        return

    def clear(self) -> None:
        return


def order(zone: str = "a", count: int = 2, region: str = "us-east-2") -> ReservationOrder:
    number = {"a": 1, "b": 2, "c": 3}[zone]
    short = {"us-east-2": "use2", "us-west-2": "usw2"}[region]
    token = f"token-{region}{zone}-{count}"
    return ReservationOrder(region, f"{region}{zone}", f"{short}-az{number}", G6, count, token, tags=TAGS)


def prober(aws: LocalAws, journal: Intents | None = None) -> Ec2Prober:
    return Ec2Prober(aws.session(), aws.clock, aws.steady, journal or Intents())


def states(aws: LocalAws) -> set[str]:
    return {str(held["State"]) for held in aws.reservations()}


def test_capacity_is_proved_and_nothing_is_left(aws: LocalAws) -> None:
    outcomes = prober(aws).prove([order("a"), order("b"), order("a", region="us-west-2")])
    assert [outcome.available for outcome in outcomes] == [True, True, True]
    assert all(outcome.cancelled and outcome.reservation_id.startswith("cr-") for outcome in outcomes)
    assert states(aws) == {"cancelled"}


def test_a_probe_is_targeted_ends_by_itself_and_says_whose_it_is(aws: LocalAws) -> None:
    prober(aws).prove([order()])
    (made,) = aws.reservations()
    tags = {tag["Key"]: tag["Value"] for tag in made["Tags"]}
    assert (made["InstanceMatchCriteria"], made["EndDateType"]) == ("targeted", "limited")
    assert dict(TAGS).items() <= tags.items()
    assert tags["clusterctl:expires-at"] == made["EndDate"].isoformat()


def test_the_intent_is_written_before_the_call_and_closed_after_the_cancellation(aws: LocalAws) -> None:
    journal = Intents()
    prober(aws, journal).prove([order()])
    names = [name for name, _ in journal.begun]
    assert names == ["CreateCapacityReservation", "CancelCapacityReservation"]
    assert journal.begun[0][1]["client_token"] == order().client_token
    assert journal.begun[0][1]["zone"] == "us-east-2a"
    assert journal.open == []


def test_no_capacity_is_said_after_one_call(aws: LocalAws) -> None:
    aws.rehearse(capacity={"us-east-2a": {G6: 1}})
    full, room = prober(aws).prove([order("a"), order("b")])
    assert full.failure is not None
    assert full.failure.cause is Cause.CAPACITY
    assert room.available
    assert len([call for call in aws.calls("CreateCapacityReservation") if call["error"]]) == 1


def test_a_lost_answer_makes_one_reservation_and_not_two(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": CREATE, "lose_response": True, "times": 1}])
    (outcome,) = prober(aws).prove([order()])
    assert outcome.available
    assert len(aws.calls("CreateCapacityReservation")) == 2
    assert [held["State"] for held in aws.reservations()] == ["cancelled"]


def test_what_was_made_without_any_answer_is_found_by_its_tags_and_cancelled(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": CREATE, "lose_response": True}])
    (outcome,) = prober(aws).prove([order()])
    assert outcome.failure is not None
    assert outcome.failure.cause is Cause.TRANSIENT
    assert outcome.cancelled
    assert [held["State"] for held in aws.reservations()] == ["cancelled"]


@pytest.mark.parametrize("error", ["RequestLimitExceeded", "InternalError"])
def test_throttles_and_server_faults_are_waited_out(aws: LocalAws, error: str) -> None:
    aws.rehearse(faults=[{"on": CREATE, "error": error, "times": 3, "status": 503}])
    (outcome,) = prober(aws).prove([order()])
    assert outcome.available
    assert len(aws.calls("CreateCapacityReservation")) == 4


def test_lasting_throttles_are_throttles_and_not_a_lack_of_capacity(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": CREATE, "error": "RequestLimitExceeded"}])
    (outcome,) = prober(aws).prove([order()])
    assert outcome.failure is not None
    assert outcome.failure.cause is Cause.THROTTLED


def test_a_missing_permission_is_asked_once_for_a_region(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": CREATE, "error": "UnauthorizedOperation", "region": "us-east-2"}])
    outcomes = prober(aws).prove([order("a"), order("b"), order("a", region="us-west-2")])
    causes = {outcome.order.zone: outcome.failure and outcome.failure.cause for outcome in outcomes}
    assert causes == {"us-east-2a": Cause.DENIED, "us-east-2b": Cause.DENIED, "us-west-2a": None}
    assert len(aws.calls("CreateCapacityReservation")) == 2


def test_a_quota_is_asked_once_for_a_region(aws: LocalAws) -> None:
    aws.rehearse(quotas={"us-east-2": {"L-DB2E81BA": 48}})
    outcomes = prober(aws).prove([order("a"), order("b")])
    assert {outcome.failure.cause for outcome in outcomes if outcome.failure} == {Cause.QUOTA}
    assert len(aws.calls("CreateCapacityReservation")) == 1


def test_zones_of_a_region_do_not_fill_each_others_quota(aws: LocalAws) -> None:
    aws.rehearse(quotas={"us-east-2": {"L-DB2E81BA": 96}})
    outcomes = prober(aws).prove([order("a"), order("b"), order("c")])
    assert all(outcome.available for outcome in outcomes)


def test_a_cancellation_is_repeated_until_ec2_shows_it(aws: LocalAws) -> None:
    aws.rehearse(
        faults=[
            {"on": CANCEL, "error": "InvalidCapacityReservationId.NotFound", "times": 2},
            {"on": CANCEL, "lose_response": True, "times": 1},
        ]
    )
    (outcome,) = prober(aws).prove([order()])
    assert outcome.cancelled
    assert states(aws) == {"cancelled"}


def test_a_cancellation_that_is_refused_names_what_is_left(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": CANCEL, "error": "UnauthorizedOperation", "times": 10}])
    (outcome,) = prober(aws).prove([replace_lifetime(order(), 36_000)])
    assert not outcome.cancelled
    assert outcome.reservation_id == aws.reservations()[0]["CapacityReservationId"]


def replace_lifetime(one: ReservationOrder, seconds: float) -> ReservationOrder:
    from dataclasses import replace

    return replace(one, lifetime_s=seconds)


def test_an_interrupted_probe_cancels_before_it_ends(aws: LocalAws) -> None:
    aws.rehearse(
        faults=[
            {"on": CREATE, "lose_response": True, "times": 1},
            {"on": CREATE, "error": "RequestLimitExceeded"},
        ]
    )
    threading.Timer(0.05, aws.stop.set).start()
    with pytest.raises(InterruptedRunError):
        prober(aws).prove([order("a"), order("b")])
    assert states(aws) == {"cancelled"}


def test_an_interrupted_probe_that_cannot_cancel_says_what_still_costs_money(aws: LocalAws) -> None:
    aws.rehearse(
        faults=[
            {"on": CREATE, "lose_response": True, "times": 1},
            {"on": CREATE, "error": "RequestLimitExceeded"},
            {"on": CANCEL, "error": "UnauthorizedOperation"},
        ]
    )
    threading.Timer(0.05, aws.stop.set).start()
    with pytest.raises(LeftoversError) as caught:
        prober(aws).prove([replace_lifetime(order(), 36_000)])
    assert aws.reservations()[0]["CapacityReservationId"] in caught.value.message


def make(aws: LocalAws, **changes: Any) -> str:
    """A reservation by somebody, active until cancelled."""
    ec2 = aws.session().client("ec2", "us-east-2")
    given = {
        "InstanceType": G6, "InstancePlatform": "Linux/UNIX", "InstanceCount": 1, "AvailabilityZone": "us-east-2a",
    }  # fmt: skip
    made = ec2.create_capacity_reservation(**given, **changes)["CapacityReservation"]["CapacityReservationId"]
    time.sleep(0.05)  # until Describe shows it
    return str(made)


def tagged(**tags: str) -> list[dict[str, Any]]:
    rows = [{"Key": key.replace("__", ":"), "Value": value} for key, value in tags.items()]
    return [{"ResourceType": "capacity-reservation", "Tags": rows}]


def test_what_is_not_ours_is_never_cancelled(aws: LocalAws) -> None:
    aws.rehearse(blocks=[{"zone": "us-east-2b", "instance_type": "p5.48xlarge", "count": 2}])
    block = next(held for held in aws.reservations() if held["ReservationType"] == "capacity-block")
    for reservation_id in (make(aws), str(block["CapacityReservationId"])):
        with pytest.raises(UsageError, match="not ours to cancel"):
            prober(aws).cancel("us-east-2", reservation_id)
    assert not aws.calls("CancelCapacityReservation")


def test_ours_is_found_by_tags_and_cancelled(aws: LocalAws) -> None:
    make(aws)
    mine = make(aws, TagSpecifications=tagged(clusterctl__run="old", clusterctl__cluster="training"))
    reader = Ec2Reservations(aws.session())
    assert [one.reservation_id for one in reader.ours(["us-east-2", "us-west-2"])] == [mine]
    prober(aws).cancel("us-east-2", mine)
    assert reader.ours(["us-east-2"]) == ()
    found = reader.find("us-east-2", mine)
    assert found is not None
    assert found.state == "cancelled"
    assert reader.find("us-west-2", mine) is None
    prober(aws).cancel("us-east-2", mine)  # what is over stays over


LASTING = replace(order(), lifetime_s=36_000)  # longer than a starved machine takes at this speed


def test_a_hold_stays_active_with_an_end_date_of_its_own(aws: LocalAws) -> None:
    journal = Intents()
    outcome = prober(aws, journal).hold(LASTING)
    (made,) = aws.reservations()
    assert (made["State"], made["CapacityReservationId"]) == ("active", outcome.reservation_id)
    assert (outcome.available, outcome.held, outcome.cancelled) == (True, True, False)
    assert (made["EndDate"] - made["CreateDate"]).total_seconds() > 30_000
    assert journal.open == []


def test_a_hold_that_is_refused_leaves_nothing(aws: LocalAws) -> None:
    aws.rehearse(capacity={"us-east-2a": {G6: 1}})
    outcome = prober(aws).hold(LASTING)
    assert (outcome.available, outcome.held, outcome.cancelled) == (False, False, True)
    assert aws.reservations() == []


def test_a_lost_answer_makes_one_hold_and_not_two(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": CREATE, "lose_response": True, "times": 1}])
    outcome = prober(aws).hold(LASTING)
    assert outcome.held
    assert [one["CapacityReservationId"] for one in aws.reservations()] == [outcome.reservation_id]


class Killed(BaseException):
    """What no code of ours catches: the process is gone."""


class Deadly(Intents):
    """A journal in which the process dies before the first cancellation."""

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        with super().effect(name, facts):
            if name == "CancelCapacityReservation":
                raise Killed
            yield


def test_what_a_killed_run_has_made_is_found_by_its_intent_and_cancelled(aws: LocalAws) -> None:
    journal = Deadly()
    with pytest.raises(Killed):
        prober(aws, journal).prove([order()])
    other = order("a", count=3)
    with pytest.raises(Killed):
        prober(aws, Deadly()).prove([other])
    assert states(aws) == {"active"}
    intent = {**journal.begun[0][1], "run": "run-1"}
    (cancelled,) = prober(aws).cancel_made(intent)
    left = [one for one in aws.reservations() if one["State"] == "active"]
    assert [one["TotalInstanceCount"] for one in left] == [3]
    assert cancelled not in {one["CapacityReservationId"] for one in left}
    assert prober(aws).cancel_made(intent) == ()


def test_what_another_run_has_made_in_the_same_place_is_left_alone(aws: LocalAws) -> None:
    journal = Deadly()
    with pytest.raises(Killed):
        prober(aws, journal).prove([order()])
    assert prober(aws).cancel_made({**journal.begun[0][1], "run": "run-2"}) == ()
    assert states(aws) == {"active"}
