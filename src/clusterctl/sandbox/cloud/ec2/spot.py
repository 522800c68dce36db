"""Spot signals: placement scores and price history, deterministic so that a rehearsal can be repeated."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from moto.core.responses import ActionResult

from clusterctl.sandbox.cloud import catalog, prices
from clusterctl.sandbox.cloud.ec2.base import EC2Actions, refusal

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.regions import Zone

_NEW_CONFIGURATIONS = 10  # a day; about what AWS allows
_DAY_S = 86_400.0
_SHOWN = 10
_FEW_TYPES = 3
_TOO_MANY = (
    "You have exceeded your maximum allowed Spot placement configurations. You can retry configurations that you "
    "used within the last 24 hours, or wait for 24 hours before specifying a new configuration."
)


class Spot(EC2Actions):
    """GetSpotPlacementScores and DescribeSpotPriceHistory."""

    def get_spot_placement_scores(self) -> ActionResult:
        self.error_on_dryrun()
        types, regions = sorted(self._get_param("InstanceTypes", [])), self._get_param("RegionNames", [])
        if len(regions) > 10:
            raise refusal("InvalidParameterValue", "You can specify up to 10 Regions.")
        if not types:
            raise refusal("MissingParameter", "The request must contain the parameter instanceTypes")
        self._count_configuration(types, sorted(regions))
        by_zone = bool(self._get_param("SingleAvailabilityZone"))
        rows: list[dict[str, Any]] = []
        for region in regions or sorted(self.world.geography.enabled):
            rows += self._zone_rows(region, types) if by_zone else self._region_rows(region, types)
        best = sorted(rows, key=lambda row: -row["Score"])[:_SHOWN]
        shown = best[: int(self._get_param("MaxResults") or _SHOWN)]
        return ActionResult({"SpotPlacementScores": shown})

    def describe_spot_price_history(self) -> ActionResult:
        self.error_on_dryrun()
        filters = self.filters()
        types = self._get_param("InstanceTypes", []) or filters.get("instance-type", [])
        zone = self._get_param("AvailabilityZone")
        zones = [zone] if zone else filters.get("availability-zone")
        offered = types or catalog.zone_ids_by_type(self.region)
        rows = [self._price_row(name, place) for name in offered for place in self._places(name, zones)]
        return self.paged("SpotPriceHistory", [row for row in rows if row["SpotPrice"]])

    def _count_configuration(self, types: list[str], regions: list[str]) -> None:
        names = ("TargetCapacity", "TargetCapacityUnitType", "SingleAvailabilityZone")
        configuration = json.dumps([types, regions, *(self._get_param(name) for name in names)])
        now = self.world.clock.timestamp()
        used = {key: at for key, at in self.world.score_configurations.items() if now - at < _DAY_S}
        if configuration not in used and len(used) >= _NEW_CONFIGURATIONS:
            raise refusal("MaxConfigLimitExceeded", _TOO_MANY)
        self.world.score_configurations = used | {configuration: now}

    def _zone_rows(self, region: str, types: list[str]) -> list[dict[str, Any]]:
        return [
            {"Region": region, "AvailabilityZoneId": zone.zone_id, "Score": self._score(zone, types)}
            for zone in self._scored(region, types)
        ]

    def _region_rows(self, region: str, types: list[str]) -> list[dict[str, Any]]:
        scores = [self._score(zone, types) for zone in self._scored(region, types)]
        override = self.world.scenario.scores.get(region)
        return [{"Region": region, "Score": override or max(scores)}] if scores else []

    def _scored(self, region: str, types: list[str]) -> list[Zone]:
        offering = {zone for name in types for zone in self.world.geography.offering(region, name)}
        return sorted(offering, key=lambda zone: zone.zone_id)

    def _score(self, zone: Zone, types: list[str]) -> int:
        """1..10. With fewer than three types AWS scores low, whatever the zone."""
        scores = self.world.scenario.scores
        override = scores.get(zone.zone_id) or scores.get(zone.name)
        best = 9 if len(types) >= _FEW_TYPES else 3
        return override or 1 + _hash(f"{zone.zone_id}/{','.join(types)}") % best

    def _places(self, instance_type: str, zones: list[str] | None) -> list[str]:
        offering = [zone.name for zone in self.world.geography.offering(self.region, instance_type)]
        return [name for name in offering if zones is None or name in zones]

    def _price_row(self, instance_type: str, zone: str) -> dict[str, Any]:
        on_demand = prices.on_demand_usd(self.world.scenario, self.region, instance_type)
        part = 0.30 + _hash(f"{zone}/{instance_type}") % 30 / 100
        return {
            "AvailabilityZone": zone,
            "InstanceType": instance_type,
            "ProductDescription": "Linux/UNIX",
            "SpotPrice": f"{on_demand * part:.6f}" if on_demand else "",
            "Timestamp": self.world.now(),
        }


def _hash(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:4])
