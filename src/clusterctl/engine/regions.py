"""Fall-back from region to region: that means another cluster, so what was made in the first region goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from clusterctl.engine.attempts import Attempts, RegionExhaustedError
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import RunResult, StageResult


@dataclass(frozen=True, slots=True)
class Rounds:
    """How a deployment is run once, and how all that it has made in a region is removed and seen gone."""

    deploy: Callable[[Outputs], RunResult]
    leave: Callable[[RegionExhaustedError], RunResult]


def deploy_somewhere(rounds: Rounds, outputs: Outputs) -> RunResult:
    """Deploy, and deploy again elsewhere as long as a region says that it has no room and names the next one.

    What cannot be removed ends the run: going on would leak. No place is tried twice, so this comes to an end.
    """
    attempts, done = Attempts(), tuple[StageResult, ...]()
    while True:
        result = rounds.deploy(outputs.with_value(attempts))
        done = _merged(done, result.stages)
        stuck = len(result.attempts.tried) == len(attempts.tried)
        attempts = result.attempts
        if stuck or not isinstance(result.error, RegionExhaustedError):
            return replace(result, stages=done)
        left = rounds.leave(result.error)
        done = _merged(done, tuple(one for one in left.stages if one.actions))
        if left.error:
            return replace(result, stages=done, error=left.error)


def _merged(before: tuple[StageResult, ...], after: tuple[StageResult, ...]) -> tuple[StageResult, ...]:
    """One result for each stage: what all rounds did, and how the last one ended."""
    known = {one.name: one for one in before}
    for one in after:
        earlier = known.get(one.name, StageResult(one.name, "skipped"))
        seconds, actions = earlier.seconds + one.seconds, (*earlier.actions, *one.actions)
        known[one.name] = StageResult(one.name, _status(one, actions), seconds, actions)
    return tuple(known.values())


def _status(newest: StageResult, actions: tuple[str, ...]) -> str:
    return "done" if newest.status == "unchanged" and actions else newest.status
