"""On-demand prices of the sandbox, in USD per hour: us-east-1, and a steady factor for every other region.

Linux, shared tenancy, as published in July 2026. They make a rehearsal plausible and are no offer.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from clusterctl.sandbox.cloud import catalog

if TYPE_CHECKING:
    from clusterctl.sandbox.scenario import Scenario

NAT_GATEWAY_USD = 0.045
EKS_CLUSTER_USD = 0.10
EKS_EXTENDED_SUPPORT_USD = 0.50  # on top of the cluster hour
_SAME_PRICE = ("us-east-1", "us-east-2", "us-west-2")
_SIZES = {"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "8xlarge": 16, "12xlarge": 24, "16xlarge": 32}
_PER_LARGE = {
    "c5": 0.085, "c6i": 0.085, "c6g": 0.068, "c7i": 0.08925, "c7g": 0.0725,
    "m5": 0.096, "m6i": 0.096, "m6a": 0.0864, "m6g": 0.077, "m7i": 0.1008, "m7g": 0.0816,
    "r5": 0.126, "r6i": 0.126, "r6g": 0.1008, "t3": 0.0832, "t3a": 0.0752, "t4g": 0.0672,
}  # fmt: skip
_ACCELERATED = {
    "dl1.24xlarge": 13.10904,
    "g4dn.xlarge": 0.526, "g4dn.12xlarge": 3.912,
    "g5.xlarge": 1.006, "g5.2xlarge": 1.212, "g5.4xlarge": 1.624, "g5.8xlarge": 2.448, "g5.12xlarge": 5.672,
    "g5.16xlarge": 4.096, "g5.24xlarge": 8.144, "g5.48xlarge": 16.288,
    "g6.xlarge": 0.8048, "g6.2xlarge": 0.9776, "g6.4xlarge": 1.3232, "g6.8xlarge": 2.0144,
    "g6.12xlarge": 4.6016, "g6.16xlarge": 3.3968, "g6.24xlarge": 6.6752, "g6.48xlarge": 13.3504,
    "g6e.xlarge": 1.861, "g6e.2xlarge": 2.24208, "g6e.4xlarge": 3.00424, "g6e.8xlarge": 4.52856,
    "g6e.12xlarge": 10.49264, "g6e.16xlarge": 7.57719, "g6e.24xlarge": 15.06559, "g6e.48xlarge": 30.13118,
    "p4d.24xlarge": 21.957642, "p4de.24xlarge": 27.44705, "p5.4xlarge": 6.88, "p5.48xlarge": 55.04,
    "p5en.48xlarge": 63.296, "p6-b200.48xlarge": 113.9328, "p6-b300.48xlarge": 142.416,
    "trn1.2xlarge": 1.34375, "trn1.32xlarge": 21.50, "trn1n.32xlarge": 24.78,
}  # fmt: skip


def on_demand_usd(scenario: Scenario, region: str, instance_type: str) -> float | None:
    """USD per hour, or None where the price list has no on-demand row (sold as Capacity Blocks alone)."""
    given = scenario.prices.get(f"{region}/{instance_type}", scenario.prices.get(instance_type))
    if given is not None:
        return given
    base = _ACCELERATED.get(instance_type) or _general_purpose(instance_type)
    is_offered = instance_type in catalog.zone_ids_by_type(region)
    return round(base * region_factor(region), 6) if base and is_offered else None


def known_types(scenario: Scenario) -> list[str]:
    """The types with a price somewhere."""
    general = [f"{family}.{size}" for family in _PER_LARGE for size in _SIZES]
    return sorted({*_ACCELERATED, *general, *(name.rpartition("/")[2] for name in scenario.prices)})


def region_factor(region: str) -> float:
    """1.0 in the large US regions, up to 1.25 elsewhere."""
    if region in _SAME_PRICE:
        return 1.0
    return 1.05 + sha256(region.encode()).digest()[0] % 21 / 100


def _general_purpose(instance_type: str) -> float | None:
    family, _, size = instance_type.partition(".")
    if size not in _SIZES or family not in _PER_LARGE:
        return None
    return _PER_LARGE[family] * _SIZES[size]
