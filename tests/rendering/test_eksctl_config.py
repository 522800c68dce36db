"""What eksctl is given: accepted by its schema, and right where its schema does not look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
import yaml

from clusterctl.model.cluster import ADDONS
from clusterctl.model.instances import Accelerator
from clusterctl.model.specs import GPU_TAINT, ClusterSpec, NodegroupSpec
from clusterctl.rendering.eksctl_config import render_cluster, render_nodegroup

Accepted = Callable[[str], dict[str, Any]]

NVIDIA_TYPES = (
    "g5.12xlarge", "g5.48xlarge", "g6.12xlarge", "g6.48xlarge", "g6e.12xlarge", "g6e.48xlarge", "g7e.48xlarge",
    "g7.48xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.4xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge",
    "p6-b200.48xlarge",
)  # fmt: skip
NEURON_TYPES = ("trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge")
TYPES = [(name, Accelerator.NVIDIA) for name in NVIDIA_TYPES] + [(name, Accelerator.NEURON) for name in NEURON_TYPES]
TAGS = {"clusterctl:run": "r1", "clusterctl:cluster": "training", "clusterctl:owner": "ada@example.com"}
CLUSTER = ClusterSpec(
    name="training", region="us-east-2", version="1.34", zones=("us-east-2a", "us-east-2b"), system_type="m7i.xlarge",
    system_count=2, ami_family="AmazonLinux2023", addons=ADDONS, tags=TAGS,
)  # fmt: skip
GROUP = NodegroupSpec(
    cluster="training", region="us-east-2", name="gpu", instance_type="g6.12xlarge", accelerator=Accelerator.NVIDIA,
    zone="us-east-2b", subnet="subnet-0b", desired=2, minimum=2, maximum=2, ami_family="AmazonLinux2023", tags=TAGS,
)  # fmt: skip
RESERVATION = "cr-0123456789abcdef0"


def only_group(parsed: dict[str, Any]) -> dict[str, Any]:
    (group,) = parsed["managedNodeGroups"]
    return dict(group)


def test_the_cluster_is_accepted_and_complete(accepted: Accepted) -> None:
    assert accepted(render_cluster(CLUSTER)) == {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "training", "region": "us-east-2", "version": "1.34", "tags": TAGS},
        "availabilityZones": ["us-east-2a", "us-east-2b"],
        "vpc": {"nat": {"gateway": "Single"}},
        "iam": {"withOIDC": True},
        "autoModeConfig": {"enabled": False},
        "addons": [{"name": name} for name in ADDONS],
        "managedNodeGroups": [
            {
                "name": "system",
                "amiFamily": "AmazonLinux2023",
                "instanceType": "m7i.xlarge",
                "desiredCapacity": 2,
                "minSize": 2,
                "maxSize": 2,
                "privateNetworking": True,
                "iam": {"withAddonPolicies": {"ebs": True}},
                "volumeType": "gp3",
                "volumeSize": 100,
                "labels": {"role": "system"},
                "tags": TAGS,
            }
        ],
    }


def test_the_nodegroup_is_accepted_and_complete(accepted: Accepted) -> None:
    assert accepted(render_nodegroup(GROUP)) == {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "training", "region": "us-east-2", "tags": TAGS},
        "managedNodeGroups": [
            {
                "name": "gpu",
                "amiFamily": "AmazonLinux2023",
                "instanceType": "g6.12xlarge",
                "desiredCapacity": 2,
                "minSize": 2,
                "maxSize": 2,
                "subnets": ["subnet-0b"],
                "privateNetworking": True,
                "efaEnabled": True,
                "volumeType": "gp3",
                "volumeSize": 200,
                "labels": {"role": "gpu-worker", "nvidia.com/gpu.present": "true"},
                "tags": TAGS,
            }
        ],
    }


@pytest.mark.parametrize("reservation", ["", RESERVATION])
@pytest.mark.parametrize("subnet", ["subnet-0b", ""])
@pytest.mark.parametrize(("name", "accelerator"), TYPES)
def test_every_type_is_accepted_by_eksctl(
    accepted: Accepted, name: str, accelerator: Accelerator, subnet: str, reservation: str
) -> None:
    spec = replace(GROUP, instance_type=name, accelerator=accelerator, subnet=subnet, reservation_id=reservation)
    group = only_group(accepted(render_nodegroup(spec)))
    assert group["instanceType"] == name
    assert ("nvidia.com/gpu.present" in group["labels"]) == (accelerator is Accelerator.NVIDIA)
    assert len(group.get("subnets", [])) + len(group.get("availabilityZones", [])) == 1
    assert group["efaEnabled"] is group["privateNetworking"] is True


def test_a_reservation_is_named_with_the_one_key_that_eksctl_does_not_drop(accepted: Accepted) -> None:
    group = only_group(accepted(render_nodegroup(replace(GROUP, reservation_id=RESERVATION))))
    assert group["capacityReservation"] == {"capacityReservationTarget": {"capacityReservationID": RESERVATION}}
    assert "placement" not in group
    assert "instanceMarketOptions" not in group


def test_the_schema_would_catch_the_key_that_eksctl_drops(accepted: Accepted) -> None:
    wrong = render_nodegroup(replace(GROUP, reservation_id=RESERVATION)).replace("ReservationID", "ReservationId")
    with pytest.raises(jsonschema.ValidationError, match="capacityReservationId"):
        accepted(wrong)


def test_a_capacity_block_is_bought_on_its_own_market(accepted: Accepted) -> None:
    spec = replace(GROUP, instance_type="p5.48xlarge", reservation_id=RESERVATION, is_block=True)
    group = only_group(accepted(render_nodegroup(spec)))
    assert group["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert "placement" not in group


def test_the_group_of_a_reservation_is_the_group_of_the_nodes(accepted: Accepted) -> None:
    spec = replace(GROUP, reservation_id=RESERVATION, placement_group="pg-a")
    assert only_group(accepted(render_nodegroup(spec)))["placement"] == {"groupName": "pg-a"}


def test_without_a_cluster_the_zone_stands_for_the_subnet(accepted: Accepted) -> None:
    group = only_group(accepted(render_nodegroup(replace(GROUP, subnet=""))))
    assert group["availabilityZones"] == ["us-east-2b"]
    assert "subnets" not in group


def test_a_taint_is_what_device_plugins_tolerate(accepted: Accepted) -> None:
    group = only_group(accepted(render_nodegroup(replace(GROUP, taints=(GPU_TAINT,)))))
    assert group["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


@pytest.mark.parametrize("awkward", ["true", "1.30", "a: b #c", "- x", 'O\'Hara "quoted"', "ünï", "{{ x }}"])
def test_no_value_can_become_anything_but_a_string(accepted: Accepted, awkward: str) -> None:
    tags = {"clusterctl:owner": awkward}
    for text in (render_cluster(replace(CLUSTER, tags=tags)), render_nodegroup(replace(GROUP, tags=tags))):
        parsed = accepted(text)
        assert parsed["metadata"]["tags"] == tags
        assert only_group(parsed)["tags"] == tags


def test_the_version_is_a_string_for_yaml() -> None:
    assert yaml.safe_load(render_cluster(replace(CLUSTER, version="1.30")))["metadata"]["version"] == "1.30"
