"""Which subnets of a cluster are private: their route table says it, no name and no tag does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterctl.adapters.aws.session import AwsSession


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet, where it is and how many addresses it has left."""

    subnet_id: str
    zone: str
    free_addresses: int
    private: bool


def subnets_of(session: AwsSession, region: str, vpc_id: str, subnet_ids: Sequence[str]) -> tuple[Subnet, ...]:
    """Subnets of one VPC, with their kind. An internet gateway behind the default route makes one public."""
    if not subnet_ids:
        return ()
    ec2 = session.client("ec2", region)
    subnets = _all(ec2, "describe_subnets", "Subnets", "subnet-id", subnet_ids)
    tables = _all(ec2, "describe_route_tables", "RouteTables", "vpc-id", [vpc_id])
    by_subnet, main = _tables(tables)
    return tuple(
        Subnet(
            one["SubnetId"],
            one["AvailabilityZone"],
            int(one.get("AvailableIpAddressCount", 0)),
            not _opens_to_the_internet(by_subnet.get(one["SubnetId"], main)),
        )
        for one in subnets
    )


def private_by_zone(subnets: Iterable[Subnet]) -> dict[str, str]:
    """Zone name -> the private subnet with the most free addresses."""
    roomiest = sorted((one for one in subnets if one.private), key=lambda one: (one.free_addresses, one.subnet_id))
    return {one.zone: one.subnet_id for one in roomiest}


def zones_of(session: AwsSession, region: str, subnet_ids: Sequence[str]) -> tuple[str, ...]:
    """The zones of subnets, each named once."""
    if not subnet_ids:
        return ()
    found = _all(session.client("ec2", region), "describe_subnets", "Subnets", "subnet-id", subnet_ids)
    return tuple(sorted({one["AvailabilityZone"] for one in found}))


def _all(client: Any, call: str, key: str, name: str, values: Sequence[str]) -> list[dict[str, Any]]:
    """Every page; by filter and not by id, since one id that is gone makes the whole call fail."""
    pages = client.get_paginator(call).paginate(Filters=[{"Name": name, "Values": list(values)}])
    return [item for page in pages for item in page[key]]


def _tables(tables: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Mapping[str, Any]], Mapping[str, Any]]:
    """Route tables by the subnet that names them, and the VPC's main one for all others."""
    by_subnet: dict[str, Mapping[str, Any]] = {}
    main: Mapping[str, Any] = {}
    for table in tables:
        for association in table.get("Associations", ()):
            if association.get("Main"):
                main = table
            if association.get("SubnetId"):
                by_subnet[association["SubnetId"]] = table
    return by_subnet, main


def _opens_to_the_internet(table: Mapping[str, Any]) -> bool:
    return any(
        route.get("DestinationCidrBlock") == "0.0.0.0/0" and str(route.get("GatewayId", "")).startswith("igw-")
        for route in table.get("Routes", ())
    )
