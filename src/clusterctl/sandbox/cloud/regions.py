"""Regions and zones as one account sees them: which are enabled, and which name stands for which zone id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
from moto.ec2.models.availability_zones_and_regions import Zone as MotoZone

from clusterctl.errors import UsageError
from clusterctl.sandbox.cloud import catalog

if TYPE_CHECKING:
    from clusterctl.sandbox.scenario import Scenario

DEFAULT_REGIONS = (
    "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
    "ca-central-1", "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1",
    "us-east-1", "us-east-2", "us-west-1", "us-west-2",
)  # fmt: skip
OPT_IN_REGIONS = (
    "af-south-1", "ap-east-1", "ap-east-2", "ap-south-2", "ap-southeast-3", "ap-southeast-4",
    "ap-southeast-5", "ap-southeast-6", "ap-southeast-7", "ca-west-1", "eu-central-2", "eu-south-1",
    "eu-south-2", "il-central-1", "me-central-1", "me-south-1", "mx-central-1",
)  # fmt: skip
ALL_REGIONS = tuple(sorted((*DEFAULT_REGIONS, *OPT_IN_REGIONS)))

_ZONES_OF_MOTO = {
    region: tuple((zone.name, zone.zone_id) for zone in RegionsAndZonesBackend.zones.get(region, []))
    for region in ALL_REGIONS
}


@dataclass(frozen=True, slots=True)
class Zone:
    """An availability zone: the account's name for it, and its id."""

    region: str
    name: str
    zone_id: str


class Geography:
    """Enabled regions, and zones as the scenario names them. Raises UsageError for what does not exist."""

    def __init__(self, scenario: Scenario) -> None:
        self.enabled = frozenset((*DEFAULT_REGIONS, *(scenario.enabled_regions or ())))
        _refuse_unknown(self.enabled, ALL_REGIONS, "enabled_regions")
        _refuse_unknown(scenario.zones, ALL_REGIONS, "zones")
        self._zones = {region: _named(region, scenario.zones.get(region, {})) for region in ALL_REGIONS}

    def zones(self, region: str) -> tuple[Zone, ...]:
        return self._zones.get(region, ())

    def zone(self, region: str, name_or_id: str) -> Zone | None:
        return next((z for z in self.zones(region) if name_or_id in (z.name, z.zone_id)), None)

    def find_zone(self, name_or_id: str) -> Zone | None:
        """The zone of this name or id, in whatever region."""
        return next((zone for region in ALL_REGIONS if (zone := self.zone(region, name_or_id))), None)

    def offering(self, region: str, instance_type: str) -> tuple[Zone, ...]:
        """The zones of a region that offer a type."""
        ids = catalog.zone_ids_by_type(region).get(instance_type, frozenset())
        return tuple(zone for zone in self.zones(region) if zone.zone_id in ids)

    def tell_moto(self) -> None:
        """Let moto's subnets and instances carry the same zone ids."""
        for region, zones in self._zones.items():
            RegionsAndZonesBackend.zones[region] = [
                MotoZone(name=zone.name, region_name=region, zone_id=zone.zone_id) for zone in zones
            ]


def _refuse_unknown(given: object, known: tuple[str, ...], field: str) -> None:
    names = set(given) - set(known) if isinstance(given, (dict, frozenset)) else set()
    if names:
        raise UsageError(f"scenario: {field}: no such region: {', '.join(sorted(names))}")


def _named(region: str, wanted: dict[str, str]) -> tuple[Zone, ...]:
    """Give the wanted names their ids; a name that loses its id takes the one that was freed."""
    ids = dict(_ZONES_OF_MOTO[region])
    for name, zone_id in wanted.items():
        holder = next((other for other, held in ids.items() if held == zone_id), None)
        if name not in ids or holder is None:
            raise UsageError(f"scenario: zones: {region} has no zone {name} or no zone id {zone_id}")
        ids[holder], ids[name] = ids[name], zone_id
    return tuple(Zone(region, name, zone_id) for name, zone_id in ids.items())
