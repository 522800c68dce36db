"""The JSON of `train`, schema clusterctl/train/v1: job, checks, every node's evidence, measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusterctl.errors import ClusterctlError, FabricError
from clusterctl.model.fabric import FabricVerdict, LogSource, NodeEvidence, Transport, attribute, judge_fabric
from clusterctl.model.jobresults import LEAST_SHARE, Bandwidth, Spread, bandwidth, expectation, metrics
from clusterctl.model.verification import Check, CheckState

_MEASURE = re.compile(r"clusterctl-measure: (?P<transport>\w+) (?P<number>\d+)")
_RATE = "tokens_per_second"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement of a benchmark: what was asked for, what its lines prove, and how fast it was."""

    transport: str
    number: int
    proved: Transport
    value: float | None
    unit: str

    @property
    def counts(self) -> bool:
        """Only what ran over what was asked for may be compared."""
        return self.value is not None and self.proved.value == self.transport


def measurements(sources: Sequence[LogSource], hosts: dict[str, str], nodes: Sequence[str]) -> tuple[Measurement, ...]:
    """The measurements in a job's output, each judged by its own lines."""
    parts: dict[tuple[str, int], list[LogSource]] = {}
    for source in sources:
        for key, lines in _split(source.lines).items():
            parts.setdefault(key, []).append(LogSource(source.pod, source.node, tuple(lines)))
    return tuple(_measured(key, found, hosts, nodes) for key, found in parts.items())


def benchmark_document(found: Sequence[Measurement]) -> dict[str, Any]:
    """Median and spread of each transport, and EFA over TCP; null where a side has nothing that was proved."""
    spreads = {name: _spread(found, name) for name in ("efa", "tcp")}
    efa, tcp = spreads["efa"], spreads["tcp"]
    return {
        "unit": found[0].unit if found else None,
        "runs": [
            {"transport": one.transport, "number": one.number, "proved": one.proved.value, "value": one.value}
            for one in found
        ],
        **{name: _spread_document(spread) for name, spread in spreads.items()},
        "ratio": efa.median / tcp.median if efa and tcp and tcp.median else None,
    }


def benchmark_problem(found: Sequence[Measurement]) -> ClusterctlError | None:
    """FabricError where a measurement ran over something else than was asked for."""
    strays = [one for one in found if not one.counts]
    if not strays and found:
        return None
    first = strays[0] if strays else None
    said = f"{first.transport} run {first.number} shows {first.proved.value}" if first else "nothing was measured"
    return FabricError(f"the benchmark proves nothing: {said}", hint="clusterctl verify; -v shows NCCL's lines")


def bandwidth_document(found: Bandwidth | None, network_gbps: float | None) -> dict[str, Any] | None:
    """Bus bandwidth against what the type's network carries, with who says so."""
    if found is None:
        return None
    should = expectation(network_gbps)
    return {
        "peak_gbs": found.peak_gbs,
        "at_bytes": found.size_bytes,
        "average_gbs": found.average_gbs,
        "expected_gbs": should.line_rate_gbs if should else None,
        "share": round(should.share(found.peak_gbs), 3) if should else None,
        "low": bool(should and should.share(found.peak_gbs) < LEAST_SHARE),
        "source": should.source if should else "EC2 gives no number for this type's network",
    }


def metrics_document(sources: Sequence[LogSource], network_gbps: float | None) -> dict[str, Any]:
    lines = [line for source in sources for line in source.lines]
    return {**metrics(lines), "bus_bandwidth": bandwidth_document(bandwidth(lines), network_gbps)}


def node_document(one: NodeEvidence) -> dict[str, Any]:
    return {
        "name": one.node,
        "transport": one.transport.value,
        "provider": one.provider,
        "networks": list(one.networks),
        "nics": one.nics,
        "network_rdma": one.rdma.value,
        "gpudirect_rdma": one.gpudirect.value,
        "fi_info": one.fi_info.value,
        "lines": list(one.lines),
    }


def check_document(check: Check) -> dict[str, Any]:
    return {
        "id": check.check_id,
        "ok": check.state is CheckState.OK,
        "skipped": check.state is CheckState.SKIPPED,
        "severity": check.severity,
        "message": check.message,
        "remedy": check.remedy,
    }


def fabric_problem(verdict: FabricVerdict, *, efa: int) -> FabricError | None:
    """The error of a job that ran, but not provably over EFA."""
    if verdict.passed:
        return None
    said = {
        Transport.TCP: "the job ran over TCP",
        Transport.MIXED: "the job ran over EFA in part only",
        Transport.UNKNOWN: "nothing proves that the job ran over EFA",
    }[verdict.transport]
    return FabricError(f"{said}: {verdict.reason}", hint=_fabric_hint(verdict, efa), details=_evidence(verdict))


def _fabric_hint(verdict: FabricVerdict, efa: int) -> str:
    if not efa:
        return "this instance type has no EFA: choose one that has"
    if verdict.transport is Transport.UNKNOWN:
        return "NCCL_DEBUG=INFO has to be set, and the image has to hold aws-ofi-nccl"
    if any(node.fi_info.value == "no" for node in verdict.nodes):
        return "fi_info finds no EFA in the pod: clusterctl verify, and the pod's request of vpc.amazonaws.com/efa"
    return "clusterctl verify; the image has to hold aws-ofi-nccl, and the security group to allow all of itself"


def _evidence(verdict: FabricVerdict) -> str:
    return "\n".join(f"{node.node}: {line}" for node in verdict.nodes for line in node.lines or ("no line of NCCL",))


def _split(lines: Sequence[str]) -> dict[tuple[str, int], list[str]]:
    parts: dict[tuple[str, int], list[str]] = {}
    key: tuple[str, int] | None = None
    for line in lines:
        if found := _MEASURE.search(line):
            key = (found["transport"], int(found["number"]))
            parts.setdefault(key, [])
        elif key:
            parts[key].append(line)
    return parts


def _measured(
    key: tuple[str, int], sources: Sequence[LogSource], hosts: dict[str, str], nodes: Sequence[str]
) -> Measurement:
    lines = [line for source in sources for line in source.lines]
    proved = judge_fabric(nodes, attribute(sources, hosts), required=True).transport
    bus = bandwidth(lines)
    if bus:
        return Measurement(*key, proved, bus.peak_gbs, "GB/s bus bandwidth")
    return Measurement(*key, proved, metrics(lines).get(_RATE), _RATE)


def _spread(found: Sequence[Measurement], transport: str) -> Spread | None:
    values = tuple(one.value for one in found if one.transport == transport and one.counts and one.value is not None)
    return Spread(values) if values else None


def _spread_document(spread: Spread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return {"median": spread.median, "low": spread.low, "high": spread.high, "runs": len(spread.values)}
