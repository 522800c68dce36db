"""Placement groups: create, describe, delete."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.utils import random_id

from clusterctl.sandbox.cloud.ec2.base import EC2Actions, keep, keep_tagged, refusal, tag_rows
from clusterctl.sandbox.cloud.placement import PlacementGroup

_FILTERS = {
    "group-name": lambda group: group.name,
    "group-arn": lambda group: group.arn,
    "strategy": lambda group: group.strategy,
    "state": lambda _: "available",
    "spread-level": lambda _: "",
}
_STRATEGIES = ("cluster", "spread", "partition")


class Groups(EC2Actions):
    """The three calls on placement groups."""

    def create_placement_group(self) -> ActionResult:
        self.error_on_dryrun()
        name, strategy = self._get_param("GroupName"), self._get_param("Strategy") or "cluster"
        if not name:
            raise refusal("MissingParameter", "The request must contain the parameter GroupName")
        if strategy not in _STRATEGIES:
            raise refusal("InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid.")
        if self.world.placement_groups.get(self.region, name) is not None:
            message = f"The Placement Group '{name}' already exists."
            raise refusal("InvalidPlacementGroup.Duplicate", message)
        group = PlacementGroup(self.region, name, random_id("pg", 17), strategy, self._partitions(strategy))
        self.ec2_backend.create_tags([group.group_id], self.tags_given("placement-group"))
        self.world.placement_groups.add(group)
        return ActionResult({"PlacementGroup": self._group_row(group)})

    def describe_placement_groups(self) -> ActionResult:
        self.error_on_dryrun()
        names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
        groups = self.world.placement_groups.in_region(self.region)
        known = {group.name for group in groups} | {group.group_id for group in groups}
        if missing := [one for one in (*names, *ids) if one not in known]:
            raise _unknown(missing[0])
        wanted = [g for g in groups if not (names or ids) or g.name in names or g.group_id in ids]
        wanted, rest = keep_tagged(wanted, self.filters(), lambda group: self.tags_of(group.group_id))
        return ActionResult({"PlacementGroups": [self._group_row(g) for g in keep(wanted, rest, _FILTERS)]})

    def delete_placement_group(self) -> ActionResult:
        self.error_on_dryrun()
        name = self._get_param("GroupName")
        group = self.world.placement_groups.get(self.region, name)
        if group is None:
            raise _unknown(name)
        if self._in_use(group):
            message = f"The placement group '{name}' is in use and may not be deleted."
            raise refusal("InvalidPlacementGroup.InUse", message)
        self.world.placement_groups.remove(group)
        return EmptyResult()

    def _partitions(self, strategy: str) -> int | None:
        count = self._get_param("PartitionCount")
        return int(count or 2) if strategy == "partition" else None

    def _in_use(self, group: PlacementGroup) -> bool:
        running = {i.id for i in self.ec2_backend.all_instances() if i.state_code not in (32, 48)}
        reservations = self.world.reservations.at(self.world.now())
        reserved = any(r.placement_group_arn == group.arn and r.state == "active" for r in reservations)
        return reserved or not running.isdisjoint(group.members)

    def _group_row(self, group: PlacementGroup) -> dict[str, Any]:
        row = {
            "GroupName": group.name,
            "GroupId": group.group_id,
            "GroupArn": group.arn,
            "State": "available",
            "Strategy": group.strategy,
            "Tags": tag_rows(self.tags_of(group.group_id)),
        }
        return row if group.partitions is None else row | {"PartitionCount": group.partitions}


def _unknown(name: str) -> Exception:
    return refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
