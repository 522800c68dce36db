"""The order in which places are tried, for any set of places and failures. Nothing is faked."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.capacity import Candidate, Source, Verdict
from clusterctl.model.decision import Decision, after_failures, nodes_of
from clusterctl.model.failures import Cause, classify
from clusterctl.model.fallback import MOST_LISTED, another_place_helps, next_place, nowhere
from fakes import group

TYPES = ("p5.48xlarge", "p4d.24xlarge")
REGIONS = ("us-east-2", "us-west-2")
NONE = classify("InsufficientInstanceCapacity", "none left")


def place(region: str, letter: str, kind: str) -> Candidate:
    return Candidate(
        region=region, zone=region + letter, zone_id=f"{region}-{letter}", instance_type=kind, nodes=2, offered=True,
        quota=None, needed_vcpus=384, spot_score=None, subnet="yes", source=Source.PROBE, verdict=Verdict.AVAILABLE,
        reason="", hourly_usd=110.0,
    )  # fmt: skip


EVERYWHERE = [place(region, letter, kind) for kind in TYPES for region in REGIONS for letter in "abc"]
RANKED = st.lists(st.sampled_from(EVERYWHERE), unique=True, max_size=12).map(
    lambda some: sorted(some, key=lambda one: TYPES.index(one.instance_type))
)


def walk(places: list[Candidate], here: str) -> list[Candidate]:
    """The places as they are tried when all of them fail; a region that is gone to becomes the one here."""
    seen: list[Candidate] = []
    left = list(places)
    while (following := next_place(left, here)) is not None:
        seen.append(following)
        left.remove(following)
        here = following.region
    return seen


@given(RANKED, st.sampled_from(REGIONS))
def test_every_place_is_tried_once(places: list[Candidate], here: str) -> None:
    assert sorted(walk(places, here), key=EVERYWHERE.index) == sorted(places, key=EVERYWHERE.index)


@given(RANKED, st.sampled_from(REGIONS))
def test_zones_come_before_regions_and_regions_before_types(places: list[Candidate], here: str) -> None:
    walked = walk(places, here)
    assert [one.instance_type for one in walked] == sorted((one.instance_type for one in walked), key=TYPES.index)
    for kind in TYPES:
        moves = sum(a.region != b.region for a, b in pairwise(one for one in walked if one.instance_type == kind))
        assert moves <= 1


def test_a_zone_that_ec2_names_comes_first_but_only_where_the_nodes_would_be_looked_for_next() -> None:
    east, west = EVERYWHERE[:3], EVERYWHERE[3:6]
    assert next_place((*east, *west), "us-east-2", ("us-east-2c",)) == east[2]
    assert next_place((*east, *west), "us-east-2", ("us-west-2c",)) == east[0]
    assert next_place((), "us-east-2") is None


@given(RANKED, st.sets(st.sampled_from(EVERYWHERE)))
def test_what_failed_is_no_longer_usable_and_keeps_its_reason(places: list[Candidate], failed: set[Candidate]) -> None:
    failures = {(one.region, one.instance_type, one.zone): NONE for one in failed}
    seen = after_failures(places, failures)
    assert len(seen) == len(places)
    assert {one.zone_id + one.instance_type for one in seen if not one.usable} == {
        one.zone_id + one.instance_type for one in places if one in failed
    }
    assert all(one.reason == "none left" for one in seen if not one.usable)
    assert [one.rank for one in seen] == list(range(1, len(seen) + 1))


@pytest.mark.parametrize(
    ("code", "helps"),
    [
        ("InsufficientInstanceCapacity", True), ("Unsupported", True), ("InsufficientFreeAddresses", True),
        ("VcpuLimitExceeded", False), ("UnauthorizedOperation", False), ("InvalidParameterValue", False),
        ("ExpiredToken", False), ("NodeCreationFailure", False), ("SomethingNew", False),
        ("PendingVerification", False),
    ],
)  # fmt: skip
def test_another_place_is_tried_only_for_what_a_place_can_lack(code: str, helps: bool) -> None:  # noqa: FBT001
    assert another_place_helps(classify(code), held=False) is helps


def test_a_reservation_that_fails_leaves_other_places_only_if_it_was_a_hold() -> None:
    failure = classify("ReservationCapacityExceeded")
    assert failure.cause is Cause.RESERVATION
    assert another_place_helps(failure, held=True)
    assert not another_place_helps(failure, held=False)


def test_when_no_place_is_left_each_is_in_the_document_and_some_are_in_the_line() -> None:
    full = [replace(one, verdict=Verdict.NO_CAPACITY, reason="full") for one in EVERYWHERE]
    error = nowhere(full, 2, "wait")
    assert error.exit_code == 3
    assert len(error.document["candidates"]) == len(error.details.splitlines()) == len(EVERYWHERE)
    assert f"and {len(EVERYWHERE) - MOST_LISTED} more" in error.message
    assert error.document["best"] is None


def test_what_is_paid_for_is_what_came_to_stand_and_before_that_the_best_place() -> None:
    decision = Decision(tuple(EVERYWHERE))
    fallen_back = group("ACTIVE", instance_type="p4d.24xlarge", desired=2)
    assert nodes_of(decision, None) == nodes_of(decision, group()) == ("us-east-2", "p5.48xlarge", 2)
    assert nodes_of(decision, fallen_back) == ("us-east-2", "p4d.24xlarge", 2)
    assert nodes_of(Decision(()), None) is None
