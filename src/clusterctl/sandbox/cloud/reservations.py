"""Capacity reservations and capacity blocks of the account, whoever made them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from clusterctl.errors import UsageError
from clusterctl.sandbox.cloud import catalog
from clusterctl.sandbox.state import ACCOUNT_ID

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.regions import Geography, Zone
    from clusterctl.sandbox.scenario import Block, Reserved, Scenario

Kind = Literal["default", "capacity-block"]
_ENDS_WITHIN = timedelta(minutes=45)  # EC2: "cancelled within an hour from the specified time"


@dataclass(slots=True)
class Reservation:
    """One reservation. `given`: it was there before us and holds capacity of its own."""

    reservation_id: str
    zone: Zone
    instance_type: str
    total: int
    available: int
    start: datetime
    created: datetime
    end: datetime | None = None
    state: str = "active"
    match: str = "open"
    kind: Kind = "default"
    platform: str = "Linux/UNIX"
    tenancy: str = "default"
    placement_group_arn: str | None = None
    given: bool = False
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        return f"arn:aws:ec2:{self.zone.region}:{ACCOUNT_ID}:capacity-reservation/{self.reservation_id}"

    @property
    def used(self) -> int:
        return self.total - self.available

    @property
    def over_at(self) -> datetime | None:
        """When EC2 ends it by itself: later than asked, but for blocks and what the scenario gives."""
        punctual = self.given or self.kind == "capacity-block"
        return self.end if self.end is None or punctual else max(self.end, self.created) + _ENDS_WITHIN

    def finish(self, state: str) -> None:
        """End it; instances that fill it run on."""
        self.state, self.total, self.available = state, self.used, 0

    def fits(self, zone: Zone, instance_type: str) -> bool:
        return (self.zone.zone_id, self.instance_type) == (zone.zone_id, instance_type)


class ReservationBook:
    """All reservations, brought up to date with simulated time before each reading."""

    def __init__(self) -> None:
        self._by_id: dict[str, Reservation] = {}
        self.tokens: dict[tuple[str, str], tuple[str, str]] = {}  # (region, token) -> (fingerprint, id)

    def add(self, reservation: Reservation) -> None:
        self._by_id[reservation.reservation_id] = reservation

    def at(self, now: datetime) -> list[Reservation]:
        """Every reservation in the state it has at `now`."""
        for reservation in self._by_id.values():
            _pass_time(reservation, now)
        return list(self._by_id.values())

    def get(self, reservation_id: str, region: str, now: datetime) -> Reservation | None:
        found = self._by_id.get(reservation_id)
        if found is None or found.zone.region != region:
            return None
        _pass_time(found, now)
        return found

    def rehearse(self, scenario: Scenario, geography: Geography, now: datetime) -> None:
        """Add the scenario's reservations and blocks that are not there yet. Raises UsageError."""
        wanted = [_given(row, geography, now, index) for index, row in enumerate(scenario.reservations)]
        wanted += [_block(row, geography, now, i) for i, row in enumerate(scenario.blocks) if not row.offered]
        for reservation in wanted:
            self._by_id.setdefault(reservation.reservation_id, reservation)

    def clear(self) -> None:
        self._by_id.clear()
        self.tokens.clear()


def _pass_time(reservation: Reservation, now: datetime) -> None:
    if reservation.state == "scheduled" and reservation.start <= now:
        reservation.state, reservation.available = "active", reservation.total
    if reservation.state == "active" and reservation.over_at is not None and reservation.over_at <= now:
        reservation.finish("expired")


def _given(row: Reserved, geography: Geography, now: datetime, index: int) -> Reservation:
    zone = _zone(geography, row.zone, row.instance_type, "reservations")
    return Reservation(
        reservation_id=row.id or _stable_id(row.zone, row.instance_type, index),
        zone=zone,
        instance_type=row.instance_type,
        total=row.count,
        available=row.count,
        start=now,
        created=now,
        end=None if row.ends_in_s is None else now + timedelta(seconds=row.ends_in_s),
        match=row.match,
        placement_group_arn=row.placement_group_arn,
        given=True,
        tags=dict(row.tags),
    )


def _block(row: Block, geography: Geography, now: datetime, index: int) -> Reservation:
    zone = _zone(geography, row.zone, row.instance_type, "blocks")
    waits = row.starts_in_s > 0
    return Reservation(
        reservation_id=row.id or _stable_id(row.zone, f"{row.instance_type}/block", index),
        zone=zone,
        instance_type=row.instance_type,
        total=row.count,
        available=0 if waits else row.count,
        start=now + timedelta(seconds=row.starts_in_s),
        created=now,
        end=now + timedelta(seconds=row.ends_in_s),
        state="scheduled" if waits else "active",
        match="targeted",
        kind="capacity-block",
        given=True,
    )


def _zone(geography: Geography, name: str, instance_type: str, field_name: str) -> Zone:
    zone = geography.find_zone(name)
    if zone is None:
        raise UsageError(f"scenario: {field_name}: no such zone: {name}")
    if not catalog.exists(instance_type):
        raise UsageError(f"scenario: {field_name}: no such instance type: {instance_type}")
    return zone


def _stable_id(zone: str, instance_type: str, index: int) -> str:
    return "cr-0" + sha256(f"{zone}/{instance_type}/{index}".encode()).hexdigest()[:16]
