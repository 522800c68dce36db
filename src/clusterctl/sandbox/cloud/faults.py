"""Faults that wait for their moment, counted down as they strike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.sandbox.scenario import Fault

_SELECTORS = ("region", "zone", "instance_type", "name", "crash_before", "crash_after")
Facts = Mapping[str, Collection[str]]
"""selector -> the values that a call has for it (a zone has a name and an id)."""


@dataclass(slots=True)
class _Waiting:
    fault: Fault
    left: int | None  # None: for ever

    def strikes(self, on: str, facts: Facts) -> bool:
        is_alive = self.left is None or self.left > 0
        return is_alive and fnmatchcase(on, self.fault.on) and _selected(self.fault, facts)


def _selected(fault: Fault, facts: Facts) -> bool:
    wanted = {key: value for key in _SELECTORS if (value := getattr(fault, key)) is not None}
    return all(_any_matches(facts.get(key, ()), pattern) for key, pattern in wanted.items())


def _any_matches(values: Collection[str], pattern: str) -> bool:
    return any(fnmatchcase(value, pattern) for value in values)


class FaultBook:
    """The faults of a scenario and those added since; the first that matches strikes."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []

    def replace(self, faults: Iterable[Fault]) -> None:
        self._waiting = [_Waiting(fault, fault.times) for fault in faults]

    def add(self, faults: Iterable[Fault]) -> None:
        self._waiting += [_Waiting(fault, fault.times) for fault in faults]

    def take(self, on: str, facts: Facts) -> Fault | None:
        """The fault that strikes `on` ("ec2:CreateTags", "eksctl:create-nodegroup"), counted down."""
        struck = next((waiting for waiting in self._waiting if waiting.strikes(on, facts)), None)
        if struck is None:
            return None
        if struck.left is not None:
            struck.left -= 1
        return struck.fault

    def peek(self, on: str) -> Fault | None:
        """The fault that would strike `on` whatever its region, zone, type and name are; nothing is counted."""
        return next((waiting.fault for waiting in self._waiting if waiting.strikes(on, {})), None)

    def rows(self) -> list[dict[str, object]]:
        """The faults that can still strike, with `times` as left."""
        alive = [w for w in self._waiting if w.left is None or w.left > 0]
        return [w.fault.model_dump(exclude_none=True) | ({"times": w.left} if w.left else {}) for w in alive]
