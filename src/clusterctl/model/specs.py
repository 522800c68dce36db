"""What a cluster and a node group are to look like, before eksctl's words are found for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterctl.errors import UsageError
from clusterctl.model.capacity import Reservation, Zone
from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.names import nearest

SYSTEM_NODEGROUP = "system"
GPU_TAINT = ("nvidia.com/gpu", "present", "NoSchedule")
MOST_ZONES = 8  # eksctl cuts a /16 into 16 subnets of /19 and smaller: two for each zone
FEWEST_ZONES = 2  # EKS wants its control plane in two

_DRIVERS = {  # AMI families that eksctl takes, and the accelerators that their images bring drivers for
    "AmazonLinux2023": {Accelerator.NVIDIA, Accelerator.NEURON},
    "Bottlerocket": {Accelerator.NVIDIA},
}


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A cluster with a system node group. `zones` are all zones in which GPU nodes may ever have to live."""

    name: str
    region: str
    version: str
    zones: tuple[str, ...]
    system_type: str
    system_count: int
    ami_family: str
    addons: tuple[str, ...]
    tags: dict[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class NodegroupSpec:
    """A GPU node group in one subnet. Without a cluster there is no subnet yet, and the zone stands for it."""

    cluster: str
    region: str
    name: str
    instance_type: str
    accelerator: Accelerator
    zone: str
    subnet: str
    desired: int
    minimum: int
    maximum: int
    ami_family: str
    reservation_id: str = ""
    is_block: bool = False
    placement_group: str = ""
    taints: tuple[tuple[str, str, str], ...] = ()
    tags: dict[str, str] = field(default_factory=dict, hash=False)


def cluster_zones(zones: Sequence[Zone], wanted: Iterable[str]) -> tuple[str, ...]:
    """The zones of a new cluster: those `wanted` that run EKS, first ones first if too many, others if too few.

    A zone that the cluster is made without can never be fallen back to. Raises UsageError if two cannot be found.
    """
    running = {zone.name for zone in zones if zone.runs_eks}
    chosen = [name for name in dict.fromkeys(wanted) if name in running][:MOST_ZONES]
    padding = sorted(running - set(chosen))
    chosen += padding[: max(0, FEWEST_ZONES - len(chosen))]
    if len(chosen) < FEWEST_ZONES:
        raise UsageError(
            f"EKS needs two zones, and only {', '.join(chosen) or 'none'} can run it here",
            hint="choose another region",
        )
    return tuple(sorted(chosen))


def placement_group(reservation: Reservation | None) -> str:
    """The placement group to name. Any other group could keep instances out of the reservation's own hardware.

    A capacity block decides placement itself; so does a reservation made without a group.
    """
    if reservation is None or reservation.is_block:
        return ""
    return reservation.placement_group_arn.rpartition("/")[2]


def check_launchable(kind: InstanceType) -> None:
    """Refuse a type for which eksctl writes network interfaces that EC2 will not start."""
    if not kind.first_card_has_efa:
        raise UsageError(
            f"{kind.name} has no EFA on its first network card, and eksctl would ask for one there",
            hint="choose another type: clusterctl probe -t p5.48xlarge,p6-b200.48xlarge",
        )


def check_ami_family(family: str, accelerator: Accelerator) -> None:
    """Refuse an image without the driver of the accelerator: such nodes join and show no devices."""
    if family not in _DRIVERS:
        meant = nearest(family, _DRIVERS)
        raise UsageError(
            f"NODE_AMI_FAMILY {family} brings no accelerator drivers",
            hint=f"did you mean {meant}?" if meant else f"choose from {', '.join(_DRIVERS)}",
        )
    if accelerator is not Accelerator.NONE and accelerator not in _DRIVERS[family]:
        raise UsageError(
            f"NODE_AMI_FAMILY {family} has no driver for {accelerator.value}", hint="choose AmazonLinux2023"
        )
