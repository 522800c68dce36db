"""On-Demand Capacity Reservations: create, describe, modify, cancel."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.utils import random_id

from clusterctl.sandbox.cloud import catalog, wording
from clusterctl.sandbox.cloud.ec2.base import EC2Actions, keep, keep_tagged, refusal, refuse, tag_rows
from clusterctl.sandbox.cloud.regions import Zone
from clusterctl.sandbox.cloud.reservations import Reservation

_VISIBLE_AFTER_S = 5.0  # Describe lags behind Create; AWS says "up to 5 minutes" at worst
_ON_THE_WAY_REAL_S = 10.0  # how long a call may be on its way: on a busy machine simulated minutes pass meanwhile
_FINAL = {"cancelled", "expired", "failed"}
_IDENTITY = (
    "InstanceType", "InstancePlatform", "InstanceCount", "AvailabilityZone", "AvailabilityZoneId", "Tenancy",
    "EndDateType", "EndDate", "InstanceMatchCriteria", "PlacementGroupArn", "EbsOptimized", "TagSpecifications",
)  # fmt: skip


def _end_type(reservation: Reservation) -> str:
    return "unlimited" if reservation.end is None else "limited"


def _iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


_FILTERS = {
    "instance-type": lambda r: r.instance_type,
    "owner-id": lambda r: r.arn.split(":")[4],
    "instance-platform": lambda r: r.platform,
    "availability-zone": lambda r: r.zone.name,
    "availability-zone-id": lambda r: r.zone.zone_id,
    "tenancy": lambda r: r.tenancy,
    "state": lambda r: r.state,
    "start-date": lambda r: _iso(r.start),
    "end-date": lambda r: _iso(r.end),
    "end-date-type": _end_type,
    "instance-match-criteria": lambda r: r.match,
    "placement-group-arn": lambda r: r.placement_group_arn or "",
    "outpost-arn": lambda _: "",
}


class Reservations(EC2Actions):
    """The four calls on capacity reservations."""

    def create_capacity_reservation(self) -> ActionResult:
        self.error_on_dryrun()
        token = (self.region, str(self._get_param("ClientToken") or ""))
        fingerprint = json.dumps([self._get_param(name) for name in _IDENTITY], default=str)
        book = self.world.reservations
        if token[1] and token in book.tokens:
            return self._again(token, fingerprint)
        reservation = self._wanted()
        refuse(self.world.capacity.hold(reservation.zone, reservation.instance_type, reservation.total))
        reservation.tags = self.tags_given("capacity-reservation")
        self.ec2_backend.create_tags([reservation.reservation_id], reservation.tags)
        book.add(reservation)
        if token[1]:
            book.tokens[token] = (fingerprint, reservation.reservation_id)
        return ActionResult({"CapacityReservation": self._reservation_row(reservation)})

    def describe_capacity_reservations(self) -> ActionResult:
        self.error_on_dryrun()
        ids = self._get_param("CapacityReservationIds", [])
        if ids and self._get_param("MaxResults"):
            message = "The parameter CapacityReservationIds cannot be used with the parameter MaxResults"
            raise refusal("InvalidParameterCombination", message)
        found = [self._visible(one) for one in ids] if ids else self._all()
        found, rest = keep_tagged(found, self.filters(), self._tags)
        return self.paged("CapacityReservations", [self._reservation_row(r) for r in keep(found, rest, _FILTERS)])

    def cancel_capacity_reservation(self) -> ActionResult:
        self.error_on_dryrun()
        self._changeable("cancelled").finish("cancelled")
        return ActionResult({"Return": True})

    def modify_capacity_reservation(self) -> ActionResult:
        self.error_on_dryrun()
        reservation = self._changeable("modified")
        end = self._end_date()
        if (count := self._get_param("InstanceCount")) is not None:
            self._resize(reservation, int(count))
        if end is not None or self._get_param("EndDateType") == "unlimited":
            reservation.end = end
        if match := self._get_param("InstanceMatchCriteria"):
            reservation.match = match
        return ActionResult({"Return": True})

    def _again(self, token: tuple[str, str], fingerprint: str) -> ActionResult:
        known, reservation_id = self.world.reservations.tokens[token]
        if known != fingerprint:
            message = "The client token was used in an earlier request with other parameters."
            raise refusal("IdempotentParameterMismatch", message)
        return ActionResult({"CapacityReservation": self._reservation_row(self._existing(reservation_id))})

    def _wanted(self) -> Reservation:
        """The reservation that the request describes, checked but not yet held."""
        instance_type, count = self._get_param("InstanceType"), int(self._get_param("InstanceCount") or 0)
        if not catalog.exists(str(instance_type)):
            raise refusal("InvalidInstanceType", wording.unknown_type([instance_type]))
        if not 1 <= count <= 1000:
            raise refusal("InvalidParameterValue", f"Invalid value '{count}' for instanceCount.")
        now = self.world.now()
        return Reservation(
            reservation_id=random_id("cr", 17),
            zone=self._zone(),
            instance_type=instance_type,
            total=count,
            available=count,
            start=now,
            created=now,
            end=self._end_date(),
            match=self._get_param("InstanceMatchCriteria") or "open",
            platform=self._platform(),
            tenancy=self._tenancy(),
            placement_group_arn=self._placement_group_arn(),
        )

    def _zone(self) -> Zone:
        name, zone_id = self._get_param("AvailabilityZone"), self._get_param("AvailabilityZoneId")
        if (name is None) == (zone_id is None):
            message = "Specify either an Availability Zone or an Availability Zone id."
            raise refusal("MissingParameter" if name is None else "InvalidParameterCombination", message)
        zone = self.world.geography.zone(self.region, name or zone_id)
        if zone is None or (name or zone_id) not in ((zone.name,) if name else (zone.zone_id,)):
            raise refusal("InvalidParameterValue", f"Invalid availability zone: [{name or zone_id}]")
        return zone

    def _platform(self) -> str:
        platform = self._get_param("InstancePlatform")
        if not platform:
            raise refusal("MissingParameter", "The request must contain the parameter instancePlatform")
        return str(platform)

    def _tenancy(self) -> str:
        tenancy = self._get_param("Tenancy") or "default"
        if tenancy != "default":
            raise refusal("Unsupported", wording.NOT_SUPPORTED)
        return str(tenancy)

    def _end_date(self) -> datetime | None:
        given, kind = self._get_param("EndDate"), self._get_param("EndDateType")
        if given is None and kind != "limited":
            return None
        if given is None or kind == "unlimited":
            message = "EndDate is required with EndDateType limited and not allowed with unlimited."
            raise refusal("InvalidParameterCombination", message)
        end = _instant(given)
        if end <= self.world.now() - timedelta(seconds=_ON_THE_WAY_REAL_S * self.world.clock.speed):
            raise refusal("InvalidParameterValue", "The end date must be in the future.")
        return end

    def _placement_group_arn(self) -> str | None:
        arn = self._get_param("PlacementGroupArn")
        if arn is None:
            return None
        name = str(arn).rpartition("/")[2]
        group = self.world.placement_groups.get(self.region, name)
        if group is None or group.arn != arn:
            raise refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        if group.strategy != "cluster":
            raise refusal("InvalidParameterValue", "Only cluster placement groups are supported.")
        return group.arn

    def _existing(self, reservation_id: str) -> Reservation:
        if not str(reservation_id).startswith("cr-"):
            message = f"The capacity reservation ID '{reservation_id}' is malformed"
            raise refusal("InvalidCapacityReservationId.Malformed", message)
        found = self.world.reservations.get(reservation_id, self.region, self.world.now())
        if found is None:
            raise _not_found(reservation_id)
        return found

    def _visible(self, reservation_id: str) -> Reservation:
        found = self._existing(reservation_id)
        age = (self.world.now() - found.created).total_seconds()
        if age < _VISIBLE_AFTER_S and not found.given:
            raise _not_found(reservation_id)
        return found

    def _all(self) -> list[Reservation]:
        return [r for r in self.world.reservations.at(self.world.now()) if r.zone.region == self.region]

    def _changeable(self, verb: str) -> Reservation:
        found = self._existing(self._get_param("CapacityReservationId"))
        if found.kind == "capacity-block":
            raise refusal("Unsupported", f"Capacity Blocks can't be {verb}.")
        if found.state in _FINAL:
            message = f"The capacity reservation {found.reservation_id} is {found.state} and can't be {verb}."
            raise refusal("InvalidCapacityReservationState", message)
        return found

    def _resize(self, reservation: Reservation, count: int) -> None:
        if not reservation.used <= count <= 1000:
            raise refusal("InvalidParameterValue", f"Invalid value '{count}' for instanceCount.")
        more = count - reservation.total
        if more > 0:
            refuse(self.world.capacity.hold(reservation.zone, reservation.instance_type, more))
        reservation.total, reservation.available = count, reservation.available + more

    def _tags(self, reservation: Reservation) -> dict[str, str]:
        return (reservation.tags if reservation.given else {}) | self.tags_of(reservation.reservation_id)

    def _reservation_row(self, r: Reservation) -> dict[str, Any]:
        row = {
            "CapacityReservationId": r.reservation_id,
            "CapacityReservationArn": r.arn,
            "OwnerId": self.world.account_id,
            "AvailabilityZone": r.zone.name,
            "AvailabilityZoneId": r.zone.zone_id,
            "InstanceType": r.instance_type,
            "InstancePlatform": r.platform,
            "Tenancy": r.tenancy,
            "TotalInstanceCount": r.total,
            "AvailableInstanceCount": r.available,
            "EbsOptimized": False,
            "EphemeralStorage": False,
            "State": r.state,
            "StartDate": r.start,
            "CreateDate": r.created,
            "EndDateType": _end_type(r),
            "InstanceMatchCriteria": r.match,
            "ReservationType": r.kind,
            "Tags": tag_rows(self._tags(r)),
        }
        optional = {"EndDate": r.end, "PlacementGroupArn": r.placement_group_arn}
        return row | {key: value for key, value in optional.items() if value is not None}


def _not_found(reservation_id: str) -> Exception:
    message = f"The capacity reservation ID '{reservation_id}' does not exist"
    return refusal("InvalidCapacityReservationId.NotFound", message)


def _instant(given: Any) -> datetime:
    parsed = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
