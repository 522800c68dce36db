"""The changes that find capacity: proofs, holds, and what ends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterctl.engine.effect import Effect
from clusterctl.model.capacity import ReservationOrder


@dataclass(frozen=True, slots=True)
class ProbeCapacity:
    """Reserve and at once cancel, zone by zone: the only proof of On-Demand capacity that AWS gives."""

    effect: ClassVar[Effect] = Effect.SPEND
    orders: tuple[ReservationOrder, ...]
    cost_usd: float | None = None

    def __str__(self) -> str:
        regions = len({order.region for order in self.orders})
        cost = "" if self.cost_usd is None else f", about {self.cost_usd:.2f} USD at most"
        return f"reserve and cancel in {len(self.orders)} zone(s) of {regions} region(s){cost}"


@dataclass(frozen=True, slots=True)
class ProveAgain:
    """A proof right before a launch: what was proved before a cluster was made is a quarter of an hour old by then."""

    effect: ClassVar[Effect] = Effect.SPEND
    order: ReservationOrder
    cost_usd: float | None = None

    def __str__(self) -> str:
        order = self.order
        cost = "" if self.cost_usd is None else f", about {self.cost_usd:.2f} USD at most"
        return f"reserve and cancel {order.count} x {order.instance_type} in {order.zone} right before the launch{cost}"


@dataclass(frozen=True, slots=True)
class HoldCapacity:
    """Reserve in the first of several places that has room, and keep it until the nodes have joined."""

    effect: ClassVar[Effect] = Effect.SPEND
    orders: tuple[ReservationOrder, ...]
    expected_usd: float | None = None
    most_usd: float | None = None

    def __str__(self) -> str:
        first = self.orders[0]
        where = first.zone if len(self.orders) == 1 else f"the first of {len(self.orders)} places"
        if self.expected_usd is None or self.most_usd is None:
            cost = "; what that costs is not known"
        else:
            cost = f"; about {self.expected_usd:.2f} USD, {self.most_usd:.2f} USD if nobody is left to end it"
        return f"hold {first.count} x {first.instance_type} in {where} until the nodes have joined{cost}"


@dataclass(frozen=True, slots=True)
class LeaveRegion:
    """Give a region up for another one, where the next best place is. What was made here for this run goes."""

    effect: ClassVar[Effect] = Effect.DESTROY
    region: str
    onward: str
    why: str

    def __str__(self) -> str:
        return f"leave {self.region} for {self.onward} ({self.why})"


@dataclass(frozen=True, slots=True)
class CancelReservation:
    effect: ClassVar[Effect] = Effect.DESTROY
    region: str
    reservation_id: str
    why: str

    def __str__(self) -> str:
        return f"cancel reservation {self.reservation_id} in {self.region} ({self.why})"
