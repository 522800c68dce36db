"""What eksctl refuses before it touches AWS, in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from clusterctl.sandbox.eksctl.config import ClusterConfig
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.validation import check_cluster, check_creation


def config(nodegroup: dict[str, Any] | None = None, **keys: Any) -> ClusterConfig:
    raw: dict[str, Any] = {"metadata": {"name": "x", "region": "us-east-2", "version": "1.34"}, **keys}
    if nodegroup is not None:
        raw["managedNodeGroups"] = [{"name": "g", "instanceType": "g6.12xlarge", **nodegroup}]
    return ClusterConfig(raw)


RESERVED = {"capacityReservation": {"capacityReservationTarget": {"capacityReservationID": "cr-1"}}}


@pytest.mark.parametrize(
    ("nodegroup", "complaint"),
    [
        ({"instanceTypes": ["g5.xlarge"]}, "only one of instanceType or instanceTypes can be specified"),
        ({"efaEnabled": True, "availabilityZones": ["a", "b"]}, "must have only one subnet or one availability zone"),
        ({"availabilityZones": ["a"], "subnets": ["s"]}, "should be set"),
        ({"minSize": 3, "desiredCapacity": 2}, "cannot use --nodes-min=3 and --nodes"),
        ({"placement": {}}, "placement.groupName must be set and non-empty"),
        ({"capacityReservation": {"capacityReservationPreference": "capacity-reservations-only"}}, "accepted values"),
        ({"instanceMarketOptions": {"marketType": "capacity-block"}}, "cannot be set without capacityReservation"),
        ({**RESERVED, "instanceMarketOptions": {"marketType": "spot"}}, 'only accepted value is "capacity-block"'),
        ({"labels": {"kubernetes.io/x": "y"}}, "they have reserved prefixes"),
        ({"taints": [{"key": "a", "effect": "Never"}]}, "invalid taint effect"),
        ({"amiFamily": "AmazonLinux2"}, "AmazonLinux2 is not supported for Kubernetes version 1.34"),
        ({"amiFamily": "Arch"}, "AMI Family Arch is not supported"),
    ],
)  # fmt: skip
def test_a_node_group_that_cannot_be_right_is_refused(nodegroup: dict[str, Any], complaint: str) -> None:
    with pytest.raises(EksctlError) as refused:
        check_cluster(config(nodegroup))
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"availabilityZones": ["us-east-2a"]}, "2 are required (can be non-unique)"),
        ({"vpc": {"cidr": "10.0.0.0/25"}}, "VPC CIDR prefix must be between /16 and /24"),
        ({"vpc": {"nat": {"gateway": "None"}}}, "invalid vpc.nat.gateway value"),
        ({"vpc": {"clusterEndpoints": {"publicAccess": False}}}, "must have one of public or private"),
        ({"metadata": {"name": "1x", "region": "r"}}, "name must satisfy regular expression pattern"),
        ({"addonsConfig": {"autoApplyPodIdentityAssociations": True}}, '"eks-pod-identity-agent" addon must be'),
        ({"cloudWatch": {"clusterLogging": {"logRetentionInDays": 7}}}, "without enabling log types"),
    ],
)
def test_a_cluster_that_cannot_be_right_is_refused(keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(EksctlError) as refused:
        check_cluster(config(**keys))
    assert complaint in str(refused.value)


def test_efa_without_any_zone_passes() -> None:
    check_cluster(config({"efaEnabled": True}))
    assert config({"efaEnabled": True}).nodegroups[0].zones == []


def test_node_groups_are_refused_in_a_cluster_made_with_auto_mode() -> None:
    with pytest.raises(EksctlError, match="when Auto Mode is enabled"):
        check_creation(config({}, autoModeConfig={"enabled": True}))
