"""On-Demand list prices in USD an hour, from the price list service, else from a table that says its date."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from clusterctl.adapters.aws.answer_cache import AnswerCache
from clusterctl.adapters.aws.faults import AWS_FAULTS, failure_of
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.failures import Failure

PRICE_REGION = "us-east-1"  # the service answers in three regions only, for all regions
LIFETIME = timedelta(hours=24)
TABLE_DATE = "2026-07-20"  # us-east-1, Linux, from GetProducts
TABLE_USD = {
    "g5.12xlarge": 5.672, "g5.48xlarge": 16.288, "g6.12xlarge": 4.6016, "g6.48xlarge": 13.3504,
    "g6e.12xlarge": 10.49264, "g6e.48xlarge": 30.13118, "p4d.24xlarge": 21.957642, "p4de.24xlarge": 27.44705,
    "p5.4xlarge": 6.88, "p5.48xlarge": 55.04, "p5en.48xlarge": 63.296, "p6-b200.48xlarge": 113.9328,
    "p6-b300.48xlarge": 142.416, "trn1.32xlarge": 21.50, "trn1n.32xlarge": 24.78, "dl1.24xlarge": 13.10904,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PriceAnswer:
    """Prices by region and type. With a `problem` they are the table's, which holds for us-east-1 at its date."""

    by_region: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    problem: Failure | None = None

    def of(self, region: str, names: Iterable[str]) -> dict[str, float]:
        """What is known for a region; a type that is not sold on demand there has no price."""
        source = TABLE_USD if self.problem else self.by_region.get(region, {})
        return {name: source[name] for name in names if name in source}


class PriceList:
    """GetProducts, one call for each type, kept for a day."""

    def __init__(self, aws: AwsSession, cache: AnswerCache) -> None:
        self._aws = aws
        self._cache = cache

    def ask(self, names: Iterable[str]) -> PriceAnswer:
        by_region: dict[str, dict[str, float]] = {}
        try:
            for name in sorted(set(names)):
                for region, price in self._type(name).items():
                    by_region.setdefault(region, {})[name] = price
        except AWS_FAULTS as fault:
            return PriceAnswer(problem=from_table(failure_of(fault)))
        return PriceAnswer(by_region)

    def _type(self, name: str) -> dict[str, float]:
        cached = self._cache.get(f"price-{name}", LIFETIME)
        if isinstance(cached, dict):
            return {str(region): float(price) for region, price in cached.items()}
        wanted = {
            "instanceType": name, "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
            "capacitystatus": "Used", "marketoption": "OnDemand",
        }  # fmt: skip
        pages = self._aws.client("pricing", PRICE_REGION).get_paginator("get_products").paginate(
            ServiceCode="AmazonEC2",
            Filters=[{"Type": "TERM_MATCH", "Field": key, "Value": value} for key, value in wanted.items()],
        )  # fmt: skip
        rows = (_read(json.loads(text)) for page in pages for text in page["PriceList"])
        prices = {region: price for region, price in rows if price}
        self._cache.put(f"price-{name}", prices)
        return prices


def from_table(failure: Failure) -> Failure:
    """The failure, saying which prices stand in."""
    said = failure.message or failure.code
    message = f"{said}; prices shown are those of {PRICE_REGION} on {TABLE_DATE}"
    return Failure(failure.cause, failure.scope, failure.remedy, failure.code, message, failure.holds_s)


def _read(row: Mapping[str, Any]) -> tuple[str, float]:
    """Region and price of one row of the list; 0 for a row that has none."""
    region = str(row["product"]["attributes"].get("regionCode", ""))
    for term in row.get("terms", {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            return region, float(dimension["pricePerUnit"].get("USD", 0))
    return region, 0.0
