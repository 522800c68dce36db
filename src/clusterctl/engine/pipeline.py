"""Runs stages as soon as what they need is there, each until it has nothing left to change."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

from clusterctl.engine.actions import Action, Plan
from clusterctl.engine.attempts import Attempts, PlaceFailedError
from clusterctl.engine.events import (
    ActionDone,
    ActionStarted,
    EventSink,
    PlaceFailed,
    RunStarted,
    StageEnded,
    StageStarted,
    Waiting,
)
from clusterctl.engine.executor import Executor
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.stage import Forgiving, Judge, Stage
from clusterctl.engine.undoing import UndoneError
from clusterctl.engine.waiting import look_until
from clusterctl.errors import ClusterctlError, InterruptedRunError, StageIncompleteError
from clusterctl.ports import Clock

AnyStage = Stage[Any]
LOOK_EVERY_S = 15.0
MOST_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class StagePlan:
    """What a stage would do, given what the stages before it would leave."""

    stage: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Preview:
    """A whole plan, and what the world would look like after it."""

    plans: tuple[StagePlan, ...]
    outputs: Outputs


@dataclass(frozen=True, slots=True)
class StageResult:
    """How a stage ended: done, unchanged, failed or skipped."""

    name: str
    status: str
    seconds: float = 0.0
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """All that a run did. `error` is the first failure, None when every stage converged."""

    outputs: Outputs
    stages: tuple[StageResult, ...]
    attempts: Attempts = field(default_factory=Attempts)
    error: BaseException | None = None


@dataclass(slots=True)
class _StageRun:
    stage: AnyStage
    inputs: Outputs
    actions: list[str] = field(default_factory=list)
    attempts: Attempts = field(default_factory=Attempts)
    observed: Any = None
    seconds: float = 0.0


class Pipeline:
    """A graph of stages: an edge wherever one requires the type that another provides."""

    def __init__(self, stages: Sequence[AnyStage], executor: Executor, clock: Clock, emit: EventSink) -> None:
        self._stages = {stage.name: stage for stage in stages}
        self._executor = executor
        self._clock = clock
        self._emit = emit

    def preview(self, outputs: Outputs) -> Preview:
        """Read the world and say what would be done. Changes nothing."""
        plans = []
        for name in self._graph().static_order():
            stage = self._stages[name]
            inputs = outputs.only(stage.requires)
            observed = stage.observe(inputs)
            plan = stage.plan(inputs, observed)
            plans.append(StagePlan(name, plan))
            changes = plan or stage.waiting_for(inputs, observed)
            outputs = outputs.with_value(stage.expect(inputs, observed) if changes else observed)
        return Preview(tuple(plans), outputs)

    def apply(self, outputs: Outputs) -> RunResult:
        """Run every stage to its end. A failure lets running stages finish and starts no new ones.

        Attempts that `outputs` holds are of an earlier round: every stage sees them beside its own.
        """
        graph = self._graph()
        graph.prepare()
        self._emit(RunStarted(self._clock.now(), self._needs()))
        results: dict[str, StageResult] = {}
        before = outputs[Attempts] if Attempts in outputs else Attempts()
        attempts, error = before, None
        with ThreadPoolExecutor(max_workers=len(self._stages)) as pool:
            running: dict[Future[StageResult], _StageRun] = {}
            while graph.is_active() and (running or error is None):
                for name in graph.get_ready() if error is None else ():
                    stage = self._stages[name]
                    run = _StageRun(stage, outputs.only(stage.requires), attempts=before)
                    running[pool.submit(self._run_stage, run)] = run
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    run = running.pop(future)
                    results[run.stage.name], problem = self._result(run, future)
                    attempts = attempts.plus(*run.attempts.since(before))
                    if problem is None:
                        outputs = outputs.with_value(run.observed)
                        graph.done(run.stage.name)
                    error = _graver(error, problem)
        skipped = {name: StageResult(name, "skipped") for name in self._stages}
        ordered = tuple((skipped | results)[name] for name in self._graph().static_order())
        return RunResult(outputs, ordered, attempts, error)

    def _graph(self) -> TopologicalSorter[str]:
        return TopologicalSorter(self._edges())

    def _edges(self) -> dict[str, list[str]]:
        makers = {stage.provides: stage.name for stage in self._stages.values()}
        return {
            stage.name: [makers[kind] for kind in stage.requires if kind in makers and kind is not stage.provides]
            for stage in self._stages.values()
        }

    def _needs(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        edges = self._edges()
        return tuple((name, tuple(edges[name])) for name in TopologicalSorter(edges).static_order())

    def _result(self, run: _StageRun, future: Future[StageResult]) -> tuple[StageResult, BaseException | None]:
        problem = future.exception()
        if problem is None:
            return future.result(), None
        return StageResult(run.stage.name, "failed", run.seconds, tuple(run.actions)), problem

    def _run_stage(self, run: _StageRun) -> StageResult:
        name, start = run.stage.name, self._clock.now()
        self._emit(StageStarted(start, name))
        status, message = "failed", ""
        try:
            run.observed = self._converge(run)
            status = "done" if run.actions else "unchanged"
        except BaseException as problem:
            message = str(problem)
            raise
        finally:
            end = self._clock.now()
            run.seconds = (end - start).total_seconds()
            self._emit(StageEnded(end, name, status, run.seconds, message))
        return StageResult(name, status, run.seconds, tuple(run.actions))

    def _converge(self, run: _StageRun) -> object:
        stage = run.stage
        for _ in range(MOST_ROUNDS):
            self._clock.sleep(0)  # raises if the run is asked to stop
            inputs = run.inputs.with_value(run.attempts)
            observed = stage.observe(inputs)
            plan = stage.plan(inputs, observed)
            if not plan:
                settled, again = self._await(stage, inputs, observed)
                if not again:
                    return settled
                continue
            try:
                self._execute(run, plan)
            except PlaceFailedError as failure:
                run.attempts = run.attempts.plus(failure.attempt)
                self._emit(PlaceFailed(self._clock.now(), stage.name, failure.attempt.zone, failure.attempt.reason))
        raise StageIncompleteError(
            f"stage {stage.name} keeps finding something to change", hint=f"clusterctl {stage.name} --plan"
        )

    def _execute(self, run: _StageRun, plan: Plan) -> None:
        for action in plan:
            self._perform(run, action)

    def _perform(self, run: _StageRun, action: Action) -> None:
        name = run.stage.name
        self._clock.sleep(0)
        self._emit(ActionStarted(self._clock.now(), name, action))
        try:
            self._executor.execute(action, lambda words: self._emit(Waiting(self._clock.now(), name, words)))
        except ClusterctlError as problem:
            if not (isinstance(run.stage, Forgiving) and run.stage.forgives(action, problem)):
                raise
            self._emit(Waiting(self._clock.now(), name, problem.message))
            return
        run.actions.append(str(action))
        self._emit(ActionDone(self._clock.now(), name, action))

    def _await(self, stage: AnyStage, inputs: Outputs, observed: Any) -> tuple[Any, bool]:
        """Wait for a stage to settle. Returns what was seen, and True if there is something to do again."""
        if not stage.waiting_for(inputs, observed):
            return observed, False

        def look() -> Any:
            seen = stage.observe(inputs)
            self._emit(Waiting(self._clock.now(), stage.name, stage.waiting_for(inputs, seen)))
            return seen

        def settled(seen: Any) -> bool:
            return bool(stage.plan(inputs, seen)) or not stage.waiting_for(inputs, seen)

        seen = look_until(self._clock, look, settled, every_s=LOOK_EVERY_S, limit_s=stage.patience_s)
        if stage.plan(inputs, seen):
            return seen, True
        if reason := stage.waiting_for(inputs, seen):
            if isinstance(stage, Judge):
                raise stage.verdict(inputs, seen)
            raise StageIncompleteError(
                f"stage {stage.name}: {reason}", hint=f"clusterctl {stage.name} goes on from here"
            )
        return seen, False


def _graver(first: BaseException | None, then: BaseException | None) -> BaseException | None:
    """The first failure is the cause of later ones. But of those that Ctrl-C ends, the one with most to say counts."""
    problems = [one for one in (first, then) if one]
    return min(problems, key=_place, default=None)


def _place(problem: BaseException) -> int:
    if isinstance(problem, UndoneError):
        return 1
    return 2 if isinstance(problem, InterruptedRunError) else 0
