"""The programs of training pods: what each prints when, in simulated seconds since its container began."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from clusterctl.sandbox.kube.machines.training import fabric
from clusterctl.sandbox.kube.machines.training.fabric import Seat

START_S, STEP_S = 60.0, 30.0
SIZES = tuple(2**power for power in range(20, 31, 2))
TOKENS_PER_GPU = 2400.0
Cue = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Script:
    """A program's lines with their times, and when and how it ends."""

    cues: tuple[Cue, ...]
    run_s: float
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """What the words of a command ask for: the program, and one transport for each measurement."""

    program: str
    words: str
    measures: tuple[tuple[str, int], ...]

    def option(self, name: str, otherwise: int) -> int:
        found = re.search(rf"--{name}[= ](\d+)", self.words)
        return int(found[1]) if found else otherwise


def work_of(words: str) -> Work | None:
    """The training that a container's command holds; None for anything else."""
    found = re.search(r"\S*/(?P<program>all_reduce_perf|[\w.]+\.py)\b", words)
    if not found or not re.search(r"\b(?:torchrun|mpirun|python3?|srun)\b", words):
        return None
    measures = [(kind, int(number)) for kind, number in re.findall(r"clusterctl_transport (\w+) (\d+)", words)]
    return Work(found["program"], words, tuple(measures) or (("default", 1),))


def play(work: Work, places: Sequence[Seat], *, first: bool, crash: int | None = None) -> Script:
    """The log of one pod. `places` are those whose processes it prints of; the first of a job also tells the results.

    `crash` is the rank that dies after a few steps, whoever's it is.
    """
    cues: list[Cue] = [(0.0, line) for place in places for line in fabric.fi_info(place)]
    clock = START_S
    for transport, number in work.measures:
        cues.append((clock, f"clusterctl-measure: {transport} {number} host={places[0].host}"))
        moved = [place.with_env(_transport_env(transport)) for place in places]
        tee = "[default0]:" if "--tee" in work.words else ""
        cues += [(clock + 1, f"{tee}{line}") for place in moved for line in fabric.nccl(place)]
        told, clock = _results(work, moved, number, clock + 2)
        if crash is not None:
            cues += told[: len(told) // 2] if first else []
            return Script((*cues, *_death(work, crash, clock)), clock + 1, exit_code=1)
        cues += told if first else []
    return Script(tuple(cues), clock + 1)


def _results(work: Work, places: Sequence[Seat], number: int, at: float) -> tuple[list[Cue], float]:
    program = PROGRAMS.get(work.program, _training)
    lines = list(program(work, places, number))
    return [(at + place * STEP_S, line) for place, line in enumerate(lines)], at + len(lines) * STEP_S


def _nccl_tests(work: Work, places: Sequence[Seat], number: int) -> Iterator[str]:
    """The table of all_reduce_perf."""
    ranks = places[0].nodes * places[0].devices
    yield "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2147483648 step: 2(factor) warmup iters: 5 iters: 20"
    yield "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    rates = []
    for size in (*SIZES, 2**31):
        rate = _rate(places, size, number)
        algorithm = rate * ranks / (2 * (ranks - 1)) if ranks > 1 else rate
        time_us = size / algorithm / 1e3
        rates.append(rate)
        numbers = f"{time_us:9.1f} {algorithm:7.2f} {rate:7.2f}      0"
        yield f"{size:12d} {size // 4:13d}     float     sum      -1 {numbers} {numbers}"
    yield "# Out of bounds values : 0 OK"
    yield f"# Avg bus bandwidth    : {sum(rates) / len(rates):.4f}"


def _allreduce(work: Work, places: Sequence[Seat], number: int) -> Iterator[str]:
    ranks = places[0].nodes * places[0].devices
    for size in SIZES:
        rate = _rate(places, size, number)
        yield f"[default0]:size_bytes={size} seconds={size / rate / 1e9:.6f} busbw_gbs={rate:.3f}"
    yield f"[default0]:allreduce finished: world={ranks} wrong=0"


def _training(work: Work, places: Sequence[Seat], number: int) -> Iterator[str]:
    steps = work.option("steps", 4)
    ranks = places[0].nodes * places[0].devices
    tee = "[default0]:" if "--tee" in work.words else ""
    rate = TOKENS_PER_GPU * ranks * (1.0 if fabric.slowest(places) == "efa" else 0.48)
    rate *= fabric.bus_bandwidth(places[0], "efa", number) / fabric.bus_bandwidth(places[0], "efa", 2)
    for step in sorted({*range(1, steps + 1, max(steps // 10, 1)), steps}):
        loss = 2.0 + 9.0 / (1 + step / 5)
        yield f"{tee}step={step} loss={loss:.6f} tokens_per_second={rate:.1f} of={steps}"
    yield f"{tee}training finished: steps={steps} world={ranks} weights=5eed5eed5eed5eed"


PROGRAMS: dict[str, Callable[[Work, Sequence[Seat], int], Iterator[str]]] = {
    "all_reduce_perf": _nccl_tests,
    "allreduce.py": _allreduce,
}


def _rate(places: Sequence[Seat], size: int, number: int) -> float:
    """Small messages are slow: latency takes its share."""
    return fabric.bus_bandwidth(places[0], fabric.slowest(places), number) * size / (size + 24e6)


def _death(work: Work, rank: int, at: float) -> Iterator[Cue]:
    if "mpirun" in work.words:
        yield at, f"mpirun noticed that process rank {rank} exited on signal 9 (Killed)."
        return
    yield at, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    yield at, f"[{rank}]: exitcode : -9 (pid: 77), traceback : Signal 9 (SIGKILL) received by PID 77"


def _transport_env(transport: str) -> dict[str, str]:
    if transport == "tcp":
        return {"NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none", "FI_PROVIDER": "tcp"}
    return {"FI_PROVIDER": "efa"} if transport == "efa" else {}
