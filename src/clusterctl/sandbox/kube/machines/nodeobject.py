"""The Node object that a machine's kubelet registers and keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.kinds import condition, set_condition
from clusterctl.sandbox.kube.machines.taints import NOT_READY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.kube.access import Machine
    from clusterctl.sandbox.kube.machines.kinds import Obj

_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}
_READY = ("True", "KubeletReady", "kubelet is posting ready status")
_NO_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady"
    " message:Network plugin returns error: cni plugin not initialized"
)
_NOT_READY = ("False", "KubeletNotReady", _NO_NETWORK)


def provider_id(machine: Machine) -> str:
    return f"aws:///{machine.zone}/{machine.instance_id}"


def labels(machine: Machine) -> dict[str, str]:
    """The labels of the cloud, of EKS and of eksctl; the node group's own win."""
    arch = "arm64" if "arm" in machine.architecture else "amd64"
    known = {
        "kubernetes.io/hostname": machine.private_dns,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/instance-type": machine.instance_type,
        "node.kubernetes.io/instance-type": machine.instance_type,
        "topology.kubernetes.io/region": machine.region,
        "topology.kubernetes.io/zone": machine.zone,
        "topology.k8s.aws/zone-id": machine.zone_id,
        "eks.amazonaws.com/nodegroup": machine.nodegroup,
        "eks.amazonaws.com/capacityType": machine.capacity_type,
        "alpha.eksctl.io/cluster-name": machine.cluster,
        "alpha.eksctl.io/nodegroup-name": machine.nodegroup,
        "alpha.eksctl.io/instance-id": machine.instance_id,
    }
    return known | dict(machine.labels)


def new_node(machine: Machine, version: str, when: str) -> Obj:
    """The node as its kubelet registers it: not ready yet, so tainted."""
    return {
        "metadata": {
            "name": machine.private_dns,
            "labels": labels(machine),
            "annotations": {"alpha.kubernetes.io/provided-node-ip": machine.private_ip},
        },
        "spec": {
            "providerID": provider_id(machine),
            "taints": [*(dict(one) for one in machine.taints), dict(NOT_READY)],
        },
        "status": status(machine, version, when),
    }


def status(machine: Machine, version: str, when: str) -> Obj:
    """The status at registration, without extended resources."""
    return {
        "capacity": capacity(machine),
        "allocatable": allocatable(machine),
        "addresses": [
            {"type": "InternalIP", "address": machine.private_ip},
            {"type": "InternalDNS", "address": machine.private_dns},
            {"type": "Hostname", "address": machine.private_dns},
        ],
        "conditions": conditions([], when, ready=False),
        "nodeInfo": _node_info(machine, version),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }


def capacity(machine: Machine) -> dict[str, str]:
    return {
        "cpu": str(machine.vcpus),
        "memory": f"{_memory_ki(machine)}Ki",
        "pods": str(_pods(machine.vcpus)),
        "ephemeral-storage": "83864556Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }


def allocatable(machine: Machine) -> dict[str, str]:
    """Capacity less what EKS reserves: by cores, and 11 MiB a pod, 255 and 100 MiB of memory."""
    pods = _pods(machine.vcpus)
    reserved_m = 60 + 10 * (machine.vcpus > 1) + 5 * min(max(machine.vcpus - 2, 0), 2)
    reserved_m += round(2.5 * max(machine.vcpus - 4, 0))
    memory = _memory_ki(machine) - (11 * pods + 255 + 100) * 1024
    amounts = {"cpu": f"{machine.vcpus * 1000 - reserved_m}m", "memory": f"{memory}Ki"}
    return capacity(machine) | amounts | {"ephemeral-storage": "76215832858"}


def conditions(old: list[Obj], when: str, *, ready: bool) -> list[Obj]:
    """Node conditions with a fresh heartbeat."""
    beat = {"lastHeartbeatTime": when}
    for kind, (reason, message) in _PRESSURES.items():
        old = set_condition(old, {**condition(kind, "False", reason, message, when), **beat})
    return set_condition(old, {**condition("Ready", *(_READY if ready else _NOT_READY), when), **beat})


def with_extended(amounts: Mapping[str, str], offered: Mapping[str, int]) -> dict[str, str]:
    """Resource amounts with those of device plugins; what no plugin offers any more stays, as zero."""
    extended = {name: "0" for name in amounts if "/" in name}
    return {**amounts, **extended, **{name: str(count) for name, count in offered.items()}}


def _memory_ki(machine: Machine) -> int:
    return int(machine.memory_mib * 1024 * 0.97)  # firmware and kernel keep the rest


def _pods(vcpus: int) -> int:
    """Pods a node can have: addresses of its network interfaces for the common sizes."""
    for most, pods in ((2, 29), (8, 58), (48, 234)):
        if vcpus <= most:
            return pods
    return 110


def _node_info(machine: Machine, version: str) -> Obj:
    arch = "arm64" if "arm" in machine.architecture else "amd64"
    bottlerocket = "BOTTLEROCKET" in machine.ami_type.upper()
    image = "Bottlerocket OS 1.50.0 (aws-k8s)" if bottlerocket else "Amazon Linux 2023.9.20260105"
    ident = machine.instance_id.removeprefix("i-").ljust(32, "0")[:32]
    return {
        "architecture": arch,
        "bootID": ident,
        "containerRuntimeVersion": "containerd://2.1.5",
        "kernelVersion": "6.12.63-84.121.amzn2023.x86_64" if arch == "amd64" else "6.12.63-84.121.amzn2023.aarch64",
        "kubeProxyVersion": version,
        "kubeletVersion": version,
        "machineID": f"ec2{ident}"[:32],
        "operatingSystem": "linux",
        "osImage": image,
        "systemUUID": f"ec2{ident}"[:32],
    }
