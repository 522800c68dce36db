"""What a job's output says of its speed: nccl-tests' table, and key=value lines of training scripts."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_NUMBERS = re.compile(r"^\s*(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s")
_AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*([\d.]+)")
_OWN = re.compile(r"\bsize_bytes=(\d+) seconds=[\d.eE+-]+ busbw_gbs=([\d.]+)")
_METRIC = re.compile(r"\b(?P<name>tokens_per_second|loss)=(?P<value>[\d.eE+-]+)")
LEAST_SHARE = 0.5  # of the line rate; less is worth a word


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bus bandwidth of an all-reduce in GB/s, as nccl-tests defines it: the highest of its sizes, and the average."""

    peak_gbs: float
    size_bytes: int
    average_gbs: float | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a type's network carries, in GB/s, and who says so."""

    line_rate_gbs: float
    source: str

    def share(self, measured_gbs: float) -> float:
        return measured_gbs / self.line_rate_gbs


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeated measurements: the median, and how far they lie apart."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


def bandwidth(lines: Iterable[str]) -> Bandwidth | None:
    """The table of nccl-tests: size, count, type, redop, root, time, algbw, busbw. None where there is none."""
    rows: list[tuple[float, int]] = []
    average = None
    for line in lines:
        text = _unprefixed(line)
        if found := _NUMBERS.match(text):
            rows.append((float(found[4]), int(found[1])))
        elif own := _OWN.search(text):
            rows.append((float(own[2]), int(own[1])))
        elif said := _AVERAGE.search(text):
            average = float(said[1])
    if not rows:
        return None
    peak, size = max(rows)
    return Bandwidth(peak, size, average)


def metrics(lines: Sequence[str]) -> dict[str, float]:
    """The last value of each metric that a training script printed."""
    found = {one["name"]: one["value"] for line in lines for one in _METRIC.finditer(line)}
    return {name: float(value) for name, value in found.items()}


def expectation(network_gbps: float | None) -> Expectation | None:
    """The line rate that EC2 gives the type; all-reduce over more than two nodes cannot do better."""
    if not network_gbps:
        return None
    return Expectation(network_gbps / 8, f"EC2 DescribeInstanceTypes, NetworkPerformance: {network_gbps:g} Gigabit")


def _unprefixed(line: str) -> str:
    """Without mpirun's `[1,0]<stdout>:`."""
    return re.sub(r"^\[\d+,\d+\]<\w+>:\s?", "", line)
