"""A zone that cannot take the nodes is refused with the zones that can, before anybody looks for capacity in it."""

from __future__ import annotations

from clusterctl.errors import UsageError
from clusterctl.model.capacity import Question, RegionFacts, Zone
from clusterctl.model.validity import check_zones

A, B, C = (Zone(f"us-east-2{letter}", f"use2-az{number}") for number, letter in enumerate("abc", start=1))
OFFERED = frozenset(("g6.12xlarge", zone.zone_id) for zone in (A, B))


def asked(*zones: str) -> Question:
    return Question(("g6.12xlarge",), 2, ("us-east-2",), zones=zones, cluster="training")


def facts(subnets: dict[str, str] | None) -> list[RegionFacts]:
    return [RegionFacts("us-east-2", (A, B, C), {}, OFFERED, subnets=subnets)]


def refusal(question: Question, answers: list[RegionFacts]) -> tuple[str, str]:
    """What is said against the zones asked for, with the hint; nothing where they can be had."""
    try:
        check_zones(question, answers)
    except UsageError as problem:
        return problem.message, problem.hint
    return "", ""


def test_a_zone_without_a_private_subnet_of_the_cluster_is_refused_with_those_that_have_one() -> None:
    message, hint = refusal(asked("us-east-2b"), facts({A.name: "subnet-a"}))
    assert message == "cluster training has no private subnet in us-east-2b (use2-az2)"
    assert hint == "choose from us-east-2a"


def test_a_zone_that_does_not_offer_the_type_is_refused_with_those_that_do() -> None:
    message, hint = refusal(asked("use2-az3"), facts(None))
    assert message == "us-east-2c (use2-az3) does not offer g6.12xlarge"
    assert hint == "choose from us-east-2a, us-east-2b"


def test_one_zone_that_can_take_the_nodes_is_enough() -> None:
    assert refusal(asked("us-east-2c", "us-east-2a"), facts({A.name: "subnet-a"})) == ("", "")


def test_without_a_cluster_no_subnet_is_missing() -> None:
    assert refusal(asked("us-east-2b"), facts(None)) == ("", "")
