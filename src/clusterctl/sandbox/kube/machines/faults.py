"""What the scenario wants to go wrong with workloads and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.sandbox.clock import SimClock
    from clusterctl.sandbox.kube.access import TakeFault
    from clusterctl.sandbox.kube.machines.kinds import Obj

ASK_AGAIN_S = 60.0  # simulated; a fault that holds is asked for again, so that it can run out or be taken back


@dataclass(frozen=True, slots=True)
class _Answer:
    outcome: str | None
    asked_at: float
    generation: int


class FaultBook:
    """Remembers, for each object, the outcome the scenario asked for (`never-scheduled`, `crash-loop`, `not-ready`).

    The scenario is asked once for each generation of a healthy object, and every simulated minute for a faulty one;
    so `times: N` keeps something broken for N minutes.
    """

    def __init__(self, take: TakeFault, clock: SimClock, region: str) -> None:
        self._take = take
        self._clock = clock
        self._region = region
        self._answers: dict[str, _Answer] = {}

    async def outcome(self, obj: Obj, aliases: tuple[str, ...] = (), **selectors: str) -> str | None:
        """The outcome for `kube:<kind>/<name>`, or for one of its aliases."""
        meta, now = obj["metadata"], self._clock.timestamp()
        known, generation = self._answers.get(meta["uid"]), meta.get("generation", 1)
        if known and known.generation == generation and not _stale(known, now):
            return known.outcome
        outcome = await self._ask(obj["kind"].lower(), (meta["name"], *aliases), selectors)
        self._answers[meta["uid"]] = _Answer(outcome, now, generation)
        return outcome

    def recheck(self, obj: Obj) -> None:
        """Ask anew the next time."""
        self._answers.pop(obj["metadata"]["uid"], None)

    async def _ask(self, kind: str, names: tuple[str, ...], selectors: dict[str, str]) -> str | None:
        for name in names:
            fault = await self._take(f"kube:{kind}/{name}", region=self._region, name=name, **selectors)
            if fault and fault.get("outcome"):
                return str(fault["outcome"])
        return None


def _stale(answer: _Answer, now: float) -> bool:
    return answer.outcome is not None and now - answer.asked_at >= ASK_AGAIN_S
