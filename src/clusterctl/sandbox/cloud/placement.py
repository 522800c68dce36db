"""Placement groups, which moto lacks altogether."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusterctl.sandbox.state import ACCOUNT_ID


@dataclass(slots=True)
class PlacementGroup:
    """A placement group and the ids of the instances in it."""

    region: str
    name: str
    group_id: str
    strategy: str = "cluster"
    partitions: int | None = None
    members: set[str] = field(default_factory=set)

    @property
    def arn(self) -> str:
        return f"arn:aws:ec2:{self.region}:{ACCOUNT_ID}:placement-group/{self.name}"


class PlacementGroups:
    """The groups of every region, by name. Who launches into a group keeps its members up to date."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], PlacementGroup] = {}

    def add(self, group: PlacementGroup) -> None:
        self._groups[(group.region, group.name)] = group

    def get(self, region: str, name: str) -> PlacementGroup | None:
        return self._groups.get((region, name))

    def remove(self, group: PlacementGroup) -> None:
        del self._groups[(group.region, group.name)]

    def in_region(self, region: str) -> list[PlacementGroup]:
        return [group for group in self._groups.values() if group.region == region]

    def regions(self) -> set[str]:
        return {group.region for group in self._groups.values()}

    def clear(self) -> None:
        self._groups.clear()
