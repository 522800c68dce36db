"""What a cluster costs: a price that nobody told is unknown, never nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.errors import UsageError
from clusterctl.model.cost import Cost, cluster_cost, refuse_too_dear

PRICES = {"p5.48xlarge": 55.04, "m7i.xlarge": 0.2016}


def cost(nodes: int = 2, **more: float) -> Cost:
    return cluster_cost(("p5.48xlarge", nodes), ("m7i.xlarge", 2), PRICES | more)


def test_the_sum_is_nodes_control_plane_and_nat_gateway() -> None:
    assert cost().hourly_usd == pytest.approx(2 * 55.04 + 2 * 0.2016 + 0.10 + 0.045)
    assert [line.what for line in cost().lines] == [
        "p5.48xlarge nodes", "m7i.xlarge nodes", "EKS control plane", "NAT gateway",
    ]  # fmt: skip


@given(st.integers(1, 1000))
def test_more_nodes_never_cost_less(nodes: int) -> None:
    fewer, more = cost(nodes).hourly_usd, cost(nodes + 1).hourly_usd
    assert fewer is not None
    assert more is not None
    assert more > fewer


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    unknown = cluster_cost(("p6-b200.48xlarge", 1), ("m7i.xlarge", 2), PRICES)
    assert unknown.hourly_usd is None
    assert unknown.over(timedelta(hours=4)) is None


def test_a_lifetime_has_a_price() -> None:
    hourly = cost().hourly_usd
    assert hourly is not None
    assert cost().over(timedelta(hours=4)) == pytest.approx(4 * hourly, abs=0.01)


def test_what_is_too_dear_or_of_unknown_price_is_refused() -> None:
    refuse_too_dear(cost(), None)
    refuse_too_dear(cost(), 200)
    with pytest.raises(UsageError, match=r"110.63 USD an hour is more than --max-hourly-usd 100"):
        refuse_too_dear(cost(), 100)
    with pytest.raises(UsageError, match="the price of p6 nodes is unknown, and --max-hourly-usd is 100"):
        refuse_too_dear(cluster_cost(("p6", 1), ("m7i.xlarge", 2), PRICES), 100)
    refuse_too_dear(cluster_cost(("p6", 1), ("m7i.xlarge", 2), PRICES), None)
