"""A limit on what an hour may cost is held before anything is made, place by place."""

from __future__ import annotations

import pytest

from clusterctl.errors import UsageError
from clusterctl.model.budget import Budget
from clusterctl.model.capacity import Candidate, Source, Verdict

SYSTEM = ("m7i.xlarge", 2)
PRICES = {"us-east-2": {"g6.12xlarge": 4.6, "p5.48xlarge": 55.04, "m7i.xlarge": 0.2}, "sa-east-1": {"m7i.xlarge": 0.3}}


def place(kind: str, rank: int, region: str = "us-east-2", verdict: Verdict = Verdict.UNKNOWN) -> Candidate:
    return Candidate(
        region, f"{region}a", "az1", kind, 2, offered=True, quota=None, needed_vcpus=96, spot_score=None,
        subnet="no-cluster", source=Source.UNPROBED, verdict=verdict, reason="", hourly_usd=None, rank=rank,
    )  # fmt: skip


RANKED = (place("p5.48xlarge", 1), place("g6.12xlarge", 2), place("g6.12xlarge", 3, verdict=Verdict.NO_CAPACITY))


def test_without_a_limit_nothing_is_touched() -> None:
    assert Budget(None, SYSTEM).hold(RANKED, {}) == RANKED


def test_a_place_that_is_too_dear_is_named_and_no_longer_used() -> None:
    held = Budget(20, SYSTEM).hold(RANKED, PRICES)
    assert [(one.instance_type, one.verdict, one.rank) for one in held] == [
        ("g6.12xlarge", Verdict.UNKNOWN, 1), ("p5.48xlarge", Verdict.SKIPPED, 2),
        ("g6.12xlarge", Verdict.NO_CAPACITY, 3),
    ]  # fmt: skip
    assert not held[1].usable
    assert "110.62 USD" in held[1].reason


def test_a_price_that_nobody_knows_is_not_within_a_limit() -> None:
    held = Budget(20, SYSTEM).hold((place("g6.12xlarge", 1, "sa-east-1"), *RANKED[1:]), PRICES)
    assert [one.region for one in held if one.usable] == ["us-east-2"]
    assert "unknown" in held[1].reason


def test_when_every_place_is_too_dear_the_cheapest_is_named() -> None:
    with pytest.raises(UsageError, match=r"9\.74 USD an hour is more than --max-hourly-usd 5") as caught:
        Budget(5, SYSTEM).hold(RANKED, PRICES)
    assert caught.value.hint


def test_places_without_capacity_are_not_called_too_dear() -> None:
    assert Budget(5, SYSTEM).hold(RANKED[2:], PRICES) == RANKED[2:]
