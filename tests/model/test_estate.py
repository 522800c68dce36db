"""What is over and what is not: judged by marks and time alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from clusterctl.model.capacity import PROBE, TAG_PURPOSE
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_RUN
from clusterctl.model.estate import Estate, Lease, Marked, MarkedKind, Rules, estates_of, is_marked, judge

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
OURS = {TAG_RUN: "r1", TAG_CLUSTER: "training"}


def thing(kind: MarkedKind, name: str = "", *, expires: str = "", age: float = 2.0, **facts: object) -> Marked:
    """Something marked; `age` in hours, `expires` as the tag spells it."""
    tags = OURS | ({TAG_EXPIRES: expires} if expires else {})
    return replace(Marked(kind, name or kind.value, tags, NOW - timedelta(hours=age), name), **facts)  # type: ignore[arg-type]


def at(hours: float) -> str:
    return (NOW + timedelta(hours=hours)).isoformat(timespec="seconds")


def estate(*things: Marked) -> Estate:
    return Estate("us-east-2", "training", things)


def verdict(*things: Marked, older_than: float | None = None) -> tuple[bool, dict[str, str]]:
    age = None if older_than is None else timedelta(hours=older_than)
    judgement = judge(estate(*things), Rules(NOW, age))
    return judgement.goes, judgement.strays


CLUSTER, STACK, HELD = MarkedKind.CLUSTER, MarkedKind.STACK, MarkedKind.RESERVATION


@pytest.mark.parametrize(("hours", "goes"), [(-1, True), (0, True), (0.01, False), (48, False)])
def test_a_cluster_goes_once_its_own_expiry_has_passed(hours: float, *, goes: bool) -> None:
    assert verdict(thing(CLUSTER, expires=at(hours)))[0] is goes


def test_a_cluster_that_was_extended_outlives_the_tags_of_its_stacks() -> None:
    assert not verdict(thing(STACK, "eksctl-training-cluster", expires=at(-3)), thing(CLUSTER, expires=at(3)))[0]


def test_what_outlived_its_cluster_goes_by_the_latest_expiry_of_all() -> None:
    old, young = thing(STACK, "s1", expires=at(-3)), thing(STACK, "s2", expires=at(1))
    assert not verdict(old, young)[0]
    assert verdict(old, thing(STACK, "s2", expires=at(-1)))[0]


def test_a_cluster_without_an_expiry_stays_for_ever() -> None:
    assert verdict(thing(CLUSTER, age=24 * 365)) == (False, {})


@pytest.mark.parametrize(("age", "goes"), [(7, True), (5, False)])
def test_a_cluster_without_an_expiry_goes_by_age_only_where_an_age_is_said(age: float, *, goes: bool) -> None:
    assert verdict(thing(CLUSTER, age=age), older_than=6)[0] is goes


def test_an_age_never_beats_an_expiry_that_has_not_come() -> None:
    assert not verdict(thing(CLUSTER, age=100, expires=at(1)), older_than=6)[0]


@pytest.mark.parametrize("text", ["soon", "2026-13-45", "0"])
def test_an_expiry_that_nobody_can_read_has_not_passed(text: str) -> None:
    judgement = judge(estate(thing(CLUSTER, expires=text)), Rules(NOW, timedelta(hours=1)))
    assert not judgement.acts
    assert "no date" in judgement.why


def test_an_expiry_without_a_zone_is_utc() -> None:
    assert verdict(thing(CLUSTER, expires="2026-11-30T11:59:00"))[0]
    assert not verdict(thing(CLUSTER, expires="2026-11-30T12:01:00"))[0]


def test_a_reservation_held_for_nobody_is_a_stray_after_an_hour() -> None:
    assert verdict(thing(HELD, "cr-1", age=0.9)) == (False, {})
    assert verdict(thing(HELD, "cr-1", age=1.1))[1] == {"cr-1": "held for a cluster that is not there"}
    assert verdict(thing(HELD, "cr-1", age=1.1), older_than=6) == (False, {})


def test_a_reservation_of_a_cluster_that_stands_or_is_being_made_stays() -> None:
    assert verdict(thing(HELD, "cr-1", age=9), thing(STACK, "eksctl-training-cluster")) == (False, {})


def test_a_reservation_that_instances_run_in_is_never_a_stray() -> None:
    assert verdict(thing(HELD, "cr-1", age=9, used=True)) == (False, {})


@pytest.mark.parametrize(("age", "stray"), [(0.2, False), (0.3, True)])
def test_a_probe_is_a_stray_once_no_living_run_can_want_it(age: float, *, stray: bool) -> None:
    probe = thing(HELD, "cr-1", age=age)
    probe = replace(probe, tags={**probe.tags, TAG_PURPOSE: PROBE})
    assert bool(verdict(probe, thing(CLUSTER))[1]) is stray


def test_a_held_reservation_goes_with_its_own_expiry() -> None:
    assert verdict(thing(HELD, "cr-1", age=0.1, expires=at(-1)))[0]
    assert verdict(thing(HELD, "cr-1", age=99, expires=at(1))) == (False, {})


@pytest.mark.parametrize(
    "tags", [{}, {TAG_RUN: "r"}, {TAG_CLUSTER: "training"}, {TAG_RUN: "", TAG_CLUSTER: "training"}]
)
def test_one_mark_alone_marks_nothing(tags: dict[str, str]) -> None:
    assert not is_marked(tags)


def test_things_are_told_apart_by_the_cluster_that_their_marks_name() -> None:
    other = replace(thing(CLUSTER), tags=OURS | {TAG_CLUSTER: "other"})
    found = estates_of("us-east-2", [thing(CLUSTER), other], ["other"])
    assert [(one.cluster, one.foreign) for one in found] == [("other", True), ("training", False)]


def test_node_groups_are_known_by_eks_and_by_their_stacks_but_for_the_system_one() -> None:
    things = [
        thing(MarkedKind.NODEGROUP, "gpu"), thing(STACK, "eksctl-training-nodegroup-gpu2"),
        thing(STACK, "eksctl-training-nodegroup-system"), thing(STACK, "eksctl-training-cluster"),
    ]  # fmt: skip
    assert estate(*things).nodegroups == ("gpu", "gpu2")


def test_a_lease_moves_all_but_stacks_and_what_says_so_already() -> None:
    things = (
        thing(CLUSTER, "c", expires="old"),
        thing(STACK, "s"),
        thing(HELD, "cr-1"),
        thing(HELD, "cr-2", expires="new"),
    )
    assert Lease(estate(*things), None, "old", "new").late == ("c", "cr-1")
