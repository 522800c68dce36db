"""Regions, zones, instance types and offerings, all telling one story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult
from moto.ec2.models.instance_types import InstanceType
from moto.ec2.utils import generic_filter

from clusterctl.sandbox.cloud import catalog, wording
from clusterctl.sandbox.cloud.ec2.base import EC2Actions, keep, matches, refusal
from clusterctl.sandbox.cloud.regions import ALL_REGIONS, DEFAULT_REGIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from clusterctl.sandbox.cloud.regions import Zone

Row = dict[str, Any]
_REGION_FILTERS = {
    "region-name": lambda row: row["RegionName"],
    "opt-in-status": lambda row: row["OptInStatus"],
    "endpoint": lambda row: row["Endpoint"],
}
_ZONE_FILTERS = {
    "zone-name": lambda row: row["ZoneName"],
    "zone-id": lambda row: row["ZoneId"],
    "zone-type": lambda row: row["ZoneType"],
    "region-name": lambda row: row["RegionName"],
    "state": lambda row: row["State"],
    "opt-in-status": lambda row: row["OptInStatus"],
    "group-name": lambda row: row["GroupName"],
}
_OFFERING_FILTERS = {
    "instance-type": lambda row: row["InstanceType"],
    "location": lambda row: row["Location"],
}


class Places(EC2Actions):
    """DescribeRegions, DescribeAvailabilityZones, DescribeInstanceTypes, DescribeInstanceTypeOfferings."""

    def describe_regions(self) -> ActionResult:
        self.error_on_dryrun()
        enabled = self.world.geography.enabled
        wanted = self._get_param("RegionNames", [])
        if unknown := [name for name in wanted if name not in ALL_REGIONS]:
            raise refusal("InvalidParameterValue", f"Invalid region provided: {unknown[0]}")
        shown = ALL_REGIONS if self._get_param("AllRegions") else sorted(enabled)
        rows = [_region_row(name, enabled) for name in shown if not wanted or name in wanted]
        return ActionResult({"Regions": keep(rows, self.filters(), _REGION_FILTERS)})

    def describe_availability_zones(self) -> ActionResult:
        self.error_on_dryrun()
        zones = self.world.geography.zones(self.region)
        names, ids = self._get_param("ZoneNames", []), self._get_param("ZoneIds", [])
        if unknown := set(names) - {zone.name for zone in zones} | set(ids) - {zone.zone_id for zone in zones}:
            raise refusal("InvalidParameterValue", f"Invalid availability zone: [{sorted(unknown)[0]}]")
        rows = [_zone_row(z) for z in zones if (not names or z.name in names) and (not ids or z.zone_id in ids)]
        return ActionResult({"AvailabilityZones": keep(rows, self.filters(), _ZONE_FILTERS)})

    def describe_instance_type_offerings(self) -> ActionResult:
        self.error_on_dryrun()
        location_type = self._get_param("LocationType") or "region"
        filters = self.filters()
        rows = [
            {"InstanceType": name, "LocationType": location_type, "Location": location}
            for name in self._types_here(filters.get("instance-type"))
            for location in self._locations(name, location_type)
        ]
        return self.paged("InstanceTypeOfferings", keep(rows, filters, _OFFERING_FILTERS))

    def describe_instance_types(self) -> ActionResult:
        self.error_on_dryrun()
        wanted, filters = self._get_param("InstanceTypes", []), self.filters()
        if wanted and self._get_param("MaxResults"):
            message = "The parameter instanceTypes cannot be used with the parameter maxResults"
            raise refusal("InvalidParameterCombination", message)
        here = self._types_here(wanted or filters.pop("instance-type", None))
        if unknown := sorted(set(wanted) - set(here)):
            raise refusal("InvalidInstanceType", wording.unknown_type(unknown))
        found = generic_filter(filters, [InstanceType(name) for name in here])
        return self.paged("InstanceTypes", found, default_limit=100)

    def _types_here(self, patterns: Collection[str] | None) -> list[str]:
        """Types that exist and are offered in this region."""
        names = catalog.types_in(self.region)
        if patterns is None:
            return list(names)
        if not any(mark in pattern for pattern in patterns for mark in "*?["):
            return sorted(set(patterns) & names.keys())
        return [name for name in names if matches(name, patterns)]

    def _locations(self, instance_type: str, location_type: str) -> list[str]:
        zones = self.world.geography.offering(self.region, instance_type)
        if location_type == "availability-zone":
            return [zone.name for zone in zones]
        if location_type == "availability-zone-id":
            return [zone.zone_id for zone in zones]
        return [self.region] if zones and location_type == "region" else []


def _region_row(name: str, enabled: frozenset[str]) -> Row:
    opted = "opted-in" if name in enabled else "not-opted-in"
    status = "opt-in-not-required" if name in DEFAULT_REGIONS else opted
    return {"RegionName": name, "Endpoint": f"ec2.{name}.amazonaws.com", "OptInStatus": status}


def _zone_row(zone: Zone) -> Row:
    return {
        "ZoneName": zone.name,
        "ZoneId": zone.zone_id,
        "RegionName": zone.region,
        "GroupName": f"{zone.region}-zg-1",
        "NetworkBorderGroup": zone.region,
        "ZoneType": "availability-zone",
        "State": "available",
        "OptInStatus": "opt-in-not-required",
        "Messages": [],
    }
