"""Leftovers in the network: load balancers, target groups, gateways, interfaces, addresses, security groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from clusterctl.adapters.aws.leftover_search import ELSEWHERE, UNMARKED, Finder, Search, tags_of
from clusterctl.model.leftovers import Resource, ResourceKind

_TAGS_AT_ONCE = 20  # of both load balancing services
_SERVICES_OWN = ("ELB ", "Amazon EKS ", "Interface for NAT Gateway", "EFS mount target", "VPC Endpoint Interface")


def _load_balancers(search: Search) -> Iterator[Resource]:
    client = search.client("elbv2")
    listed = _pages(client, "describe_load_balancers", "LoadBalancers")
    for one, tags in _with_tags(listed, lambda some: client.describe_tags(ResourceArns=some), "LoadBalancerArn"):
        found = search.resource(ResourceKind.LOAD_BALANCER, one["LoadBalancerArn"], tags)
        found = search.inside(found, one.get("VpcId"))
        if found.owned or _in_vpc(search, one.get("VpcId")):
            yield found


def _classic_load_balancers(search: Search) -> Iterator[Resource]:
    client = search.client("elb")
    listed = _pages(client, "describe_load_balancers", "LoadBalancerDescriptions")
    ask = lambda some: client.describe_tags(LoadBalancerNames=some)  # noqa: E731 - the two services differ in this only
    for one, tags in _with_tags(listed, ask, "LoadBalancerName"):
        found = search.resource(ResourceKind.CLASSIC_LOAD_BALANCER, one["LoadBalancerName"], tags)
        found = search.inside(found, one.get("VPCId"))
        if found.owned or _in_vpc(search, one.get("VPCId")):
            yield found


def _target_groups(search: Search) -> Iterator[Resource]:
    client = search.client("elbv2")
    listed = _pages(client, "describe_target_groups", "TargetGroups")
    for one, tags in _with_tags(listed, lambda some: client.describe_tags(ResourceArns=some), "TargetGroupArn"):
        found = search.inside(search.resource(ResourceKind.TARGET_GROUP, one["TargetGroupArn"], tags), one.get("VpcId"))
        if found.owned:
            yield found


def _nat_gateways(search: Search) -> Iterator[Resource]:
    for one in search.marked("describe_nat_gateways", "NatGateways"):
        if one["State"] not in ("deleting", "deleted", "failed"):
            found = search.resource(ResourceKind.NAT_GATEWAY, one["NatGatewayId"], tags_of(one))
            yield search.inside(found, one.get("VpcId"))


def _network_interfaces(search: Search) -> Iterator[Resource]:
    """Those that are attached go with what they are attached to; services' own go with the service."""
    found = {
        one["NetworkInterfaceId"]: one for one in search.marked("describe_network_interfaces", "NetworkInterfaces")
    }
    if search.vpcs:
        inside = [{"Name": "vpc-id", "Values": sorted(search.vpcs)}]
        listed = search.listed("describe_network_interfaces", "NetworkInterfaces", Filters=inside)
        found |= {one["NetworkInterfaceId"]: one for one in listed}
    for interface_id, one in found.items():
        if one["Status"] == "available" and not one.get("Description", "").startswith(_SERVICES_OWN):
            why = one.get("Description", "")
            left = search.resource(ResourceKind.NETWORK_INTERFACE, interface_id, tags_of(one))
            left = search.inside(left, one.get("VpcId"))
            yield left if left.owned or not why else replace(left, why=f"{left.why} ({why})")


def _addresses(search: Search) -> Iterator[Resource]:
    for one in search.marked("describe_addresses", "Addresses"):
        if not one.get("AssociationId"):
            yield search.resource(ResourceKind.ADDRESS, one["AllocationId"], tags_of(one))


def _security_groups(search: Search) -> Iterator[Resource]:
    found = {one["GroupId"]: one for one in search.marked("describe_security_groups", "SecurityGroups")}
    if search.vpcs:
        inside = [{"Name": "vpc-id", "Values": sorted(search.vpcs)}]
        listed = search.listed("describe_security_groups", "SecurityGroups", Filters=inside)
        found |= {one["GroupId"]: one for one in listed if one["GroupName"] != "default"}
    for group_id, one in found.items():
        left = search.resource(ResourceKind.SECURITY_GROUP, group_id, tags_of(one), one["GroupName"])
        left = search.inside(left, one.get("VpcId"))
        yield left if left.owned else replace(left, why=f"{one['GroupName']}: {_reason(left)}")


def _reason(found: Resource) -> str:
    return found.why if found.why == ELSEWHERE else UNMARKED


def _in_vpc(search: Search, vpc_id: str | None) -> bool:
    return vpc_id in search.vpcs


def _pages(client: Any, operation: str, key: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator(operation).paginate():
        yield from page[key]


def _with_tags(listed: Iterable[dict[str, Any]], ask: Any, key: str) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Each with its tags, which both services tell apart from it and for a few at once."""
    rest = iter(listed)
    while some := tuple(islice(rest, _TAGS_AT_ONCE)):
        told = {
            one.get("ResourceArn") or one["LoadBalancerName"]: tags_of(one)
            for one in ask([one[key] for one in some])["TagDescriptions"]
        }
        yield from ((one, told.get(one[key], {})) for one in some)


NETWORK: dict[ResourceKind, Finder] = {
    ResourceKind.LOAD_BALANCER: _load_balancers,
    ResourceKind.CLASSIC_LOAD_BALANCER: _classic_load_balancers,
    ResourceKind.TARGET_GROUP: _target_groups,
    ResourceKind.NAT_GATEWAY: _nat_gateways,
    ResourceKind.NETWORK_INTERFACE: _network_interfaces,
    ResourceKind.ADDRESS: _addresses,
    ResourceKind.SECURITY_GROUP: _security_groups,
}
