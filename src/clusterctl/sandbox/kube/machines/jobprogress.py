"""How far a Job is, from its pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.kinds import annotations_of, is_ready
from clusterctl.sandbox.kube.machines.templates import active

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clusterctl.sandbox.kube.machines.kinds import Obj

INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class Progress:
    """What runs, what ended, and the indexes (None for NonIndexed) of the pods to start next."""

    active: tuple[Obj, ...]
    succeeded: int
    failed: int
    indexes: tuple[int, ...]
    missing: tuple[int | None, ...]
    done: bool


def of(job: Obj, pods: Sequence[Obj]) -> Progress:
    """The progress of a Job, Indexed or not."""
    running = tuple(active(pods))
    failed = sum(_phase(pod) == "Failed" for pod in pods) + sum(_restarts(pod) for pod in running)
    ended_well = [pod for pod in pods if _phase(pod) == "Succeeded"]
    if job["spec"].get("completionMode") == "Indexed":
        return _indexed(job, running, ended_well, failed)
    completions, parallelism = job["spec"].get("completions"), job["spec"].get("parallelism", 1)
    good = len(ended_well)
    if completions is None:  # a work queue: one success, and no new pods
        done = good > 0 and not running
        wanted = parallelism if not good else 0
    else:
        done = good >= completions
        wanted = min(parallelism, completions - good)
    missing = (None,) * max(wanted - len(running), 0)
    return Progress(running, good, failed, (), missing, done)


def _indexed(job: Obj, running: tuple[Obj, ...], ended_well: Iterable[Obj], failed: int) -> Progress:
    completions, parallelism = job["spec"].get("completions", 1), job["spec"].get("parallelism", 1)
    complete = {_index(pod) for pod in ended_well} & set(range(completions))
    busy = {_index(pod) for pod in running}
    waiting = [index for index in range(completions) if index not in complete | busy]
    missing = tuple(waiting[: max(parallelism - len(running), 0)])
    done = len(complete) == completions
    return Progress(running, len(complete), failed, tuple(sorted(complete)), missing, done)


def counts(job: Obj, progress: Progress) -> Obj:
    """The numbers of a Job's status."""
    status: Obj = {
        "active": len(progress.active) or None,
        "ready": sum(is_ready(pod) for pod in progress.active),
        "succeeded": progress.succeeded or None,
        "failed": progress.failed or None,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    if job["spec"].get("completionMode") == "Indexed":
        status["completedIndexes"] = ranges(progress.indexes) or None
    return status


def ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers in the short form of completedIndexes: 0-2,5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def _phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def _restarts(pod: Obj) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return sum(one.get("restartCount", 0) for one in statuses)


def _index(pod: Obj) -> int:
    return int(annotations_of(pod).get(INDEX, "-1"))
