"""The part of AWS that eksctl drives: CloudFormation, EKS and Auto Scaling, wired together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.eks.urls import url_paths as moto_eks_paths

from clusterctl.sandbox.cloud import catalog
from clusterctl.sandbox.cloud.autoscaling import ScalingResponse
from clusterctl.sandbox.cloud.eks.api import EksResponse
from clusterctl.sandbox.cloud.eks.clusters import ClusterStore
from clusterctl.sandbox.cloud.eks.nodegroups import NodegroupKeeper
from clusterctl.sandbox.cloud.extension import Extension, Inventory, Machines, bound_to
from clusterctl.sandbox.cloud.site import Site
from clusterctl.sandbox.cloud.stacks import resource_kinds
from clusterctl.sandbox.cloud.stacks.api import StackResponse, stack_row
from clusterctl.sandbox.cloud.stacks.store import StackStore

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.eks.launching import Node
    from clusterctl.sandbox.cloud.eks.model import Nodegroup
    from clusterctl.sandbox.cloud.world import World

_CLUSTER = "{0}/clusters/(?P<name>[^/]+)"
_ONE = "(?P<thing>[^/]+)$"
_FURTHER_EKS_PATHS = (
    f"{_CLUSTER}/updates$",
    f"{_CLUSTER}/updates/{_ONE}",
    f"{_CLUSTER}/addons$",
    f"{_CLUSTER}/addons/{_ONE}",
    f"{_CLUSTER}/addons/(?P<thing>[^/]+)/update$",
    f"{_CLUSTER}/access-entries$",
    f"{_CLUSTER}/access-entries/(?P<thing>.+)$",
    f"{_CLUSTER}/pod-identity-associations$",
    f"{_CLUSTER}/pod-identity-associations/{_ONE}",
    "{0}/cluster-versions$",
    "{0}/addons/supported-versions$",
)


class Orchestration:
    """The stores of the three services."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clusters = ClusterStore(world)
        self.keeper = NodegroupKeeper(self.clusters)
        self.stacks = StackStore(world, resource_kinds(self.keeper))

    def reset(self) -> None:
        self.clusters.reset()
        self.stacks.reset()

    def inventory(self) -> Inventory:
        """Clusters, node groups, standing stacks and scaling groups."""
        found: Inventory = {}
        for region in self.stacks.regions():
            rows = [stack_row(one) for one in self.stacks.all_in(region) if one.deleted_at is None]
            found.setdefault(region, {})["stacks"] = rows
        for cluster in self.clusters.everywhere():
            here = found.setdefault(cluster.region, {})
            here.setdefault("clusters", []).append(cluster.describe())
            here.setdefault("nodegroups", []).extend(one.describe() for one in cluster.nodegroups.values())
        return found

    def machines(self) -> Machines:
        """Clusters, and every instance of their node groups."""
        clusters = self.clusters.everywhere()
        rows = [{"name": one.name, "region": one.region, "arn": one.arn, "status": one.status} for one in clusters]
        nodes = [
            self._machine(nodegroup, node)
            for cluster in clusters
            for nodegroup in cluster.nodegroups.values()
            if nodegroup.group is not None
            for node in nodegroup.group.nodes
        ]
        return Machines(clusters=rows, machines=nodes)

    def _machine(self, nodegroup: Nodegroup, node: Node) -> dict[str, Any]:
        instance = Site(self.world, nodegroup.region).ec2.get_instance(node.instance_id)
        zone = self.world.geography.zone(nodegroup.region, node.order.zone)
        return hardware(node.order.instance_type) | {
            "instance_id": node.instance_id,
            "region": nodegroup.region,
            "zone": node.order.zone,
            "zone_id": zone.zone_id if zone else "",
            "cluster": nodegroup.cluster,
            "nodegroup": nodegroup.name,
            "instance_type": node.order.instance_type,
            "private_ip": instance.private_ip,
            "private_dns": instance.private_dns_name,
            "labels": nodegroup.node_labels,
            "taints": nodegroup.node_taints,
            "ami_type": nodegroup.ami_type,
            "efa_interfaces": node.efa_interfaces,
            "capacity_type": nodegroup.capacity_type,
            "launched_at": node.launched_s,
            "joins": node.joins,
        }


def hardware(instance_type: str) -> dict[str, Any]:
    """What a type has, in the terms of the machine list."""
    entry = catalog.describe(instance_type)
    gpus = (entry.get("GpuInfo") or {}).get("Gpus") or []
    neuron = (entry.get("NeuronInfo") or {}).get("NeuronDevices") or []
    return {
        "gpus": sum(gpu["Count"] for gpu in gpus if gpu.get("Manufacturer") == "NVIDIA"),
        "gpu_name": gpus[0]["Name"] if gpus else "",
        "neuron_devices": sum(device["Count"] for device in neuron),
        "neuron_cores": sum(device["Count"] * device["CoreInfo"]["Count"] for device in neuron),
        "vcpus": entry["VCpuInfo"]["DefaultVCpus"],
        "memory_mib": entry["MemoryInfo"]["SizeInMiB"],
        "architecture": entry["ProcessorInfo"]["SupportedArchitectures"][0],
    }


def extension(world: World) -> Extension:
    """CloudFormation, EKS and Auto Scaling."""
    parts = Orchestration(world)
    stacks, eks, scaling = (bound_to(world, one) for one in (StackResponse, EksResponse, ScalingResponse))
    stacks.store = parts.stacks
    eks.clusters, eks.keeper = parts.clusters, parts.keeper
    scaling.clusters = parts.clusters
    return Extension(
        name="orchestration",
        url_paths={
            "cloudformation": {"{0}/$": stacks.dispatch},
            "eks": dict.fromkeys((*moto_eks_paths, *_FURTHER_EKS_PATHS), eks.dispatch),
            "autoscaling": {"{0}/$": scaling.dispatch},
        },
        preload=("cloudformation", "eks", "autoscaling", "iam", "sts"),
        reset=parts.reset,
        inventory=parts.inventory,
        machines=parts.machines,
    )
