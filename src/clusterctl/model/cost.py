"""What a cluster costs an hour, line by line; unknown prices stay unknown instead of being free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from clusterctl.errors import UsageError

EKS_CLUSTER_USD = 0.10  # standard support, every region (AWS EKS pricing)
NAT_GATEWAY_USD = 0.045  # us-east-1; traffic is extra


@dataclass(frozen=True, slots=True)
class CostLine:
    """One thing that is paid by the hour, in USD."""

    what: str
    count: int
    each_usd: float | None

    @property
    def hourly_usd(self) -> float | None:
        return None if self.each_usd is None else self.count * self.each_usd


@dataclass(frozen=True, slots=True)
class Cost:
    """All that a cluster costs an hour."""

    lines: tuple[CostLine, ...]

    @property
    def hourly_usd(self) -> float | None:
        """The sum, None as soon as one price is unknown."""
        parts = [line.hourly_usd for line in self.lines]
        known = [part for part in parts if part is not None]
        return round(sum(known), 4) if len(known) == len(parts) else None

    def over(self, lifetime: timedelta) -> float | None:
        """What the cluster costs until it expires, in USD."""
        hourly = self.hourly_usd
        return None if hourly is None else round(hourly * lifetime.total_seconds() / 3600, 2)


def cluster_cost(gpu: tuple[str, int], system: tuple[str, int], prices: Mapping[str, float]) -> Cost:
    """The cost of GPU nodes, system nodes, control plane and NAT gateway; `prices` are USD an hour by instance type."""
    return Cost(
        (
            CostLine(f"{gpu[0]} nodes", gpu[1], prices.get(gpu[0])),
            CostLine(f"{system[0]} nodes", system[1], prices.get(system[0])),
            CostLine("EKS control plane", 1, EKS_CLUSTER_USD),
            CostLine("NAT gateway", 1, NAT_GATEWAY_USD),
        )
    )


def cost_document(cost: Cost) -> dict[str, Any]:
    """The cost as JSON, USD an hour."""
    lines = [{"what": line.what, "count": line.count, "hourly_usd": line.hourly_usd} for line in cost.lines]
    return {"hourly_usd": cost.hourly_usd, "lines": lines}


def refuse_too_dear(cost: Cost, limit: float | None) -> None:
    """Raise UsageError for a cluster above the limit, and for one whose price nobody knows."""
    if limit is None:
        return
    hourly = cost.hourly_usd
    if hourly is None:
        unknown = ", ".join(line.what for line in cost.lines if line.hourly_usd is None)
        raise UsageError(
            f"the price of {unknown} is unknown, and --max-hourly-usd is {limit:g}", hint="leave the limit out"
        )
    if hourly > limit:
        raise UsageError(
            f"{hourly:.2f} USD an hour is more than --max-hourly-usd {limit:g}", hint="fewer or smaller nodes"
        )
