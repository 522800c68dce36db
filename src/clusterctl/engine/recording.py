"""An event sink that keeps the timeline of a run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterctl.engine.events import (
    ActionDone,
    ActionStarted,
    Event,
    EventSink,
    Notice,
    RunStarted,
    StageEnded,
    StageStarted,
)
from clusterctl.model.history import RunRecord, StageTime, Step
from clusterctl.model.run import RunContext


@dataclass(slots=True)
class _Row:
    needs: tuple[str, ...] = ()
    status: str = "skipped"
    started: datetime | None = None
    seconds: float = 0.0
    message: str = ""
    steps: list[Step] = field(default_factory=list)


def both(first: EventSink, second: EventSink) -> EventSink:
    """Two sinks as one."""

    def take(event: Event) -> None:
        first(event)
        second(event)

    return take


class Recording:
    """Safe for the threads of one run."""

    def __init__(self, started: datetime) -> None:
        self._started = started
        self._ended = started
        self._rows: dict[str, _Row] = {}
        self._notes: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._ended = max(self._ended, event.at)
            self._take(event)

    def record(self, command: str, run: RunContext, world: str, document: Mapping[str, Any]) -> RunRecord:
        """What has been seen so far."""
        with self._lock:
            stages = tuple(
                StageTime(name, row.needs, row.status, row.started, row.seconds, tuple(row.steps), row.message)
                for name, row in self._rows.items()
            )
            seconds = (self._ended - self._started).total_seconds()
            return RunRecord(
                command, run.cluster, run.run_id, world, self._started, seconds, stages, tuple(self._notes), document
            )

    def _take(self, event: Event) -> None:
        match event:
            case RunStarted(needs=needs):
                for name, before in needs:  # a later round adds to what an earlier one did
                    row = self._row(name)
                    row.needs, row.status = before, "skipped"
            case StageStarted(at=at, stage=stage):
                row = self._row(stage)
                row.started, row.status = at, "running"
            case ActionStarted(at=at, stage=stage, action=action):
                self._row(stage).steps.append(Step(str(action), at))
            case ActionDone(at=at, stage=stage, action=action):
                self._end_step(self._row(stage), str(action), at)
            case StageEnded(stage=stage, status=status, seconds=seconds, message=message):
                row = self._row(stage)
                row.status, row.seconds, row.message = status, seconds, message
            case Notice(message=message):
                self._notes.append(message)
            case _:
                pass

    def _row(self, stage: str) -> _Row:
        return self._rows.setdefault(stage, _Row())

    @staticmethod
    def _end_step(row: _Row, what: str, at: datetime) -> None:
        for position, step in enumerate(row.steps):
            if step.what == what and step.seconds is None:
                row.steps[position] = Step(what, step.started, (at - step.started).total_seconds())
                return
