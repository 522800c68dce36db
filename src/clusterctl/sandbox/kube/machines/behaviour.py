"""How the containers of a pod behave once they run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.kinds import controller_of

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.kinds import Obj

PULL_S = 10.0
INIT_S = 2.0
READY_S = 10.0
JOB_S = 30.0
CRASH_S = 2.0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How long a run lasts (None for ever) and ends; how long it takes to be ready (None never)."""

    run_s: float | None = None
    exit_code: int = 0
    ready_s: float | None = READY_S
    log: tuple[str, ...] = ()
    cues: tuple[tuple[float, str], ...] = ()  # lines that come later, with the seconds since the run began


def natural(pod: Obj) -> Behaviour:
    """What the pod does when nothing goes wrong: serve for ever, or work for a while and end.

    A job's pod, or a bare one that is not to be restarted, ends; `sleep N` and `exit N` are taken at their word.
    """
    first = pod["spec"]["containers"][0]
    words = " ".join((*(first.get("command") or []), *(first.get("args") or [])))
    owner = controller_of(pod)
    ends = pod["spec"].get("restartPolicy", "Always") != "Always" and (owner is None or owner["kind"] == "Job")
    ready_s = READY_S if any(one.get("readinessProbe") for one in pod["spec"]["containers"]) else 1.0
    if re.search(r"sleep\s+(infinity|inf)\b|tail\s+-f", words) or not ends:
        return Behaviour(ready_s=ready_s)
    sleeps = re.search(r"\bsleep\s+(\d+)", words)
    exits = re.search(r"\bexit\s+(\d+)|^(?:/bin/)?false$", words)
    code = int(exits[1] or 1) if exits else 0
    return Behaviour(run_s=float(sleeps[1]) if sleeps else JOB_S, exit_code=code, ready_s=ready_s)


def with_fault(behaviour: Behaviour, outcome: str | None) -> Behaviour:
    """The same behaviour under a fault of the scenario."""
    if outcome == "crash-loop":
        return crashing(behaviour, ("fatal: the sandbox's scenario makes this container fail",))
    if outcome == "not-ready":
        return replace(behaviour, ready_s=None, run_s=None)
    return behaviour


def crashing(behaviour: Behaviour, log: tuple[str, ...]) -> Behaviour:
    return replace(behaviour, run_s=CRASH_S, exit_code=1, ready_s=None, log=log, cues=())
