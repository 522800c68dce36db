"""The clock of a run: sleeping takes the base's real seconds, and a stop wakes every sleeper."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from clusterctl.adapters.clock import RunClock, WallTime
from clusterctl.errors import InterruptedRunError


class FastTime:
    """A thousand seconds in each real one."""

    def now(self) -> datetime:
        return datetime(2026, 11, 30, tzinfo=UTC)

    def real_seconds(self, seconds: float) -> float:
        return seconds / 1000


def test_a_sleep_takes_the_real_seconds_of_its_time_base() -> None:
    start = time.monotonic()
    RunClock(FastTime(), threading.Event()).sleep(50)
    assert 0.04 <= time.monotonic() - start < 5


def test_a_sleep_of_less_than_nothing_is_none() -> None:
    start = time.monotonic()
    RunClock(WallTime(), threading.Event()).sleep(-5)
    assert time.monotonic() - start < 1


def test_a_stop_wakes_every_sleeper_at_once() -> None:
    stop, woken = threading.Event(), []
    clock = RunClock(WallTime(), stop)

    def sleep() -> None:
        try:
            clock.sleep(60)
        except InterruptedRunError as problem:
            woken.append(problem.exit_code)

    sleepers = [threading.Thread(target=sleep) for _ in range(3)]
    for one in sleepers:
        one.start()
    stop.set()
    for one in sleepers:
        one.join(10)
    assert woken == [130, 130, 130]


def test_after_a_stop_no_sleep_begins() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedRunError, match="interrupted") as caught:
        RunClock(WallTime(), stop).sleep(0)
    assert "run the same command again" in caught.value.hint


def test_the_walls_time_has_its_zone() -> None:
    now = WallTime().now()
    assert now.utcoffset() == timedelta(0)
    assert RunClock(FastTime(), threading.Event()).now() == FastTime().now()
