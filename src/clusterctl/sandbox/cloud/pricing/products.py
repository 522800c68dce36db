"""The rows of the price list that a filter selects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.cloud import catalog, prices

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.world import World

Attributes = dict[str, str]


@dataclass(frozen=True, slots=True)
class Product:
    """One row: what it is, and its price per unit."""

    service: str
    family: str
    attributes: Attributes
    usd: float
    unit: str = "Hrs"

    def matches(self, wanted: Attributes) -> bool:
        """TERM_MATCH on every field; productFamily and serviceCode count as fields."""
        fields = {"productFamily": self.family, "serviceCode": self.service, "servicecode": self.service}
        fields |= self.attributes
        return all(fields.get(name, "").lower() == value.lower() for name, value in wanted.items())

    def row(self) -> dict[str, Any]:
        """The row as the price list has it."""
        sku = sha256(repr(self).encode()).hexdigest()[:16].upper()
        price = {
            "rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7",
            "unit": self.unit,
            "beginRange": "0",
            "endRange": "Inf",
            "pricePerUnit": {"USD": f"{self.usd:.10f}"},
        }
        term = {"sku": sku, "priceDimensions": {price["rateCode"]: price}, "termAttributes": {}}
        product = {"sku": sku, "productFamily": self.family, "attributes": self.attributes}
        terms = {"OnDemand": {f"{sku}.JRTCKXETXF": term}}
        return {"serviceCode": self.service, "product": product, "terms": terms, "version": "20260720000000"}


def find(world: World, service: str, wanted: Attributes) -> list[Product]:
    """Every product of a service that has all the wanted attributes."""
    region = wanted.get("regionCode")
    regions = [region] if region else sorted(world.geography.enabled)
    found: list[Product] = []
    for place in regions:
        found += [product for product in _in_region(world, service, place, wanted) if product.matches(wanted)]
    return found


def _in_region(world: World, service: str, region: str, wanted: Attributes) -> Iterator[Product]:
    if service == "AmazonEKS":
        yield from _eks(region)
    if service == "AmazonEC2":
        yield from _nat(region)
        given = wanted.get("instanceType")
        for instance_type in [given] if given else prices.known_types(world.scenario):
            yield from _instances(world, region, instance_type)


def _instances(world: World, region: str, instance_type: str) -> Iterator[Product]:
    """The on-demand row, and the rows that come along when a filter does not exclude them."""
    if not catalog.exists(instance_type):
        return
    usd = prices.on_demand_usd(world.scenario, region, instance_type)
    if usd is not None:
        yield _instance(region, instance_type, usd, "Used", "OnDemand")
        yield _instance(region, instance_type, usd, "UnusedCapacityReservation", "OnDemand")
        yield _instance(region, instance_type, 0.0, "AllocatedCapacityReservation", "OnDemand")
    if "capacity-block" in catalog.describe(instance_type).get("SupportedUsageClasses", ()):
        yield _instance(region, instance_type, 0.0, "AllocatedCapacityReservation", "CapacityBlock")


def _instance(region: str, instance_type: str, usd: float, status: str, market: str) -> Product:
    attributes = {
        "servicecode": "AmazonEC2",
        "regionCode": region,
        "locationType": "AWS Region",
        "instanceType": instance_type,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "licenseModel": "No License required",
        "tenancy": "Shared",
        "capacitystatus": status,
        "marketoption": market,
        "operation": "RunInstances",
        "vcpu": str(catalog.vcpus(instance_type)),
    }
    return Product("AmazonEC2", "Compute Instance", attributes, usd)


def _nat(region: str) -> Iterator[Product]:
    usd = round(prices.NAT_GATEWAY_USD * prices.region_factor(region), 4)
    for usage, unit in (("NatGateway-Hours", "Hrs"), ("NatGateway-Bytes", "GB")):
        attributes = {
            "servicecode": "AmazonEC2",
            "regionCode": region,
            "group": "NGW:NatGateway",
            "operation": "NatGateway",
            "usagetype": usage,
        }
        yield Product("AmazonEC2", "NAT Gateway", attributes, usd, unit)


def _eks(region: str) -> Iterator[Product]:
    rows = (
        ("AmazonEKS-Hours:perCluster", "CreateOperation", prices.EKS_CLUSTER_USD),
        ("AmazonEKS-Hours:extendedSupport", "ExtendedSupport", prices.EKS_EXTENDED_SUPPORT_USD),
    )
    for usage, operation, usd in rows:
        attributes = {
            "servicecode": "AmazonEKS",
            "regionCode": region,
            "operation": operation,
            "usagetype": usage,
            "tiertype": "HAStandard",
        }
        yield Product("AmazonEKS", "Compute", attributes, usd)
