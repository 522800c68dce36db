"""The log of AWS calls, so that a test can say that planning changes nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

_KEPT = 20_000
_READING = ("Describe", "Get", "List", "Search", "Lookup", "Head", "Validate", "Simulate", "Decode", "Check")
_READING_ACTIONS = {"AssumeRole", "FilterLogEvents"}


@dataclass(frozen=True, slots=True)
class Call:
    """One AWS call; `at` is simulated, `error` its code or None, `agent` the program that made it."""

    at: float
    service: str
    action: str
    region: str
    mutating: bool
    error: str | None
    agent: str


def is_mutating(action: str) -> bool:
    """Whether a call may change something, judged by its name as AWS' own throttling does."""
    return not action.startswith(_READING) and action not in _READING_ACTIONS


class CallLog:
    """The latest calls, oldest first."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque(maxlen=_KEPT)

    def add(self, call: Call) -> None:
        self._calls.append(call)

    def clear(self) -> None:
        self._calls.clear()

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(call) for call in list(self._calls)]
