"""How large a job is on the nodes that are there: every number comes from EC2 or from allocatable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterctl.model.instances import InstanceType
from clusterctl.model.pods import PodFacts
from clusterctl.model.quantities import CPU, HUGE_PAGES, MEMORY, total
from clusterctl.model.verification import EFA, GPU, NEURON, NodeFacts

HUGE_PAGES_MIB = 5120  # what libfabric's EFA provider asks for at most; EKS reserves 5128 pages of 2 MiB
SPARE_CPU_MILLIS = 1000
MEMORY_SHARE = 0.9  # of what is free; the rest is for page cache and pods that come later
SHM_SHARE = 0.25
LEAST_SHM_MIB = 1024


@dataclass(frozen=True, slots=True)
class JobSize:
    """What each node of a job gets, and how many ranks that makes."""

    nodes: tuple[str, ...]
    instance_type: str
    architecture: str  # as Kubernetes spells it: amd64, arm64
    cpu: int
    memory_mib: int
    shm_mib: int
    gpus: int = 0
    efa: int = 0
    neuron: int = 0
    neuron_cores: int = 0
    hugepages_mib: int = 0

    @property
    def node_count(self) -> int:
        return len(self.nodes)

    @property
    def processes(self) -> int:
        """Ranks on a node: one a GPU, one a Neuron core, or one."""
        return self.gpus or self.neuron_cores or 1

    @property
    def ranks(self) -> int:
        return self.node_count * self.processes

    @property
    def resources(self) -> dict[str, str]:
        """Requests, which equal limits: the pods are in the Guaranteed class."""
        amounts = {CPU: str(self.cpu), MEMORY: f"{self.memory_mib}Mi"}
        devices = {GPU: self.gpus, EFA: self.efa, NEURON: self.neuron}
        amounts |= {name: str(count) for name, count in devices.items() if count}
        return amounts | ({HUGE_PAGES: f"{self.hugepages_mib}Mi"} if self.hugepages_mib else {})


def free_on(node: NodeFacts, pods: Iterable[PodFacts]) -> dict[str, int]:
    """What the node can still give: allocatable less the requests of pods that run on it."""
    taken = total(pod.requests for pod in pods if pod.node == node.name and not pod.finished)
    return {name: amount - taken.get(name, 0) for name, amount in node.allocatable.items()}


def size_job(nodes: Sequence[NodeFacts], pods: Sequence[PodFacts], kind: InstanceType) -> JobSize:
    """All devices of these nodes; CPU and memory that the least free of them has. `nodes` must not be empty."""
    free = [free_on(node, pods) for node in nodes]
    memory = int(_least(free, MEMORY) * MEMORY_SHARE)
    huge = min(HUGE_PAGES_MIB, _least(free, HUGE_PAGES)) if kind.efa_interfaces else 0
    return JobSize(
        nodes=tuple(node.name for node in nodes),
        instance_type=kind.name,
        architecture=nodes[0].architecture,
        cpu=max((_least(free, CPU) - SPARE_CPU_MILLIS) // 1000, 1),
        memory_mib=max(memory, 1),
        shm_mib=max(int(memory * SHM_SHARE), LEAST_SHM_MIB),
        gpus=kind.gpus,
        efa=kind.efa_interfaces,
        neuron=kind.neuron_devices,
        neuron_cores=kind.neuron_cores,
        hugepages_mib=max(huge, 0),
    )


def _least(free: Iterable[Mapping[str, int]], name: str) -> int:
    return min(max(one.get(name, 0), 0) for one in free)
