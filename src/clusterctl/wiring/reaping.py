"""What `clusterctl reap` works with: the marks on AWS alone, and a teardown's stages for each cluster that is over."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from clusterctl.adapters.aws.marks import MarkSearch
from clusterctl.adapters.aws.regions import Regions
from clusterctl.adapters.clock import RunClock
from clusterctl.adapters.placement_file import PlacementFile
from clusterctl.adapters.run_lock import run_lock
from clusterctl.adapters.setting_layers import environment_layer, flag_layer, project_layer
from clusterctl.engine.events import EventSink, Notice
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult, StagePlan
from clusterctl.engine.reaping import Reaped
from clusterctl.engine.waiting import look_until
from clusterctl.errors import BusyError, as_error
from clusterctl.model.estate import Estate, Judgement, Rules, Sweep, judge
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings, resolve
from clusterctl.model.target import Target
from clusterctl.ports import Identity
from clusterctl.stages.reap import StraysGoneStage
from clusterctl.wiring.bench import new_run_id, user_name
from clusterctl.wiring.stopping import stopping
from clusterctl.wiring.tools import Tools, build_tools
from clusterctl.wiring.world import World, open_world, patient_sleep

CLUSTERS_AT_ONCE = 4  # each teardown asks AWS all the time; accounts are throttled as a whole
LOCK_EVERY_S = 2.0
LOCK_LIMIT_S = 90 * 60.0  # a teardown takes half an hour, and another run may be at one
SinkFor = Callable[[Estate], EventSink]


@dataclass(frozen=True, slots=True)
class ReapAsk:
    """What the command line says."""

    sandbox: bool
    scenario: Path | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    all_regions: bool = False
    older_than: timedelta | None = None


class Reaper:
    """Looks by marks, and takes away what is over. One cluster that fails does not stop the others."""

    def __init__(self, ask: ReapAsk, world: World, clock: RunClock) -> None:
        self._ask = ask
        self._world = world
        self.clock = clock
        layers = (flag_layer(ask.flags), environment_layer(os.environ), project_layer(Path.cwd()))
        self.settings: Settings = resolve(layers).settings
        self._marks = MarkSearch(world.session)

    @cached_property
    def identity(self) -> Identity:
        return self._world.session.identity()

    @cached_property
    def regions(self) -> tuple[str, ...]:
        """Raises UsageError for a region that does not exist or is not enabled."""
        known = Regions(self._world.session)
        if self._ask.all_regions:
            return known.enabled()
        known.check(self.settings.search_regions)
        return self.settings.search_regions

    def sweep(self) -> Sweep:
        _ = self.identity
        return self._marks.sweep(self.regions)

    def judge(self, estate: Estate) -> Judgement:
        return judge(estate, Rules(self.clock.now(), self._ask.older_than))

    def preview(self, judgement: Judgement) -> tuple[StagePlan, ...]:
        with self._tools(judgement.estate) as tools:
            runs = [
                pipeline.preview(outputs).plans for pipeline, outputs in self._work(judgement, tools, lambda _: None)
            ]
        return tuple(plan for plans in runs for plan in plans)

    def reap(self, judgements: Sequence[Judgement], sink_for: SinkFor) -> tuple[Reaped, ...]:
        """Side by side, but for clusters of one name: their runs share a lock."""
        by_name: dict[str, list[Judgement]] = {}
        for one in judgements:
            by_name.setdefault(one.estate.cluster, []).append(one)
        with ThreadPoolExecutor(max_workers=CLUSTERS_AT_ONCE) as pool:
            groups = pool.map(lambda group: [self._one(one, sink_for) for one in group], by_name.values())
            return tuple(one for group in groups for one in group)

    def _one(self, judgement: Judgement, sink_for: SinkFor) -> Reaped:
        """Judged anew once nobody else works on it: it may have been extended, or be gone."""
        estate = judgement.estate
        try:
            with self._lock(estate):
                now = self.judge(self._marks.estate(estate.region, estate.cluster))
                if not now.acts:
                    return Reaped(now)
                with self._tools(now.estate) as tools:
                    return self._run(now, tools, sink_for(estate))
        except Exception as problem:  # noqa: BLE001 - it is this cluster's, and the others go on
            return Reaped(judgement, error=as_error(problem))

    def _run(self, judgement: Judgement, tools: Tools, emit: EventSink) -> Reaped:
        tools.settler.settle(lambda words: emit(Notice(self.clock.now(), words)))
        runs: list[RunResult] = []
        for pipeline, outputs in self._work(judgement, tools, emit):
            runs.append(pipeline.apply(outputs))
            if runs[-1].error:
                break
        error = runs[-1].error
        if error is None:
            tools.journal.clear()
        return Reaped(judgement, tuple(runs), as_error(error) if error else None)

    def _work(self, judgement: Judgement, tools: Tools, emit: EventSink) -> Iterator[tuple[Pipeline, Outputs]]:
        """The pipelines of an estate: the node groups but the last, then everything."""
        estate = judgement.estate
        first = Target(estate.region, estate.cluster, self.settings.gpu_nodegroup_name)
        if not judgement.goes:
            stray = StraysGoneStage(tools.readers.reservations, judgement.strays)
            yield Pipeline((stray,), tools.executor, self.clock, emit), Outputs().with_value(first)
            return
        names = estate.nodegroups or (first.nodegroup,)
        for name in names:
            what = "everything" if name == names[-1] else "nodegroup"
            stages = tools.removal(self.settings, what, purge=False)
            yield (
                Pipeline(stages, tools.executor, self.clock, emit),
                Outputs().with_value(replace(first, nodegroup=name)),
            )

    @contextmanager
    def _lock(self, estate: Estate) -> Iterator[None]:
        """The lock of every run on this cluster; a run that holds it is waited for. Raises BusyError in the end."""
        lock = _LockWaiter(self._world.home / "locks", f"{self.identity.account_id}-{estate.cluster}", self.clock)
        with lock.held():
            yield

    @contextmanager
    def _tools(self, estate: Estate) -> Iterator[Tools]:
        run = RunContext(new_run_id(), self.identity.account_id, self.settings.owner or user_name(), estate.cluster)
        remembered = self._world.home / "reap" / f"{run.account_id}-{estate.region}-{estate.cluster}"
        tools = build_tools(self._world, self.clock, run, PlacementFile(remembered))
        try:
            yield tools
        finally:
            tools.close()


@dataclass(frozen=True, slots=True)
class _RealClock:
    """Waits in real seconds, for a process of this machine, and still hears of an interruption."""

    clock: RunClock

    def now(self) -> datetime:
        return self.clock.now()

    def sleep(self, seconds: float) -> None:
        patient_sleep(seconds)
        self.clock.sleep(0)


@dataclass(frozen=True, slots=True)
class _LockWaiter:
    folder: Path
    name: str
    clock: RunClock

    @contextmanager
    def held(self) -> Iterator[None]:
        def attempt() -> Any:
            lock = run_lock(self.folder, self.name, command="clusterctl reap", now=self.clock.now())
            try:
                lock.__enter__()
            except BusyError as busy:
                return busy
            return lock

        got = look_until(
            _RealClock(self.clock),
            attempt,
            lambda one: not isinstance(one, BusyError),
            every_s=LOCK_EVERY_S,
            limit_s=LOCK_LIMIT_S,
        )
        if isinstance(got, BusyError):
            raise got
        try:
            yield
        finally:
            got.__exit__(None, None, None)


@contextmanager
def open_reaper(ask: ReapAsk) -> Iterator[Reaper]:
    """A reaper whose clock is woken by Ctrl-C and SIGTERM."""
    stop = threading.Event()
    world = open_world(sandbox=ask.sandbox, scenario=ask.scenario)
    with stopping(stop):
        yield Reaper(ask, world, RunClock(world.time, stop))
