"""What came of a training job, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterctl.cli.tables import check_lines, table

_NODES = ("Node", "Transport", "?Provider", "?#NICs", "GPUDirect", "?Network RDMA", "?fi_info")
_PODS = ("Pod", "Phase", "Node", "Why")


def result_lines(document: Mapping[str, Any], *, color: bool) -> Iterable[str]:
    """Checks that failed, the job, the nodes' evidence, and the measurements."""
    failed = [check for check in document["checks"] if not check["ok"]]
    yield from check_lines({"checks": failed})
    job = document["job"]
    if job["state"] == "not-started":
        return
    yield f"{job['name']}: {job['state']} in {job['seconds']:.0f} s, {job['ranks']} ranks on {job['nodes']} nodes"
    rows = [
        (
            node["name"].split(".")[0],
            node["transport"],
            node["provider"] or "-",
            "-" if node["nics"] is None else str(node["nics"]),
            node["gpudirect_rdma"],
            node["network_rdma"],
            node["fi_info"],
        )
        for node in document["nodes"]
    ]
    yield table("Fabric, from each node's own lines", _NODES, rows, color=color)
    yield f"verdict: {document['verdict']}" + (f" ({document['reason']})" if document["reason"] else "")
    yield from _metric_lines(document["metrics"])
    if document["benchmark"]:
        yield from _benchmark_lines(document["benchmark"])


def _metric_lines(metrics: Mapping[str, Any]) -> Iterable[str]:
    for name, value in metrics.items():
        if name != "bus_bandwidth":
            yield f"{name}: {value:g}"
    bus = metrics.get("bus_bandwidth")
    if bus:
        against = f", {bus['share']:.0%} of {bus['expected_gbs']:g} GB/s" if bus["expected_gbs"] else ""
        low = " - LOW" if bus["low"] else ""
        yield f"bus bandwidth: {bus['peak_gbs']:g} GB/s at {bus['at_bytes']} bytes{against}{low} ({bus['source']})"


def _benchmark_lines(benchmark: Mapping[str, Any]) -> Iterable[str]:
    for name in ("efa", "tcp"):
        spread = benchmark[name]
        if spread:
            low, high = spread["low"], spread["high"]
            yield f"{name}: {spread['median']:g} {benchmark['unit']} ({low:g} to {high:g} in {spread['runs']} runs)"
    if benchmark["ratio"]:
        yield f"EFA is {benchmark['ratio']:.2f} times TCP"


def status_lines(document: Mapping[str, Any], *, color: bool) -> Iterable[str]:
    job = document["job"]
    run = f" (run {job['run_id']})" if job["run_id"] else ""
    yield f"{job['name']}: {job['state']}{run}" + (f": {job['message']}" if job["message"] else "")
    rows = [(pod["name"], pod["phase"], pod["node"].split(".")[0] or "-", pod["why"]) for pod in document["pods"]]
    if rows:
        yield table("Pods", _PODS, rows, color=color)
