"""What the templates and the bundled plugins hold."""

from __future__ import annotations

from typing import Any

from clusterctl.sandbox.eksctl.cluster_template import cluster_template, split_network
from clusterctl.sandbox.eksctl.config import ClusterConfig, NodegroupConfig
from clusterctl.sandbox.eksctl.hardware import ami_type
from clusterctl.sandbox.eksctl.nodegroup_template import NodegroupFacts, nodegroup_template
from clusterctl.sandbox.eksctl.plugins import PluginChoice, wanted_plugins

TAINTED = {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}


def nodegroup(**keys: Any) -> NodegroupConfig:
    return NodegroupConfig({"name": "gpu", "instanceType": "p5.48xlarge", **keys})


def resources(cards: int = 0, **keys: Any) -> dict[str, Any]:
    facts = NodegroupFacts("demo", "1.34", ["subnet-1"], "sg-1", cards, {})
    found: dict[str, Any] = nodegroup_template(nodegroup(**keys), facts)["Resources"]
    return found


def template_data(cards: int = 0, **keys: Any) -> dict[str, Any]:
    found: dict[str, Any] = resources(cards, **keys)["LaunchTemplate"]["Properties"]["LaunchTemplateData"]
    return found


def test_a_public_and_a_private_subnet_per_zone_share_the_network() -> None:
    plan = split_network("192.168.0.0/16", ["a", "b", "c"])
    assert [one.cidr for one in plan.of_kind("Public")] == ["192.168.0.0/19", "192.168.32.0/19", "192.168.64.0/19"]
    assert plan.of_kind("Private")[0].cidr == "192.168.96.0/19"
    assert split_network("192.168.0.0/16", list("abcdefgh")).subnets[-1].cidr.endswith("/20")


def test_one_nat_gateway_serves_every_private_subnet() -> None:
    config = ClusterConfig({"metadata": {"name": "demo", "region": "r"}})
    made = cluster_template(config, split_network("192.168.0.0/16", ["us-east-2a", "us-east-2b"]))["Resources"]
    assert sum(item["Type"] == "AWS::EC2::NatGateway" for item in made.values()) == 1
    assert {"NATPrivateSubnetRouteUSEAST2A", "NATPrivateSubnetRouteUSEAST2B"} <= set(made)


def test_efa_gives_every_network_card_an_interface() -> None:
    interfaces = template_data(32, efaEnabled=True)["NetworkInterfaces"]
    assert [one["NetworkCardIndex"] for one in interfaces] == list(range(32))
    assert [one["DeviceIndex"] for one in interfaces] == [0] + [1] * 31
    assert {one["InterfaceType"] for one in interfaces} == {"efa"}


def test_efa_brings_a_placement_group_unless_there_is_a_reservation_or_a_named_one() -> None:
    target = {"capacityReservationTarget": {"capacityReservationID": "cr-1"}}
    assert "NodeGroupPlacementGroup" in resources(1, efaEnabled=True)
    assert "NodeGroupPlacementGroup" not in resources(1, efaEnabled=True, capacityReservation=target)
    named = resources(1, efaEnabled=True, placement={"groupName": "mine"})
    assert "NodeGroupPlacementGroup" not in named
    assert template_data(1, efaEnabled=True, placement={"groupName": "mine"})["Placement"] == {"GroupName": "mine"}


def test_a_capacity_block_moves_the_type_into_the_launch_template() -> None:
    target = {"capacityReservationTarget": {"capacityReservationID": "cr-1"}}
    keys = {"capacityReservation": target, "instanceMarketOptions": {"marketType": "capacity-block"}}
    data, managed = template_data(**keys), resources(**keys)["ManagedNodeGroup"]["Properties"]
    assert data["InstanceType"] == "p5.48xlarge"
    assert data["InstanceMarketOptions"] == {"MarketType": "capacity-block"}
    assert managed["CapacityType"] == "CAPACITY_BLOCK"
    assert "InstanceTypes" not in managed


def test_a_type_that_eksctl_does_not_know_gets_an_image_without_driver() -> None:
    assert ami_type("AmazonLinux2023", ["p5.48xlarge"]) == "AL2023_x86_64_NVIDIA"
    assert ami_type("AmazonLinux2023", ["trn1.32xlarge"]) == "AL2023_x86_64_NEURON"
    assert ami_type("AmazonLinux2023", ["g5g.xlarge"]) == "AL2023_ARM_64_NVIDIA"
    assert ami_type("AmazonLinux2023", ["c7gn.large"]) == "AL2023_ARM_64_STANDARD"
    assert ami_type("AmazonLinux2023", ["g99.xlarge"]) == "AL2023_x86_64_STANDARD"


def test_the_efa_plugin_neither_knows_new_types_nor_tolerates_the_gpu_taint() -> None:
    (manifest, _), *rest = wanted_plugins([nodegroup(efaEnabled=True, **TAINTED)], PluginChoice(nvidia=False))
    pod = manifest["spec"]["template"]["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    types = terms[0]["matchExpressions"][0]["values"]
    assert rest == []
    assert manifest["metadata"]["name"] == "aws-efa-k8s-device-plugin"
    assert "p5.48xlarge" in types
    assert not {"p5.4xlarge", "p6-b200.48xlarge", "g7e.48xlarge"} & set(types)
    assert {one["key"] for one in pod["tolerations"]} == {"CriticalAddonsOnly", "aws.amazon.com/efa"}


def test_the_nvidia_plugin_comes_unless_it_is_turned_off() -> None:
    names = [what for _, what in wanted_plugins([nodegroup(**TAINTED)], PluginChoice())]
    assert names == ["kube-system:DaemonSet.apps/nvidia-device-plugin-daemonset"]
    assert wanted_plugins([nodegroup(**TAINTED)], PluginChoice(nvidia=False)) == []
