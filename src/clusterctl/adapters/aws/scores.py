"""Spot placement scores: a hint for ranking zones, never a threshold, and never a "no"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from clusterctl.adapters.aws.answer_cache import AnswerCache
from clusterctl.adapters.aws.faults import AWS_FAULTS, failure_of
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.failures import Failure

Scores = dict[tuple[str, str], int]  # (instance type, zone id) -> 1..10
GROUP = 10  # regions that one call may name
LIFETIME = timedelta(minutes=10)


class SpotScores:
    """Asks from one region for all. AWS counts distinct configurations a day, so they are few and never vary."""

    def __init__(self, aws: AwsSession, cache: AnswerCache) -> None:
        self._aws = aws
        self._cache = cache

    def ask(
        self, names: Iterable[str], nodes: int, regions: Sequence[str], enabled: Sequence[str]
    ) -> tuple[Scores, Failure | None]:
        """The scores that AWS gives, and the failure that kept others away."""
        scores: Scores = {}
        problem: Failure | None = None
        for name in sorted(set(names)):
            for group in groups(regions, enabled):
                try:
                    found = self._group(name, capacity_class(nodes), group)
                except AWS_FAULTS as fault:
                    problem = failure_of(fault)
                else:
                    scores.update({(name, zone): score for zone, score in found.items()})
        return scores, problem

    def _group(self, name: str, capacity: int, group: Sequence[str]) -> dict[str, int]:
        key = f"spot-score-{name}-{capacity}-{'+'.join(group)}"
        cached = self._cache.get(key, LIFETIME)
        if isinstance(cached, dict):
            return {str(zone): int(score) for zone, score in cached.items()}
        pages = self._aws.client("ec2").get_paginator("get_spot_placement_scores").paginate(
            InstanceTypes=[name],
            TargetCapacity=capacity,
            TargetCapacityUnitType="units",
            SingleAvailabilityZone=True,
            RegionNames=list(group),
        )  # fmt: skip
        entries = [entry for page in pages for entry in page["SpotPlacementScores"]]
        scores = {one["AvailabilityZoneId"]: int(one["Score"]) for one in entries if one.get("AvailabilityZoneId")}
        self._cache.put(key, scores)
        return scores


def groups(regions: Sequence[str], enabled: Sequence[str]) -> list[tuple[str, ...]]:
    """The groups to ask for. One region alone shows all its zones; of a group only the ten best zones come back.

    Groups are cut from all enabled regions: a different list of regions would count as a new configuration.
    """
    if len(regions) == 1:
        return [(regions[0],)]
    known = sorted(set(enabled) | set(regions))
    cut = [tuple(known[start : start + GROUP]) for start in range(0, len(known), GROUP)]
    return [group for group in cut if set(group) & set(regions)]


def capacity_class(nodes: int) -> int:
    """The next power of two: 3 and 4 nodes are one configuration."""
    return 1 << max(0, nodes - 1).bit_length()
