"""What a cluster has cost: each part since it was made; a price that nobody told is never nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.cost import cluster_cost
from clusterctl.model.spending import Spent, spent

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PRICES = {"p5.48xlarge": 55.0, "m7i.xlarge": 0.2}


def since(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def so_far(cluster_h: float | None = 10, group_h: float | None = 4, gpu: str = "p5.48xlarge") -> Spent:
    cluster = ClusterState("us-east-2", "training", "ACTIVE" if cluster_h else "", created=since(cluster_h or 0))
    group = NodegroupState("us-east-2", "training", "gpu", "ACTIVE" if group_h else "", created=since(group_h or 0))
    return spent(cluster_cost((gpu, 2), ("m7i.xlarge", 2), PRICES), cluster, group, NOW, "prices of today")


def test_gpu_nodes_count_from_their_own_making_and_the_rest_from_the_clusters() -> None:
    assert so_far().usd == pytest.approx(4 * 2 * 55.0 + 10 * (2 * 0.2 + 0.10 + 0.045))
    assert so_far().hours == 10


def test_without_gpu_nodes_their_price_does_not_matter() -> None:
    assert so_far(group_h=None, gpu="new.48xlarge").usd == pytest.approx(10 * (2 * 0.2 + 0.10 + 0.045))


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    assert so_far(gpu="new.48xlarge").usd is None


def test_what_does_not_stand_has_cost_nothing_since() -> None:
    assert so_far(cluster_h=None, group_h=None).usd == 0


def test_the_document_says_whose_prices_they_are() -> None:
    assert so_far().document() == {
        "hourly_usd": pytest.approx(110.545), "spent_usd": 445.45, "hours": 10.0, "price_source": "prices of today",
    }  # fmt: skip


def test_a_clock_behind_awss_does_not_earn_money() -> None:
    assert so_far(cluster_h=-1, group_h=-1).usd == 0
