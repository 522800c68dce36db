"""What instance types exist and where they are offered: AWS' own data, as moto carries it.

Offerings are joined on zone ids alone. moto's two tables (by name and by id) were collected by different
accounts and disagree in six regions, while hardware sits in a zone id.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES


def exists(instance_type: str) -> bool:
    return instance_type in INSTANCE_TYPES


def describe(instance_type: str) -> dict[str, Any]:
    """The DescribeInstanceTypes entry. Raises KeyError for a type that does not exist."""
    entry: dict[str, Any] = INSTANCE_TYPES[instance_type]
    return entry


def vcpus(instance_type: str) -> int:
    """vCPUs, the unit of every EC2 quota."""
    return int(describe(instance_type)["VCpuInfo"]["DefaultVCpus"])


@cache
def zone_ids_by_type(region: str) -> dict[str, frozenset[str]]:
    """instance type -> the zone ids of the region that offer it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in INSTANCE_TYPE_OFFERINGS["availability-zone-id"].get(region, []):
        found[row["InstanceType"]].add(row["Location"])
    return {instance_type: frozenset(ids) for instance_type, ids in sorted(found.items())}


@cache
def types_in(region: str) -> dict[str, frozenset[str]]:
    """The same, without types that are offered and never described."""
    return {name: ids for name, ids in zone_ids_by_type(region).items() if exists(name)}
