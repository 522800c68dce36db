"""The one loop that waits: as long as it is told, in looks and not in seconds of a slow machine."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.engine.waiting import look_until
from clusterctl.errors import InterruptedRunError
from fakes import FakeClock, script


def test_the_first_look_comes_at_once_and_ends_it_if_all_is_well() -> None:
    clock = FakeClock()
    assert look_until(clock, lambda: "well", lambda seen: seen == "well", every_s=15, limit_s=60) == "well"
    assert clock.slept_s == 0


def test_what_was_seen_last_is_returned_when_the_limit_comes() -> None:
    clock = FakeClock()
    look = script("one", "two", "three", "four", "five")
    assert look_until(clock, look, lambda seen: False, every_s=15, limit_s=60) == "four"


@given(st.integers(1, 60), st.integers(0, 600))
def test_it_never_sleeps_longer_than_the_limit(every: int, limit: int) -> None:
    clock, looks = FakeClock(), []
    look_until(clock, lambda: looks.append(1), lambda seen: False, every_s=every, limit_s=limit)
    assert clock.slept_s <= limit
    assert len(looks) == max(1, math.ceil(limit / every))


def test_a_look_that_fails_is_not_tried_again() -> None:
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        look_until(FakeClock(), look, lambda seen: False, every_s=15, limit_s=60)
    assert len(looks) == 1


def test_an_interrupted_clock_ends_the_waiting() -> None:
    with pytest.raises(InterruptedRunError):
        look_until(FakeClock(20), lambda: 1, lambda seen: False, every_s=15, limit_s=600)
