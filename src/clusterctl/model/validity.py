"""What can be wrong with a question once the regions have answered it, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from clusterctl.errors import UsageError
from clusterctl.model.capacity import Question, RegionFacts, Zone
from clusterctl.model.cluster import NodegroupState
from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.names import nearest
from clusterctl.model.specs import check_launchable

_REGION_OF_ZONE = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d+(?=[a-z]$)")
LARGEST_REGIONS = ("us-east-1", "us-west-2")  # where instance types appear first


class TypeNames(Protocol):
    """What else is known of the names of instance types."""

    def instance_type(self, region: str, name: str) -> InstanceType | None: ...
    def similar_types(self, region: str, name: str) -> tuple[str, ...]: ...


def check_types(question: Question, facts: Sequence[RegionFacts], gpus_per_node: int | None, names: TypeNames) -> None:
    """Raises UsageError for a type that EC2 does not know, or on which training across nodes is not possible."""
    for name in question.instance_types:
        kind = next((region.types[name] for region in facts if name in region.types), None)
        if kind:
            _check_kind(kind, gpus_per_node)
        elif not any("types" in region.problems or "survey" in region.problems for region in facts):
            raise _unknown_type(name, question.regions, names)


def check_zones(question: Question, facts: Sequence[RegionFacts]) -> None:
    """Raises UsageError if none of the zones asked for can take the nodes, and says which zones could."""
    if not question.zones or any(not region.zones for region in facts):
        return
    known = [zone for region in facts for zone in region.zones]
    asked = [_find(name, known, question) for name in question.zones]
    problems = [_zone_problem(zone, question, facts) for zone in asked]
    if all(problems):
        raise UsageError("; ".join(dict.fromkeys(problems)), hint=_possible(question, facts))


def check_live(state: NodegroupState, question: Question, explicit: Collection[str]) -> None:
    """Raises UsageError if the caller says one thing and the node group that stands says another; names both."""
    zone_said = state.zones and question.zones and not set(question.zones) & set(state.zones)
    said = (
        (("REGION", "REGIONS"), state.region not in question.regions, ", ".join(question.regions), state.region),
        (("GPU_AZ", "AZS"), zone_said, ", ".join(question.zones), ", ".join(state.zones)),
        (
            ("GPU_NODE_TYPE", "INSTANCE_TYPES"), state.instance_type not in question.instance_types,
            ", ".join(question.instance_types), state.instance_type,
        ),
        (("GPU_NODE_COUNT",), question.nodes != state.desired, str(question.nodes), str(state.desired)),
        (
            ("CAPACITY_RESERVATION_ID",), question.reservation_id != state.named_reservation,
            question.reservation_id, state.named_reservation or "none",
        ),
    )  # fmt: skip
    for keys, differs, asked, stands in said:
        key = next((one for one in keys if one in explicit), "")
        if key and differs:
            raise UsageError(
                f"{key} is {asked}, and node group {state.name} of cluster {state.cluster} in {state.region}"
                f" stands with {stands}",
                hint=f"leave {key} out, or remove the node group first: clusterctl nodegroup --destroy",
            )


def notices(facts: Iterable[RegionFacts]) -> tuple[str, ...]:
    """The parts that AWS would not answer, in words; regions with the same reason share a line."""
    regions: dict[tuple[str, str], list[str]] = {}
    for one in facts:
        for part, failure in one.problems.items():
            regions.setdefault((part, failure.message or failure.code), []).append(one.region)
    return tuple(f"{part} unknown in {_listed(where)}: {why}" for (part, why), where in regions.items())


def _check_kind(kind: InstanceType, gpus_per_node: int | None) -> None:
    if kind.accelerator is Accelerator.NONE:
        raise UsageError(
            f"{kind.name} has {kind.vcpus} vCPUs and no GPU or Neuron device that training can use",
            hint="choose a type with accelerators: -t g6.12xlarge",
        )
    if not kind.efa_interfaces:
        chips = kind.devices.rpartition(",")[0]
        raise UsageError(
            f"{kind.name} has {chips} and no EFA interface, which training across nodes needs",
            hint="choose a larger size: -t g6.12xlarge, p5.48xlarge or trn1.32xlarge, say",
        )
    check_launchable(kind)
    if gpus_per_node is not None and gpus_per_node != kind.gpus:
        raise UsageError(
            f"GPUS_PER_NODE is {gpus_per_node}, and EC2 says that {kind.name} has {kind.gpus}",
            hint="leave GPUS_PER_NODE out: EC2 says it",
        )


def _unknown_type(name: str, regions: Sequence[str], names: TypeNames) -> UsageError:
    where = regions[0] if len(regions) == 1 else f"any of {len(regions)} regions"
    message = f"EC2 offers no instance type {name} in {where}"
    if any(names.instance_type(one, name) for one in LARGEST_REGIONS if one not in regions):
        return UsageError(message, hint=f"see where it is: clusterctl probe -a -t {name} --no-probe")
    like = names.similar_types(regions[0], name)
    hint = f"did you mean {like[0]}?" if like else f"aws ec2 describe-instance-type-offerings --region {regions[0]}"
    return UsageError(message, hint=hint)


def _find(name: str, known: Sequence[Zone], question: Question) -> Zone:
    for zone in known:
        if name in (zone.name, zone.zone_id):
            return zone
    region = _REGION_OF_ZONE.match(name)
    if region and region[0] not in question.regions:
        raise UsageError(
            f"zone {name} is in {region[0]}, which is not searched", hint=f"name its region as well: -r {region[0]}"
        )
    meant = nearest(name, [part for zone in known for part in (zone.name, zone.zone_id)])
    raise UsageError(
        f"there is no zone {name} in {', '.join(question.regions)}",
        hint=f"did you mean {meant}?" if meant else "clusterctl probe lists the zones",
    )


def _zone_problem(zone: Zone, question: Question, facts: Iterable[RegionFacts]) -> str:
    """Why a zone cannot take the nodes whatever its capacity; empty if it can."""
    region = next(one for one in facts if zone in one.zones)
    where = f"{zone.name} ({zone.zone_id})"
    if "offerings" not in region.problems and not _offers(zone, question, region):
        return f"{where} does not offer {' or '.join(question.instance_types)}"
    if not zone.runs_eks:
        return f"EKS cannot run in {where}"
    if region.subnets is not None and zone.name not in region.subnets:
        return f"cluster {question.cluster} has no private subnet in {where}"
    return ""


def _offers(zone: Zone, question: Question, region: RegionFacts) -> bool:
    return any((name, zone.zone_id) in region.offered for name in question.instance_types)


def _possible(question: Question, facts: Sequence[RegionFacts]) -> str:
    names = [
        zone.name
        for region in facts
        for zone in region.zones
        if _offers(zone, question, region) and not _zone_problem(zone, question, facts)
    ]
    return f"choose from {', '.join(names)}" if names else "choose another region (-r) or instance type (-t)"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more regions"
