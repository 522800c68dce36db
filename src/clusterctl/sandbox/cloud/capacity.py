"""What can be launched: the instances free in each zone, the account's quota, and what reservations hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Market = Literal["on-demand", "capacity-block", "spot"]


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """One instance that somebody wants to run. `zone` is a name; `reservation_id` a targeted reservation."""

    region: str
    zone: str
    instance_type: str
    reservation_id: str | None = None
    market: Market = "on-demand"


@dataclass(frozen=True, slots=True)
class LaunchFailure:
    """Why it cannot run, in the code and words of EC2."""

    code: str
    message: str


class CapacityPool:
    """Counts what runs. Callers hold the world lock."""

    def launch(self, order: LaunchOrder) -> LaunchFailure | None:
        """Take one instance's capacity and quota, or say why not; nothing is taken then."""
        raise NotImplementedError

    def release(self, order: LaunchOrder) -> None:
        """Give back what `launch(order)` took; an order that never ran is ignored."""
        raise NotImplementedError
