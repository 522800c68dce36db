"""DescribeTags: of what is there. moto remembers the tags of what is gone as well."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult

from clusterctl.sandbox.cloud.ec2.base import EC2Actions, matches

_FILTERS = {"key": "Key", "value": "Value", "resource-id": "ResourceId", "resource-type": "ResourceType"}


class Tags(EC2Actions):
    """One call over everything that EC2 lets be tagged."""

    def describe_tags(self) -> ActionResult:
        self.error_on_dryrun()
        rows = [row for row in self._tag_rows() if self._there(row["ResourceId"])]
        for name, patterns in self.filters().items():
            if name in _FILTERS:
                rows = [row for row in rows if matches(row[_FILTERS[name]], patterns)]
        return self.paged("Tags", rows)

    def _tag_rows(self) -> list[dict[str, Any]]:
        kept = self.ec2_backend.describe_tags()
        rows = [
            {
                "ResourceId": one["resource_id"],
                "ResourceType": one["resource_type"],
                "Key": one["key"],
                "Value": one["value"],
            }
            for one in kept
        ]
        known = {(row["ResourceId"], row["Key"]) for row in rows}
        for held in self.world.reservations.at(self.world.now()):
            if held.zone.region == self.region and held.given:
                rows += [
                    {
                        "ResourceId": held.reservation_id,
                        "ResourceType": "capacity-reservation",
                        "Key": key,
                        "Value": value,
                    }
                    for key, value in held.tags.items()
                    if (held.reservation_id, key) not in known
                ]
        return rows

    def _there(self, resource_id: str) -> bool:
        return any(resource_id in group for group in self._stores())

    def _stores(self) -> list[Any]:
        """Every kind of thing that may be tagged, by id. A terminated instance shows its tags for an hour."""
        ec2, world = self.ec2_backend, self.world
        groups = {group for by_vpc in ec2.groups.values() for group in by_vpc}
        subnets = {subnet for by_zone in ec2.subnets.values() for subnet in by_zone}
        reservations = {one.reservation_id for one in world.reservations.at(world.now())}
        placement = {one.group_id for one in world.placement_groups.in_region(self.region)}
        addresses = {one.allocation_id for one in ec2.addresses}
        gateways = {name for name, one in ec2.nat_gateways.items() if one.state != "deleted"}
        instances = {one.id for one in ec2.all_instances()}
        return [
            ec2.vpcs, ec2.enis, ec2.volumes, ec2.snapshots, ec2.launch_templates, ec2.internet_gateways,
            ec2.route_tables, groups, subnets, reservations, placement, addresses, gateways, instances,
        ]  # fmt: skip
