"""Watches a job: streams its lines with the rank in front, explains pods that cannot start, and sees its end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.engine.events import EventSink, Notice, Waiting
from clusterctl.engine.waiting import look_until
from clusterctl.errors import ClusterctlError, JobFailedError
from clusterctl.model.fabric import MARKER
from clusterctl.model.jobstates import RUN_LABEL, JobLook, Phase, index_of, narrates
from clusterctl.model.pods import PodFacts, Stuck, remedy, stuck
from clusterctl.ports import Clock, JobReader, LogStream

if TYPE_CHECKING:
    from clusterctl.engine.training import TrainJob

EVERY_S = 5.0
LIMIT_S = 7 * 24 * 3600.0
ABSENT_LOOKS = 6  # in a row: a question that got no answer is not a job that is gone
DRAIN_LOOKS = 24
EMPTY_LOOKS = 36  # in a row without any pod: an operator that is down, or a gang that is not let in
PATIENCE_LOOKS = 6  # in a row for a refusal that may pass: another job's pods may be going
_PREFIX = re.compile(r"^\[pod/(?P<pod>[^/]+)/[^\]]+\] (?P<text>.*)$")
_LOCAL = re.compile(r"^\[[a-z]*(?P<local>\d+)\]:\s?(?P<text>.*)$")  # torchrun --tee
_NOISE = re.compile(r"(?:NCCL|CCOM) (?:INFO|TRACE)\b|clusterctl-\w+: |\bfi_info: |: (?:provider|domain): ")


@dataclass(frozen=True, slots=True)
class Seen:
    """The last look at a job, and why it cannot go on if it cannot."""

    look: JobLook
    success: str
    problem: ClusterctlError | None = None

    @property
    def over(self) -> bool:
        return self.problem is not None or self.look.phase.ended

    def proof(self, line: str) -> bool:
        return re.search(self.success, line) is not None


class JobWatch:
    """One watch of one job."""

    def __init__(
        self,
        jobs: JobReader,
        clock: Clock,
        emit: EventSink,
        job: TrainJob,
        look: Callable[[], JobLook],
        *,
        verbose: bool,
    ) -> None:
        self._jobs = jobs
        self._look_now = look
        self._clock = clock
        self._emit = emit
        self._job = job
        self._verbose = verbose
        self._stream: LogStream | None = None
        self._refused: Counter[str] = Counter()
        self._step = ""
        self._empty = 0
        self._absent = 0
        self._ours: dict[str, bool] = {}
        self._known: dict[
            str, PodFacts
        ] = {}  # workers are taken away when a job ends; their nodes are still of interest

    def until_ended(self) -> Seen:
        seen = self.until(lambda seen: seen.over)
        self._drain(seen.look)
        return seen

    def until(self, holds: Callable[[Seen], bool]) -> Seen:
        return look_until(self._clock, self._look, holds, every_s=EVERY_S, limit_s=LIMIT_S)

    def close(self) -> None:
        if self._stream:
            self._stream.stop()

    def _look(self) -> Seen:
        look = self._look_now()
        self._follow(look)
        self._emit(Waiting(self._clock.now(), "train", self._progress(look)))
        self._known |= {pod.name: pod for pod in look.pods}
        problem = self._gone(look) or self._without_pods(look) or self._cannot_start(look)
        return Seen(replace(look, pods=tuple(self._known.values())), self._job.workload.success, problem)

    @property
    def _selector(self) -> str:
        return f"{RUN_LABEL}={self._job.run_id}"

    def _gone(self, look: JobLook) -> ClusterctlError | None:
        self._absent = self._absent + 1 if look.phase is Phase.ABSENT else 0
        if self._absent < ABSENT_LOOKS:
            return None
        return JobFailedError(f"{self._job.workload.name} is gone: somebody deleted it while it ran")

    def _without_pods(self, look: JobLook) -> ClusterctlError | None:
        """A job that its controller gives no pods: it would be pending for ever, and say nothing."""
        self._empty = 0 if look.pods or look.phase.ended else self._empty + 1
        if self._empty < EMPTY_LOOKS:
            return None
        kind, name = self._job.kind, self._job.workload.name
        said = f"no pod in {EMPTY_LOOKS * EVERY_S:.0f} s" + (f": {look.message}" if look.message else "")
        hint = (
            f"clusterctl {kind.stage}; kubectl get events -n {self._job.namespace}"
            if kind.stage
            else "clusterctl verify"
        )
        return JobFailedError(f"{name} cannot start, its controller has made {said}", hint=hint)

    def _cannot_start(self, look: JobLook) -> ClusterctlError | None:
        """The first pod that will not run, said at once; a refusal that may pass has to be seen some times in a row."""
        waiting = {pod.name: pod for pod in look.pods if stuck(pod) is not Stuck.NO}
        self._refused = Counter({name: self._refused[name] + 1 for name in waiting})
        for name, pod in waiting.items():
            if pod.problem and (stuck(pod) is Stuck.YES or self._refused[name] >= PATIENCE_LOOKS):
                message = f"{self._job.workload.name} cannot start, {pod.problem}"
                return JobFailedError(message, hint=remedy(pod.problem))
        return None

    def _follow(self, look: JobLook) -> None:
        """Stream once every pod that narrates has begun; kubectl follows those alone that are there when it starts."""
        narrators = [pod for pod in look.pods if narrates(self._job.kind, pod)]
        begun = narrators and all(pod.phase not in ("Pending", "Unknown") for pod in narrators)
        if self._stream is None and begun:
            selector = self._role().lstrip(",") if self._job.kind.shared else self._selector + self._role()
            self._stream = self._jobs.follow(self._job.access, self._job.namespace, selector, len(narrators))
        self._show(look)

    def _show(self, look: JobLook) -> None:
        """What has come since the last look."""
        if self._stream:
            ranks = {pod.name: index_of(self._job.kind, pod) for pod in look.pods}
            for line in self._shown(self._stream.take(), ranks):
                self._emit(Notice(self._clock.now(), line))

    def _drain(self, look: JobLook) -> None:
        """The last lines are on their way when the job is over already; the stream ends by itself after them."""
        if self._stream:
            for _ in range(DRAIN_LOOKS):
                if not self._stream.running:
                    break
                self._clock.sleep(EVERY_S)
            self._show(look)

    def _role(self) -> str:
        kind = self._job.kind
        return f",{kind.role_label} in ({','.join(kind.narrators)})" if kind.role_label else ""

    def _shown(self, lines: Iterable[str], indexes: dict[str, str]) -> Iterable[str]:
        for line in lines:
            found = _PREFIX.match(line)
            pod, text = (found["pod"], found["text"]) if found else ("", line)
            if self._job.kind.shared and not self._is_ours(pod, text):
                continue
            if step := re.search(self._job.workload.progress, text):
                self._step = step["step"]
            if _NOISE.search(text) and not self._verbose:
                continue
            yield f"[{self._rank(indexes.get(pod, pod), text)}] {_bare(text)}"

    def _is_ours(self, pod: str, text: str) -> bool:
        """After this run's marker, in a log that others write to as well."""
        if MARKER in text:
            self._ours[pod] = self._job.run_id in text
        return self._ours.get(pod, False)

    def _rank(self, index: str, text: str) -> str:
        """The rank where torchrun says which of its processes speaks; else the node's number."""
        local = _LOCAL.match(text)
        if local and index.isdecimal():
            return f"rank {int(index) * self._job.size.processes + int(local['local'])}"
        return f"node {index}" if index.isdecimal() else index

    def _progress(self, look: JobLook) -> str:
        phases = Counter(pod.phase for pod in look.pods)
        counts = ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())) or "no pods yet"
        waiting = next((str(pod.problem) for pod in look.pods if stuck(pod) is not Stuck.NO), "")
        step = f", step {self._step}" if self._step else ""
        return f"{self._job.workload.name} {look.phase.value}: {counts}{step}" + (f"; {waiting}" if waiting else "")


def _bare(text: str) -> str:
    found = _LOCAL.match(text)
    return found["text"] if found else text
