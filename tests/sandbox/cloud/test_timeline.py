"""Jobs in simulated time. The clock is real and fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.cloud.timeline import Timeline


@pytest.fixture
def timeline() -> Iterator[Timeline]:
    running = Timeline(SimClock.starting_now(speed=1000))
    running.start()
    yield running
    running.stop()


def test_jobs_run_in_the_order_of_their_time(timeline: Timeline) -> None:
    seen: list[str] = []
    done = threading.Event()
    timeline.schedule(60, done.set)
    timeline.schedule(40, lambda: seen.append("later"))
    timeline.schedule(20, lambda: seen.append("sooner"))
    assert done.wait(5)
    assert seen == ["sooner", "later"]


def test_a_cancelled_job_never_runs(timeline: Timeline) -> None:
    seen: list[str] = []
    done = threading.Event()
    timeline.schedule(20, lambda: seen.append("cancelled")).cancel()
    timeline.schedule(40, done.set)
    assert done.wait(5)
    assert seen == []


def test_a_job_waits_for_the_lock_of_the_world(timeline: Timeline) -> None:
    done = threading.Event()
    with timeline.lock:
        timeline.schedule(0, done.set)
        assert not done.wait(0.1)
    assert done.wait(5)


def test_a_failing_job_does_not_stop_time(timeline: Timeline) -> None:
    done = threading.Event()
    timeline.schedule(0, lambda: 1 / 0)
    timeline.schedule(10, done.set)
    assert done.wait(5)


def test_waiting_for_a_change_ends_with_the_change(timeline: Timeline) -> None:
    before = timeline.version
    timeline.schedule(50, timeline.changed)
    started = time.monotonic()
    assert timeline.wait_for_change(before, real_seconds=10) == before + 1
    assert time.monotonic() - started < 5


def test_waiting_in_vain_ends_with_the_old_version(timeline: Timeline) -> None:
    before = timeline.version
    assert timeline.wait_for_change(before, real_seconds=0.05) == before
