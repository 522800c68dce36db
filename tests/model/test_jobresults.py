"""Speeds read from output, and EFA against TCP: only what was proved is compared."""

from __future__ import annotations

import pytest

from clusterctl.errors import FabricError
from clusterctl.model.fabric import LogSource, Transport, judge_fabric
from clusterctl.model.jobresults import bandwidth, expectation, metrics
from clusterctl.model.trainresult import (
    Measurement,
    bandwidth_document,
    benchmark_document,
    benchmark_problem,
    fabric_problem,
    measurements,
)

TABLE = """\
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1    812.3    1.29    2.26      0    810.1    1.29    2.27      0
  1073741824     268435456     float     sum      -1   4503.1  238.44  417.27      0   4500.0  238.61  417.56      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 209.84
""".splitlines()


def run(transport: str, number: int, network: str, rate: float) -> list[str]:
    lines = {"efa": "NET/OFI Selected provider is efa", "tcp": "Using network Socket"}[network]
    return [
        f"clusterctl-measure: {transport} {number} host=h",
        *(f"h{node}:1:1 [0] NCCL INFO {lines}" for node in (0, 1)),
        f"size_bytes=1024 seconds=0.1 busbw_gbs={rate}",
    ]


def measured(*runs: list[str]) -> tuple[Measurement, ...]:
    source = LogSource("launcher", "system", tuple(line for one in runs for line in one))
    return measurements([source], {"h0": "a", "h1": "b"}, ("a", "b"))


def test_the_table_of_nccl_tests_is_read_with_and_without_mpiruns_prefix() -> None:
    found = bandwidth(TABLE)
    assert found is not None
    assert (found.peak_gbs, found.size_bytes, found.average_gbs) == (417.27, 2**30, 209.84)
    assert bandwidth([f"[1,0]<stdout>:{line}" for line in TABLE]) == found
    assert bandwidth(["no table here"]) is None


def test_bandwidth_is_set_against_the_line_rate_and_its_source() -> None:
    found = bandwidth_document(bandwidth(TABLE), 3200.0)
    assert found is not None
    assert (found["expected_gbs"], found["low"]) == (400.0, False)
    assert "NetworkPerformance" in found["source"]
    slow = bandwidth_document(bandwidth(TABLE[:2]), 3200.0)
    assert slow is not None
    assert slow["low"]
    assert expectation(None) is None


def test_the_last_value_of_a_metric_counts() -> None:
    assert metrics(["step=1 loss=4.0", "step=2 loss=1.5e-1 tokens_per_second=100"]) == {
        "loss": 0.15,
        "tokens_per_second": 100.0,
    }


def test_a_benchmark_gives_median_spread_and_ratio() -> None:
    found = measured(
        run("efa", 1, "efa", 4.0), run("tcp", 1, "tcp", 2.0), run("efa", 2, "efa", 4.4), run("tcp", 2, "tcp", 1.8),
        run("efa", 3, "efa", 4.1), run("tcp", 3, "tcp", 2.2),
    )  # fmt: skip
    told = benchmark_document(found)
    assert told["efa"] == {"median": 4.1, "low": 4.0, "high": 4.4, "runs": 3}
    assert told["ratio"] == pytest.approx(2.05)
    assert benchmark_problem(found) is None


def test_a_run_over_something_else_than_asked_is_not_compared() -> None:
    found = measured(run("efa", 1, "tcp", 2.0), run("tcp", 1, "tcp", 2.0))
    told = benchmark_document(found)
    assert (told["efa"], told["ratio"]) == (None, None)
    problem = benchmark_problem(found)
    assert isinstance(problem, FabricError)
    assert "efa run 1 shows tcp" in problem.message


def test_a_benchmark_without_a_measurement_proves_nothing() -> None:
    assert benchmark_problem(measured()) is not None


@pytest.mark.parametrize("network", ["Selected provider is tcp", "nothing"])
def test_a_job_that_is_not_provably_over_efa_is_an_error(network: str) -> None:
    verdict = judge_fabric(("a",), {"a": [f"h:1:1 [0] NCCL INFO NET/OFI {network}"]}, required=True)
    problem = fabric_problem(verdict, efa=1)
    assert problem is not None
    assert (problem.exit_code, bool(problem.hint)) == (11, True)
    assert verdict.transport in (Transport.TCP, Transport.UNKNOWN)
