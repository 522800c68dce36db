"""What is kept of a run: when each stage ran and why, so that it can be shown later and the next one be foretold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

LEARNED_FROM = ("done",)  # a stage that found all in place says nothing of how long making it takes


@dataclass(frozen=True, slots=True)
class Step:
    """One change that a stage made; `seconds` is None for one that never ended."""

    what: str
    started: datetime
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class StageTime:
    """A stage of a run, and the stages that it stood on. `started` is None for one that was never begun."""

    name: str
    needs: tuple[str, ...] = ()
    status: str = "skipped"
    started: datetime | None = None
    seconds: float = 0.0
    steps: tuple[Step, ...] = ()
    message: str = ""

    @property
    def ended_at(self) -> float:
        """Seconds since the epoch; 0 for a stage that never ran."""
        return self.started.timestamp() + self.seconds if self.started else 0.0


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a command that changes things. `document` is the JSON that it printed or would have printed."""

    command: str
    cluster: str
    run_id: str
    world: str
    started: datetime
    seconds: float
    stages: tuple[StageTime, ...]
    notes: tuple[str, ...]
    document: Mapping[str, Any]


def critical_path(stages: Sequence[StageTime]) -> tuple[str, ...]:
    """The stages that the end of the run waited for, first to last: from the last to end back to what held each up."""
    ran = {stage.name: stage for stage in stages if stage.started}
    path: list[str] = []
    current = max(ran.values(), key=lambda stage: stage.ended_at, default=None)
    while current is not None:
        path.append(current.name)
        before = [ran[name] for name in current.needs if name in ran and name not in path]
        current = max(before, key=lambda stage: stage.ended_at, default=None)
    return tuple(reversed(path))


def expected_seconds(records: Iterable[RunRecord], command: str) -> dict[str, float]:
    """By stage, the median time that earlier runs of a command took where they had something to make."""
    seen: dict[str, list[float]] = {}
    for record in records:
        for stage in record.stages if record.command == command else ():
            if stage.status in LEARNED_FROM:
                seen.setdefault(stage.name, []).append(stage.seconds)
    return {name: median(times) for name, times in seen.items()}


def record_document(record: RunRecord) -> dict[str, Any]:
    """A run as JSON: `clusterctl/run/v1`."""
    return {
        "schema": "clusterctl/run/v1",
        "command": record.command,
        "cluster": record.cluster,
        "run_id": record.run_id,
        "world": record.world,
        "started": record.started.isoformat(),
        "seconds": round(record.seconds, 1),
        "critical_path": list(critical_path(record.stages)),
        "timeline": [_stage_document(stage) for stage in record.stages],
        "notes": list(record.notes),
        "result": dict(record.document),
    }


def record_of(document: Mapping[str, Any]) -> RunRecord:
    """Read back what `record_document` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return RunRecord(
        command=str(document["command"]),
        cluster=str(document["cluster"]),
        run_id=str(document["run_id"]),
        world=str(document["world"]),
        started=datetime.fromisoformat(document["started"]),
        seconds=float(document["seconds"]),
        stages=tuple(_stage_of(row) for row in document["timeline"]),
        notes=tuple(document["notes"]),
        document=document["result"],
    )


def _stage_document(stage: StageTime) -> dict[str, Any]:
    return {
        "name": stage.name,
        "needs": list(stage.needs),
        "status": stage.status,
        "started": stage.started.isoformat() if stage.started else None,
        "seconds": round(stage.seconds, 1),
        "message": stage.message,
        "steps": [
            {"what": one.what, "started": one.started.isoformat(), "seconds": _rounded(one.seconds)}
            for one in stage.steps
        ],
    }


def _stage_of(row: Mapping[str, Any]) -> StageTime:
    return StageTime(
        name=row["name"],
        needs=tuple(row["needs"]),
        status=row["status"],
        started=datetime.fromisoformat(row["started"]) if row["started"] else None,
        seconds=float(row["seconds"]),
        message=row["message"],
        steps=tuple(Step(one["what"], datetime.fromisoformat(one["started"]), one["seconds"]) for one in row["steps"]),
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
