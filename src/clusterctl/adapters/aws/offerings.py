"""What EC2 offers where: zones, instance types and their facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clusterctl.model.capacity import Zone
from clusterctl.model.instances import InstanceType

_EFA = {"efa", "efa-only"}


def zones(ec2: Any) -> tuple[Zone, ...]:
    """The zones proper that are up; no Local Zones, no Wavelength Zones."""
    answer = ec2.describe_availability_zones(
        Filters=[
            {"Name": "zone-type", "Values": ["availability-zone"]},
            {"Name": "state", "Values": ["available"]},
        ]
    )
    found = (Zone(one["ZoneName"], one["ZoneId"]) for one in answer["AvailabilityZones"])
    return tuple(sorted(found, key=lambda zone: zone.name))


def offered(ec2: Any, names: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Pairs of instance type and zone id. By id alone: ids mean the same zone to everybody."""
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(
        LocationType="availability-zone-id", Filters=[{"Name": "instance-type", "Values": list(names)}]
    )
    return frozenset((one["InstanceType"], one["Location"]) for page in pages for one in page["InstanceTypeOfferings"])


def all_offered(ec2: Any) -> tuple[str, ...]:
    """The names of all instance types of the region."""
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(LocationType="region")
    return tuple(sorted(one["InstanceType"] for page in pages for one in page["InstanceTypeOfferings"]))


def instance_types(ec2: Any, names: Iterable[str]) -> dict[str, InstanceType]:
    """The facts of types by name; a name that the region does not know is left out.

    By filter: asked by `InstanceTypes`, EC2 refuses the whole list for one unknown name.
    """
    pages = ec2.get_paginator("describe_instance_types").paginate(
        Filters=[{"Name": "instance-type", "Values": sorted(names)}]
    )
    found = (read_type(one) for page in pages for one in page["InstanceTypes"])
    return {one.name: one for one in found}


def read_type(data: Mapping[str, Any]) -> InstanceType:
    """One entry of DescribeInstanceTypes."""
    network = data.get("NetworkInfo", {})
    cards = network.get("NetworkCards") or []
    gpus = data.get("GpuInfo", {}).get("Gpus") or []
    neurons = data.get("NeuronInfo", {}).get("NeuronDevices") or []
    return InstanceType(
        name=data["InstanceType"],
        vcpus=int(data["VCpuInfo"]["DefaultVCpus"]),
        memory_mib=int(data["MemoryInfo"]["SizeInMiB"]),
        gpus=sum(int(gpu.get("Count", 0)) for gpu in gpus if gpu.get("Manufacturer") == "NVIDIA"),
        gpu_name=str(gpus[0].get("Name", "")) if gpus else "",
        gpu_memory_mib=int(gpus[0].get("MemoryInfo", {}).get("SizeInMiB", 0)) if gpus else 0,
        neuron_devices=sum(int(one.get("Count", 0)) for one in neurons),
        neuron_cores=sum(int(one.get("Count", 0)) * int(one.get("CoreInfo", {}).get("Count", 0)) for one in neurons),
        efa_interfaces=_efa_interfaces(network, cards),
        network_cards=int(network.get("MaximumNetworkCards", len(cards) or 1)),
        first_card_has_efa=_first_card_has_efa(cards),
        architecture=next(iter(data.get("ProcessorInfo", {}).get("SupportedArchitectures") or ["x86_64"])),
        usage_classes=tuple(data.get("SupportedUsageClasses") or ("on-demand",)),
        placement_strategies=tuple(data.get("PlacementGroupInfo", {}).get("SupportedStrategies") or ()),
        network_gbps=_gbps(network.get("NetworkPerformance", "")),
    )


def _gbps(performance: str) -> float | None:
    """`100 Gigabit` as 100; None for `Up to 25 Gigabit`, which is no promise, and for words without a number."""
    found = re.fullmatch(r"(?:\d+x ?)?([\d.]+) Gigabit", performance.strip())
    times = re.match(r"(\d+)x", performance.strip())
    return float(found[1]) * (int(times[1]) if times else 1) if found else None


def _efa_interfaces(network: Mapping[str, Any], cards: Sequence[Mapping[str, Any]]) -> int:
    """Cards that take EFA, never more than EC2's maximum. The number of cards alone is wrong for p6-b300."""
    if not network.get("EfaSupported"):
        return 0
    most = network.get("EfaInfo", {}).get("MaximumEfaInterfaces")
    told = [card for card in cards if card.get("InterfaceTypes")]
    able = sum(bool(_EFA & set(card["InterfaceTypes"])) for card in told)
    if not told:
        return int(most if most is not None else 1)
    return able if most is None else min(able, int(most))


def _first_card_has_efa(cards: Sequence[Mapping[str, Any]]) -> bool:
    """True as well where EC2 does not say what a card takes: old answers lack the field."""
    first = min(cards, key=lambda card: int(card.get("NetworkCardIndex", 0)), default=None)
    kinds = set(first.get("InterfaceTypes") or ()) if first else set()
    return not kinds or "efa" in kinds
