"""eksctl's log lines, in simulated time, and its way of waiting."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.state import StateFolder

if TYPE_CHECKING:
    from collections.abc import Callable

_SHORTEST_NAP_S = 0.04  # real; however fast simulated time runs, polling stays polite


def sandbox_clock() -> SimClock:
    """The sandbox's clock; real time outside of one."""
    folder = StateFolder.default()
    try:
        return SimClock.from_json(json.loads((folder.path / "clock.json").read_text()))
    except (OSError, ValueError, TypeError):
        return SimClock(real_origin=0.0, sim_origin=0.0, speed=1.0)


@dataclass(slots=True)
class Console:
    """Where the log goes: stdout, or stderr when stdout carries a document."""

    clock: SimClock = field(default_factory=sandbox_clock)
    stream: TextIO = field(default_factory=lambda: sys.stdout)

    def info(self, text: str) -> None:
        self._line("ℹ", text)

    def done(self, text: str) -> None:
        self._line("✔", text)

    def warn(self, text: str) -> None:
        self._line("!", text)

    def failed(self, text: str) -> None:
        self._line("✖", text)

    def _line(self, mark: str, text: str) -> None:
        self.stream.write(f"{self.clock.now():%Y-%m-%d %H:%M:%S} [{mark}]  {text}\n")
        self.stream.flush()

    def pause(self, seconds: float) -> None:
        """Sleep for simulated seconds."""
        time.sleep(max(self.clock.real_seconds(seconds), _SHORTEST_NAP_S))

    def wait_until(self, reached: Callable[[], bool], timeout_s: float, every_s: float = 20.0) -> bool:
        """Ask until it is so; False after simulated `timeout_s`."""
        deadline = self.clock.timestamp() + timeout_s
        while not reached():
            if self.clock.timestamp() >= deadline:
                return False
            self.pause(every_s)
        return True
