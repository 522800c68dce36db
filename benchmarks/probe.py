"""`probe` of 17 regions, every call taking 100 ms: against the same calls in sequence, and against one region alone.

The survey is judged by itself, in a fresh process from its first call to its last; below stands what the whole
command takes, with the start of Python, the proof by reservations and everything else.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import Finished, Sandbox, Table, measured, sandbox

LATENCY_S = 0.1
REGIONS = 17
SCENARIO = f"latency_ms: {LATENCY_S * 1000:g}\n"
LEAST_GAIN = 10.0
MOST_OF_CHAIN = 2.0
MOST_MIB = 150.0
Calls = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Probed:
    """One probe: how long it took, and the calls that it made."""

    seconds: float
    peak_mib: float
    calls: Calls

    @property
    def regions(self) -> Counter[str]:
        return Counter(str(call["region"]) for call in self.calls)


def main() -> int:
    with sandbox(SCENARIO) as world:
        world.clusterctl("probe", "--no-probe", "-r", "us-east-2").succeeded()  # writes the bytecode
        call_s = one_call(world)
        tables = [compared(title, run, call_s) for title, run in runs(world).items()]
    judge(*tables[0])
    judge_command(*tables[1])
    return max([table.end() for table, *_ in tables])


def runs(world: Sandbox) -> dict[str, Callable[[str], Probed]]:
    return {
        f"Survey of {REGIONS} regions, {LATENCY_S * 1000:g} ms a call": lambda region: survey(world, region),
        "The whole command `clusterctl probe`": lambda region: command(world, region),
    }


def compared(title: str, run: Callable[[str], Probed], call_s: float) -> tuple[Table, Probed, Probed, float]:
    """A table of all regions against the one that has the longest chain of calls."""
    every = run("")
    if len(every.regions) != REGIONS:
        sys.exit(f"{len(every.regions)} regions were asked, not {REGIONS}: {sorted(every.regions)}")
    one = run(every.regions.most_common(1)[0][0])
    table, sequence_s = Table(title), len(every.calls) * call_s
    table.say("calls", f"{len(every.calls)}")
    table.say("the same number in sequence", f"{sequence_s:.2f} s")
    table.say("all regions", f"{every.seconds:.2f} s")
    table.say(f"{max(one.regions, key=lambda name: one.regions[name])} alone", f"{one.seconds:.2f} s")
    return table, every, one, sequence_s


def judge(table: Table, every: Probed, one: Probed, sequence_s: float) -> None:
    table.at_least("faster than in sequence", sequence_s / every.seconds, LEAST_GAIN)
    table.at_most("against one region", every.seconds / one.seconds, MOST_OF_CHAIN)
    table.at_most("peak memory", every.peak_mib, MOST_MIB, "MiB")


def judge_command(table: Table, every: Probed, one: Probed, sequence_s: float) -> None:
    table.say("faster than in sequence", f"{sequence_s / every.seconds:.2f} x")
    table.at_most("against one region", every.seconds / one.seconds, MOST_OF_CHAIN)
    table.at_most("peak memory", every.peak_mib, MOST_MIB, "MiB")


def one_call(world: Sandbox, count: int = 30) -> float:
    """Seconds that a call takes when calls go one after the other, as measured now."""
    client = session(world.record.aws_url).client("ec2", "us-east-2")
    client.describe_availability_zones()
    start = time.perf_counter()
    for _ in range(count):
        client.describe_availability_zones()
    return (time.perf_counter() - start) / count


def command(world: Sandbox, region: str) -> Probed:
    world.forget_answers()
    world.calls()
    run = world.clusterctl("probe", "-o", "json", *(("--regions", region) if region else ("--all-regions",)))
    return Probed(run.succeeded().seconds, run.peak_mib, world.calls())


def survey(world: Sandbox, region: str) -> Probed:
    """The survey alone, in a process of its own, where nothing is warm."""
    world.calls()
    arguments = [sys.executable, __file__, world.record.aws_url, region]
    run: Finished = measured(arguments, world.environ, world.folder)
    return Probed(run.document()["seconds"], run.peak_mib, world.calls())


def session(url: str) -> Any:
    from clusterctl.adapters.aws.session import AwsSession, Credentials
    from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

    return AwsSession(credentials=Credentials(ACCESS_KEY, SECRET_KEY), endpoint_url=url)


def survey_here(url: str, region: str) -> int:
    """What the process of `survey` does: print the seconds as JSON."""
    import threading

    from clusterctl.adapters.aws.survey import AwsSurvey
    from clusterctl.adapters.clock import RunClock, WallTime
    from clusterctl.model.capacity import Question
    from clusterctl.sandbox.state import ACCOUNT_ID

    with tempfile.TemporaryDirectory(prefix="clusterctl-bench-") as cache:
        aws = session(url)
        start = time.perf_counter()
        asked = AwsSurvey(aws, RunClock(WallTime(), threading.Event()), ACCOUNT_ID, Path(cache))
        regions = (region,) if region else asked.enabled_regions()
        question = Question(
            instance_types=("g6.12xlarge",), nodes=2, regions=regions, zones=(), cluster="training",
            reservation_id="", priced=("m7i.xlarge",),
        )  # fmt: skip
        facts = asked.ask(question)
        seconds = time.perf_counter() - start
    if problems := [one.problems for one in facts if one.problems]:
        sys.exit(f"the survey met problems: {problems[0]}")
    print(json.dumps({"seconds": seconds}))
    return 0


if __name__ == "__main__":
    sys.exit(survey_here(sys.argv[1], sys.argv[2]) if len(sys.argv) == 3 else main())
