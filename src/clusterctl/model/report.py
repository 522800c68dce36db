"""What the page about a run shows, made from the run's JSON alone, so that both say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Document = Mapping[str, Any]
ENDINGS = {
    "done": "done",
    "unchanged": "unchanged",
    "failed": "failed",
    "skipped": "not begun",
    "running": "cut off",
}

SILENT: Document = {  # what a run that does not know of something has to say of it
    "error": None, "placement": None, "candidates": (), "attempts": (), "verification": None, "cost": None,
    "hourly_usd": None, "deleted": (), "kept": (), "leftovers": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """A stage on the time axis; `left` and `width` in per cent of the run."""

    stage: str
    ending: str
    critical: bool
    began_s: float
    seconds: float
    left: float
    width: float
    needs: tuple[str, ...]
    message: str
    steps: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class ZoneCell:
    """One zone of the capacity map, for one instance type."""

    zone: str
    instance_type: str
    verdict: str
    score: int | None
    hourly_usd: float | None
    reason: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class NodeRow:
    """What a node offers, each number beside the one that its type has."""

    name: str
    zone: str
    instance_type: str
    ready: bool
    offers: tuple[tuple[str, int, int], ...]  # resource, allocatable, expected
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The page. Every number in it stands in `run`."""

    run: Document
    result: Document
    bars: tuple[Bar, ...]
    regions: tuple[tuple[str, tuple[ZoneCell, ...]], ...]
    nodes: tuple[NodeRow, ...]

    @property
    def ok(self) -> bool:
        return bool(self.result["ok"])

    @property
    def title(self) -> str:
        region = (self.result["placement"] or {}).get("region")
        return f"{self.run['command']} of {self.run['cluster']}" + (f" in {region}" if region else "")

    @property
    def critical_seconds(self) -> float:
        return round(sum(bar.seconds for bar in self.bars if bar.critical), 1)


def report_of(run: Document) -> Report:
    """The page of a run in the form that `record_document` gives it."""
    result = {**SILENT, **run["result"]}
    return Report(
        run=run,
        result=result,
        bars=_bars(run),
        regions=_regions(result["candidates"], result["placement"] or {}),
        nodes=_nodes(result["verification"]),
    )


def _bars(run: Document) -> tuple[Bar, ...]:
    start, whole = datetime.fromisoformat(run["started"]), max(float(run["seconds"]), 0.1)
    return tuple(_bar(row, start, whole, run["critical_path"]) for row in run["timeline"])


def _bar(row: Document, start: datetime, whole: float, critical: Sequence[str]) -> Bar:
    began = (datetime.fromisoformat(row["started"]) - start).total_seconds() if row["started"] else 0.0
    return Bar(
        stage=row["name"],
        ending=ENDINGS[row["status"]],
        critical=row["name"] in critical,
        began_s=round(began, 1),
        seconds=row["seconds"],
        left=round(100 * began / whole, 2),
        width=round(100 * row["seconds"] / whole, 2),
        needs=tuple(row["needs"]),
        message=row["message"],
        steps=tuple(row["steps"]),
    )


def _regions(candidates: Sequence[Document], placement: Document) -> tuple[tuple[str, tuple[ZoneCell, ...]], ...]:
    """Regions in the order of their best place; in each the zones by name."""
    found: dict[str, list[ZoneCell]] = {}
    for one in sorted(candidates, key=lambda row: row["rank"] or len(candidates)):
        chosen = (one["zone"], one["instance_type"]) == (placement.get("gpu_az"), placement.get("gpu_node_type"))
        found.setdefault(one["region"], []).append(
            ZoneCell(
                one["zone"], one["instance_type"], one["verdict"], one["spot_score"], one["hourly_usd"],
                one["reason"], chosen,
            )
        )  # fmt: skip
    return tuple(
        (region, tuple(sorted(cells, key=lambda cell: (cell.zone, cell.instance_type))))
        for region, cells in found.items()
    )


def _nodes(verification: Document | None) -> tuple[NodeRow, ...]:
    if not verification:
        return ()
    expected = verification["expected"]
    kinds = [kind for kind in ("gpus", "efa", "neuron") if _wanted(expected, kind) or _offered(verification, kind)]
    return tuple(
        NodeRow(
            name=node["name"],
            zone=node["zone"],
            instance_type=node["instance_type"],
            ready=node["ready"],
            offers=tuple((kind, node[kind], _wanted(expected, kind)) for kind in kinds),
            problems=tuple(node["problems"]),
        )
        for node in verification["nodes"]
    )


def _wanted(expected: Document, kind: str) -> int:
    return int(expected[f"{kind}_per_node"])


def _offered(verification: Document, kind: str) -> bool:
    return any(node[kind] for node in verification["nodes"])
