"""Zones and subnets: which ones a cluster gets, and in which ones a node group lives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.cluster_template import NetworkPlan, SubnetPlan, split_network
from clusterctl.sandbox.eksctl.config import DEFAULT_CIDR
from clusterctl.sandbox.eksctl.failure import EksctlError

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.aws import Aws
    from clusterctl.sandbox.eksctl.config import ClusterConfig, NodegroupConfig

_AVOIDED = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})


def zone_ids(aws: Aws) -> dict[str, str]:
    """Zone name -> zone id, of plain availability zones."""
    filters = [{"Name": "zone-type", "Value": ["availability-zone"]}]
    answer = aws.query("ec2", "DescribeAvailabilityZones", Filter=filters)
    return {row["zoneName"]: row["zoneId"] for row in answer.get("availabilityZoneInfo") or []}


def offering_zones(aws: Aws, instance_type: str) -> list[str]:
    """The zones that offer a type."""
    filters = [{"Name": "instance-type", "Value": [instance_type]}]
    where = {"LocationType": "availability-zone", "Filter": filters}
    answer = aws.query("ec2", "DescribeInstanceTypeOfferings", **where)
    return sorted(row["location"] for row in answer.get("instanceTypeOfferingSet") or [])


def plan_network(aws: Aws, config: ClusterConfig) -> NetworkPlan:
    """The subnets of a new cluster: given ones, or a new VPC in the given or in random zones."""
    if config.vpc.get("subnets"):
        return _given_network(aws, config)
    zones = list(dict.fromkeys(config.zones)) or _random_zones(aws, config)
    return split_network(config.vpc.get("cidr") or DEFAULT_CIDR, zones)


def _random_zones(aws: Aws, config: ClusterConfig) -> list[str]:
    good = [name for name, zone_id in zone_ids(aws).items() if zone_id not in _AVOIDED]
    for nodegroup in config.nodegroups:
        for kind in nodegroup.instance_types:
            offered = offering_zones(aws, kind)
            good = [zone for zone in good if zone in offered]
    wanted = 2 if aws.region == "us-east-1" else 3
    if len(good) < 2:
        raise EksctlError(f"only {len(good)} zone(s) of the region support all instance types")
    return random.sample(good, min(wanted, len(good)))


def _given_network(aws: Aws, config: ClusterConfig) -> NetworkPlan:
    plans, vpcs = [], set()
    for kind in ("Private", "Public"):
        for alias, item in (config.vpc["subnets"].get(kind.lower()) or {}).items():
            row = _subnets(aws, [{"Name": "subnet-id", "Value": [item.get("id") or alias]}])
            if not row:
                raise EksctlError(f"The subnet ID '{item.get('id') or alias}' does not exist")
            vpcs.add(row[0]["vpcId"])
            zone = row[0]["availabilityZone"]
            if item.get("az") not in {None, zone}:
                text = f"subnet {row[0]['subnetId']} is in {zone}, not in {item['az']}"
                raise EksctlError(f"mismatch found between local and remote VPC config: {text}")
            plans.append(SubnetPlan(kind, zone, row[0]["cidrBlock"], row[0]["subnetId"]))
    if max(sum(one.kind == kind for one in plans) for kind in ("Private", "Public")) < 2:
        raise EksctlError("insufficient number of subnets, at least 2x public and/or 2x private subnets are required")
    return NetworkPlan(plans, vpc_id=vpcs.pop())


def check_offerings(aws: Aws, config: ClusterConfig, zones: list[str]) -> None:
    """eksctl wants one of the cluster's zones to offer each type."""
    for nodegroup in config.nodegroups:
        for kind in nodegroup.instance_types:
            if not set(zones) & set(offering_zones(aws, kind)):
                listed = "[" + " ".join(f'"{zone}"' for zone in zones) + "]"
                raise EksctlError(
                    f"none of the provided AZs {listed} support instance type {kind} in nodegroup {nodegroup.name}"
                )


def nodegroup_subnets(aws: Aws, nodegroup: NodegroupConfig, outputs: dict[str, str]) -> list[str]:
    """The subnets of a node group. Raises EksctlError where the cluster has none."""
    if nodegroup.subnets:
        return _chosen_subnets(aws, nodegroup, outputs)
    kind = "private" if nodegroup.private else "public"
    ids = [one for one in outputs.get(f"Subnets{kind.capitalize()}", "").split(",") if one]
    rows = _subnets(aws, [{"Name": "subnet-id", "Value": ids}]) if ids else []
    by_zone = {row["availabilityZone"]: row["subnetId"] for row in rows}
    for zone in nodegroup.zones:
        if zone not in by_zone:
            raise EksctlError(
                f"all {kind} subnets from {zone}, that the cluster was originally created on, have been deleted;"
                f" to create {kind} nodegroups within {zone} please manually set valid {kind} subnets"
                " via nodeGroup.SubnetIDs"
            )
        _check_zone(aws, nodegroup, zone)
    wanted = nodegroup.zones or _fitting_zones(aws, nodegroup, sorted(by_zone))
    return [by_zone[zone] for zone in wanted]


def _check_zone(aws: Aws, nodegroup: NodegroupConfig, zone: str) -> None:
    if any(zone not in offering_zones(aws, kind) for kind in nodegroup.instance_types):
        text = "as it does not support all required instance types"
        raise EksctlError(f"cannot create nodegroup {nodegroup.name} in availability zone {zone} {text}")


def _fitting_zones(aws: Aws, nodegroup: NodegroupConfig, zones: list[str]) -> list[str]:
    offered = [set(offering_zones(aws, kind)) for kind in nodegroup.instance_types]
    fitting = [zone for zone in zones if all(zone in one for one in offered)]
    if not fitting:
        raise EksctlError(
            f"could not find {'private' if nodegroup.private else 'public'} subnets for zones {zones} that support"
            f" {', '.join(nodegroup.instance_types)}"
        )
    return fitting


def _chosen_subnets(aws: Aws, nodegroup: NodegroupConfig, outputs: dict[str, str]) -> list[str]:
    rows = _subnets(aws, [{"Name": "vpc-id", "Value": [outputs.get("VPC", "")]}])
    known = {row["subnetId"] for row in rows}
    missing = [one for one in nodegroup.subnets if one not in known]
    if missing:
        raise EksctlError(f"subnet {missing[0]} is not attached to the cluster's VPC {outputs.get('VPC', '')}")
    return nodegroup.subnets


def _subnets(aws: Aws, filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(aws.query("ec2", "DescribeSubnets", Filter=filters).get("subnetSet") or [])


def least_network_cards(aws: Aws, instance_types: list[str]) -> int:
    """The network cards that every one of the types has. Raises EksctlError for a type without EFA."""
    answer = aws.query("ec2", "DescribeInstanceTypes", InstanceType=instance_types)
    cards = []
    for row in answer.get("instanceTypeSet") or []:
        network = row.get("networkInfo") or {}
        if network.get("efaSupported") != "true":
            text = f"instance type {row['instanceType']} does not support EFA"
            raise EksctlError(f"couldn't build network interfaces for launch template data: {text}")
        cards.append(int(network.get("maximumNetworkCards") or 1))
    return min(cards)
