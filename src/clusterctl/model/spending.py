"""What a cluster has cost so far: hours since each part was made, times its price; an unknown price stays unknown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.cost import Cost, CostLine


@dataclass(frozen=True, slots=True)
class Spent:
    """USD so far, by the sizes of now. `source` says whose prices these are and of what day."""

    cost: Cost
    usd: float | None
    hours: float
    source: str

    def document(self) -> dict[str, Any]:
        return {
            "hourly_usd": self.cost.hourly_usd,
            "spent_usd": self.usd,
            "hours": round(self.hours, 2),
            "price_source": self.source,
        }


def spent(cost: Cost, cluster: ClusterState, group: NodegroupState, now: datetime, source: str) -> Spent:
    """Of a cost whose first line is the GPU nodes': they are younger than the rest, which is as old as the cluster."""
    hours = _hours(cluster.created, now) if cluster.exists else 0.0
    gpu_hours = _hours(group.created, now) if group.exists else 0.0
    parts = [_usd(line, gpu_hours if line is cost.lines[0] else hours) for line in cost.lines]
    known = [part for part in parts if part is not None]
    return Spent(cost, round(sum(known), 2) if len(known) == len(parts) else None, hours, source)


def _usd(line: CostLine, hours: float) -> float | None:
    """Nothing costs nothing, whatever its price."""
    if not hours or not line.count:
        return 0.0
    return None if line.hourly_usd is None else line.hourly_usd * hours


def _hours(since: datetime | None, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds() / 3600) if since else 0.0
