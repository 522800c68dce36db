"""How a Deployment moves replicas from old ReplicaSets to the new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.templates import share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.sandbox.kube.machines.kinds import Obj


@dataclass(frozen=True, slots=True)
class Size:
    """A ReplicaSet's wished and available replicas."""

    name: str
    replicas: int
    available: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a rolling update may stray from the wished number, in pods."""

    surge: int
    unavailable: int

    @classmethod
    def of(cls, spec: Obj) -> Bounds:
        rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
        wished = spec.get("replicas", 1)
        surge = share(rolling.get("maxSurge", "25%"), wished, up=True)
        unavailable = share(rolling.get("maxUnavailable", "25%"), wished, up=False)
        return cls(surge, unavailable if surge or unavailable else 1)


def rolling(wished: int, bounds: Bounds, new: Size, old: Sequence[Size]) -> dict[str, int]:
    """The next size of each ReplicaSet; old ones lose their broken pods first."""
    running = sum(one.replicas for one in old)
    room = wished + bounds.surge - running - new.replicas
    sizes = {new.name: min(wished, new.replicas + max(room, 0))}
    least = wished - bounds.unavailable
    removable = running + new.replicas - least - (new.replicas - new.available)
    kept = {one.name: one.replicas for one in old}
    for one in old:
        broken = min(one.replicas - one.available, max(removable, 0))
        kept[one.name] -= broken
        removable -= broken
    surplus = min(new.available + sum(one.available for one in old) - least, removable)
    for one in old:
        cut = min(kept[one.name], max(surplus, 0))
        kept[one.name] -= cut
        surplus -= cut
    return sizes | kept


def recreate(wished: int, new: Size, old: Sequence[Size], old_pods: int) -> dict[str, int]:
    """Everything old goes before anything new comes."""
    sizes = dict.fromkeys((one.name for one in old), 0)
    return {**sizes, new.name: wished if not old_pods else new.replicas}
