"""Lets a process die at a side effect of its own, as a scenario says: nothing is cleaned up, and nothing is said."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from clusterctl.ports import Journal
from clusterctl.sandbox import lifecycle
from clusterctl.sandbox.scenario import PROCESS
from clusterctl.sandbox.state import SandboxRecord

Strikes = Callable[[str, str], bool]  # (crash_before | crash_after, effect) -> whether a fault is due


class CrashingJournal:
    """A Journal whose every effect is a chance to die: the intent is on disk then, and the outcome is not."""

    def __init__(self, journal: Journal, strikes: Strikes, die: Callable[[], None]) -> None:
        self._journal = journal
        self._strikes = strikes
        self._die = die

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        with self._journal.effect(name, facts):
            self._at("crash_before", name)
            yield
            self._at("crash_after", name)

    def unsettled(self) -> tuple[Mapping[str, str], ...]:
        return self._journal.unsettled()

    def settle(self, intent: Mapping[str, str]) -> None:
        self._journal.settle(intent)

    def clear(self) -> None:
        self._journal.clear()

    def _at(self, moment: str, name: str) -> None:
        if self._strikes(moment, name):
            self._die()


def crashing(record: SandboxRecord) -> Callable[[Journal], Journal]:
    """Wraps the journal of a run in the sandbox of `record`."""

    def strikes(moment: str, name: str) -> bool:
        return bool(lifecycle.control(record, "sandbox/take-fault", {"on": PROCESS, moment: name})["fault"])

    return lambda journal: CrashingJournal(journal, strikes, kill_self)


def kill_self() -> None:
    """SIGKILL, which no handler sees."""
    os.kill(os.getpid(), signal.SIGKILL)
