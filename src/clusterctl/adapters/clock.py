"""The clock of a run: real or simulated time, and a sleep that ends when the run is asked to stop."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event
from typing import Protocol

from clusterctl.errors import InterruptedRunError


class TimeBase(Protocol):
    """Where time comes from: the wall, or the sandbox."""

    def now(self) -> datetime: ...
    def real_seconds(self, seconds: float) -> float: ...


class WallTime:
    """Time as it is."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def real_seconds(self, seconds: float) -> float:
        return seconds


class RunClock:
    """The Clock port. Setting `stop` wakes every sleeper with InterruptedRunError."""

    def __init__(self, base: TimeBase, stop: Event) -> None:
        self._base = base
        self._stop = stop

    def now(self) -> datetime:
        return self._base.now()

    def sleep(self, seconds: float) -> None:
        if self._stop.wait(self._base.real_seconds(max(seconds, 0.0))):
            raise InterruptedRunError(
                "interrupted", hint="run the same command again to go on from here; clusterctl teardown removes it all"
            )
