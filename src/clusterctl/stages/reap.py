"""Cancels reservations that nobody waits for any more, while what else carries the marks may stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clusterctl.engine.actions import CancelReservation, Plan
from clusterctl.engine.outputs import Outputs
from clusterctl.model.target import Target
from clusterctl.ports import ReservationReader


@dataclass(frozen=True, slots=True)
class StraysLeft:
    """Ids of the strays that are still there."""

    reservations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StraysGoneStage:
    """`strays`: the ids of reservations, and why each is nobody's."""

    reservations: ReservationReader
    strays: Mapping[str, str]

    name: ClassVar[str] = "reservations"
    requires: ClassVar[tuple[type, ...]] = (Target,)
    provides: ClassVar[type[StraysLeft]] = StraysLeft
    patience_s: ClassVar[float] = 0.0

    def observe(self, inputs: Outputs) -> StraysLeft:
        held = self.reservations.ours((inputs[Target].region,))
        alive = (one.reservation_id for one in held if one.state not in ("cancelling", "cancelled"))
        return StraysLeft(tuple(one for one in alive if one in self.strays))

    def plan(self, inputs: Outputs, observed: StraysLeft) -> Plan:
        region = inputs[Target].region
        return tuple(CancelReservation(region, one, self.strays[one]) for one in observed.reservations)

    def waiting_for(self, inputs: Outputs, observed: StraysLeft) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: StraysLeft) -> StraysLeft:
        return StraysLeft()
