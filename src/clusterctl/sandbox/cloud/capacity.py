"""What can be launched: the instances free in each zone, the account's quota, and what reservations hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from clusterctl.sandbox.cloud import catalog, wording
from clusterctl.sandbox.cloud.quotas import on_demand_quota

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.regions import Zone
    from clusterctl.sandbox.cloud.reservations import Reservation
    from clusterctl.sandbox.cloud.world import World

Market = Literal["on-demand", "capacity-block", "spot"]
PLENTY = 1_000_000


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


@dataclass(frozen=True, slots=True)
class _Running:
    order: LaunchOrder
    zone_id: str
    reservation_id: str | None
    from_given: bool  # its capacity belongs to a reservation that the scenario gave


class CapacityPool:
    """Counts what runs. Callers hold the world lock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._running: list[_Running] = []

    def launch(self, order: LaunchOrder) -> LaunchFailure | None:
        """Take one instance's capacity and quota, or say why not; nothing is taken then.

        Codes: InvalidInstanceType, InvalidParameterValue, Unsupported, InsufficientInstanceCapacity,
        UnfulfillableCapacity (spot), VcpuLimitExceeded, MaxSpotInstanceCountExceeded,
        ReservationCapacityExceeded, InvalidCapacityReservationId.NotFound,
        InvalidCapacityReservationState.PendingActivation.
        """
        zone = self._world.geography.zone(order.region, order.zone)
        if not catalog.exists(order.instance_type):
            return LaunchFailure("InvalidInstanceType", wording.unknown_type([order.instance_type]))
        if zone is None:
            return LaunchFailure("InvalidParameterValue", f"Invalid availability zone: [{order.zone}]")
        if order.reservation_id is not None or order.market == "capacity-block":
            return self._launch_reserved(order, zone)
        if (failure := self.not_offered(zone, order.instance_type)) is not None:
            return failure
        if (reservation := self._open_reservation(zone, order)) is not None:
            self._fill(order, zone, reservation)
            return None
        if (failure := self._refusal(order, zone)) is None:
            self._running.append(_Running(order, zone.zone_id, None, from_given=False))
        return failure

    def release(self, order: LaunchOrder) -> None:
        """Give back what `launch(order)` took; an order that never ran is ignored."""
        ended = next((running for running in self._running if running.order == order), None)
        if ended is None:
            return
        self._running.remove(ended)
        reservation = self._reservation(ended.reservation_id, order.region)
        if reservation is not None and reservation.state == "active":
            reservation.available += 1

    def clear(self) -> None:
        """Forget everything that runs."""
        self._running.clear()

    def hold(self, zone: Zone, instance_type: str, count: int) -> LaunchFailure | None:
        """Why `count` more instances cannot be reserved, or None (the caller's reservation then counts)."""
        if (failure := self.not_offered(zone, instance_type)) is not None:
            return failure
        needed = catalog.vcpus(instance_type) * count
        if not self._quota_allows(zone.region, instance_type, needed):
            return LaunchFailure("InstanceLimitExceeded", self._limit_message(zone.region, instance_type))
        if self.free(zone, instance_type) < count:
            return LaunchFailure("InsufficientInstanceCapacity", "Insufficient capacity.")
        return None

    def not_offered(self, zone: Zone, instance_type: str) -> LaunchFailure | None:
        offering = self._world.geography.offering(zone.region, instance_type)
        if zone in offering:
            return None
        if not offering:
            return LaunchFailure("Unsupported", wording.NOT_SUPPORTED)
        others = [other.name for other in offering]
        message = wording.not_supported_in_zone(instance_type, zone.name, others)
        return LaunchFailure("Unsupported", message)

    def free(self, zone: Zone, instance_type: str) -> int:
        """Instances that can still be had on demand in a zone."""
        stock = self._world.stock(zone, instance_type)
        return PLENTY if stock is None else max(stock - self._taken(zone, instance_type), 0)

    def used_vcpus(self, region: str, quota_code: str, market: Market = "on-demand") -> int:
        """vCPUs that count against a quota: what runs, and what active reservations hold unused."""
        running = [
            catalog.vcpus(r.order.instance_type)
            for r in self._running
            if r.order.region == region and r.order.market == market and _bounded(r.order.instance_type, quota_code)
        ]
        held = [
            catalog.vcpus(r.instance_type) * r.available
            for r in self._active(region)
            if market == "on-demand" and r.kind == "default" and _bounded(r.instance_type, quota_code)
        ]
        return sum(running) + sum(held)

    def _taken(self, zone: Zone, instance_type: str) -> int:
        running = [
            r
            for r in self._running
            if (r.zone_id, r.order.instance_type) == (zone.zone_id, instance_type) and not r.from_given
        ]
        held = [r.available for r in self._active(zone.region) if r.fits(zone, instance_type) and not r.given]
        return len(running) + sum(held)

    def _active(self, region: str) -> list[Reservation]:
        everything = self._world.reservations.at(self._world.now())
        return [r for r in everything if r.zone.region == region and r.state == "active"]

    def _reservation(self, reservation_id: str | None, region: str) -> Reservation | None:
        if reservation_id is None:
            return None
        return self._world.reservations.get(reservation_id, region, self._world.now())

    def _open_reservation(self, zone: Zone, order: LaunchOrder) -> Reservation | None:
        fitting = (
            r
            for r in self._active(zone.region)
            if r.match == "open" and r.kind == "default" and r.available and r.fits(zone, order.instance_type)
        )
        return next(fitting, None) if order.market == "on-demand" else None

    def _launch_reserved(self, order: LaunchOrder, zone: Zone) -> LaunchFailure | None:
        reservation = self._reservation(order.reservation_id, order.region)
        if reservation is None:
            message = f"The capacity reservation ID '{order.reservation_id}' does not exist"
            return LaunchFailure("InvalidCapacityReservationId.NotFound", message)
        if reservation.state == "scheduled":
            message = f"The capacity reservation '{order.reservation_id}' is not active yet."
            return LaunchFailure("InvalidCapacityReservationState.PendingActivation", message)
        is_block = order.market == "capacity-block"
        same_market = is_block == (reservation.kind == "capacity-block")
        compatible = same_market and reservation.fits(zone, order.instance_type)
        if reservation.state != "active" or not compatible or reservation.available < 1:
            return LaunchFailure("ReservationCapacityExceeded", wording.RESERVATION_FULL)
        self._fill(order, zone, reservation)
        return None

    def _fill(self, order: LaunchOrder, zone: Zone, reservation: Reservation) -> None:
        reservation.available -= 1
        self._running.append(_Running(order, zone.zone_id, reservation.reservation_id, reservation.given))

    def _refusal(self, order: LaunchOrder, zone: Zone) -> LaunchFailure | None:
        if order.market == "spot":
            return self._spot_refusal(order, zone)
        if not self._quota_allows(order.region, order.instance_type, catalog.vcpus(order.instance_type)):
            return LaunchFailure("VcpuLimitExceeded", self._limit_message(order.region, order.instance_type))
        if self.free(zone, order.instance_type) < 1:
            return LaunchFailure("InsufficientInstanceCapacity", self._scarce_message(zone, order.instance_type))
        return None

    def _spot_refusal(self, order: LaunchOrder, zone: Zone) -> LaunchFailure | None:
        code = on_demand_quota(order.instance_type).spot_code
        used = self.used_vcpus(order.region, on_demand_quota(order.instance_type).code, "spot")
        limit = 0.0 if code is None else self._world.quotas.limit(order.region, code)
        if used + catalog.vcpus(order.instance_type) > limit:
            return LaunchFailure("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        if self.free(zone, order.instance_type) < 1:
            return LaunchFailure("UnfulfillableCapacity", wording.SPOT_UNFULFILLABLE)
        return None

    def _quota_allows(self, region: str, instance_type: str, vcpus: int) -> bool:
        code = on_demand_quota(instance_type).code
        return self.used_vcpus(region, code) + vcpus <= self._world.quotas.limit(region, code)

    def _limit_message(self, region: str, instance_type: str) -> str:
        return wording.limit_exceeded(self._world.quotas.limit(region, on_demand_quota(instance_type).code))

    def _scarce_message(self, zone: Zone, instance_type: str) -> str:
        offering = self._world.geography.offering(zone.region, instance_type)
        others = [other.name for other in offering if other != zone and self.free(other, instance_type)]
        return wording.scarce(instance_type, zone.name, others)


def _bounded(instance_type: str, quota_code: str) -> bool:
    return on_demand_quota(instance_type).code == quota_code
