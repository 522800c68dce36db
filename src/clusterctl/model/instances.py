"""What an instance type is made of, and which quota it counts against."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

ON_DEMAND_QUOTAS = {  # vCPUs of running On-Demand instances, by family; service code ec2
    "standard": "L-1216C47A",
    "g": "L-DB2E81BA",
    "p": "L-417A185B",
    "trn": "L-2C3B7624",
    "dl": "L-6E869C2A",
    "inf": "L-1945791B",
    "f": "L-74FC7D96",
    "x": "L-7295265B",
    "high-memory": "L-43DA4232",
    "hpc": "L-F7808C92",
}
_PREFIXES = {  # the longest prefix wins: trn before t, dl before d, hpc before h
    "trn": "trn", "dl": "dl", "inf": "inf", "hpc": "hpc", "vt": "g", "gr": "g", "g": "g", "p": "p", "f": "f",
    "x": "x", "u-": "high-memory", "u7": "high-memory",
}  # fmt: skip


class Accelerator(Enum):
    """Whose device plugin a node needs."""

    NVIDIA = "nvidia"
    NEURON = "neuron"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class InstanceType:
    """The facts of one instance type, as EC2's DescribeInstanceTypes gives them."""

    name: str
    vcpus: int
    memory_mib: int
    gpus: int = 0
    gpu_name: str = ""
    gpu_memory_mib: int = 0
    neuron_devices: int = 0
    neuron_cores: int = 0
    efa_interfaces: int = 0
    network_cards: int = 1
    first_card_has_efa: bool = True
    architecture: str = "x86_64"
    usage_classes: tuple[str, ...] = ("on-demand",)
    placement_strategies: tuple[str, ...] = ("cluster",)
    network_gbps: float | None = None  # NetworkPerformance, where it is a number

    @property
    def accelerator(self) -> Accelerator:
        if self.gpus:
            return Accelerator.NVIDIA
        return Accelerator.NEURON if self.neuron_devices else Accelerator.NONE

    @property
    def devices(self) -> str:
        """What one node brings, in words."""
        if self.accelerator is Accelerator.NEURON:
            chips = f"{self.neuron_devices} Neuron devices"
        else:
            chips = f"{self.gpus} {self.gpu_name or 'GPU'}".strip()
        return f"{chips}, {self.efa_interfaces} EFA"


def quota_family(instance_type: str) -> str:
    """The On-Demand quota family of a type: `g` for g6.12xlarge, `standard` for m7i.xlarge."""
    matching = [prefix for prefix in _PREFIXES if instance_type.startswith(prefix)]
    return _PREFIXES[max(matching, key=len)] if matching else "standard"


def quota_code(instance_type: str) -> str:
    return ON_DEMAND_QUOTAS[quota_family(instance_type)]
