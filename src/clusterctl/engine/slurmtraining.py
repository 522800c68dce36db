"""Slurm: a batch script that is handed to slurmctld, and a job that Slurm alone knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from clusterctl.engine.actions import RunInPod
from clusterctl.engine.jobwatch import JobWatch, Seen
from clusterctl.engine.training import TrainJob, TrainRunner
from clusterctl.errors import JobFailedError
from clusterctl.model.jobstates import JobLook, Phase
from clusterctl.model.pods import PodFacts

DAEMON = "app.kubernetes.io/name"
CONTROLLER = "slurmctld"
SELECTOR = f"{DAEMON} in (slurmd,{CONTROLLER})"
_PHASES = {
    "PENDING": Phase.PENDING, "REQUEUED": Phase.PENDING, "SUSPENDED": Phase.PENDING,
    "RUNNING": Phase.RUNNING, "CONFIGURING": Phase.RUNNING, "COMPLETING": Phase.RUNNING, "COMPLETED": Phase.SUCCEEDED,
}  # fmt: skip
_PASSING = ("None", "Priority", "Resources", "BeginTime", "")  # reasons that end by themselves
_FIELD = re.compile(r"(?:^|\s)(?P<name>[A-Z]\w*)=(?P<value>\S*)")


class SlurmRunner(TrainRunner):
    """The same run, for jobs of Slurm. Its pods are Slurm's own, and stay."""

    def look(self, job: TrainJob) -> JobLook:
        """The newest job of this name, whoever's run it is."""
        return self._of(job, [one for one in self._queue(job) if one.get("JobName") == job.workload.name][-1:])

    def remove(self, job: TrainJob) -> bool:
        if self.look(job).phase not in (Phase.PENDING, Phase.RUNNING):
            return False
        self._remove(job, "asked for")
        return True

    def _now(self, job: TrainJob) -> JobLook:
        return self._of(job, [one for one in self._queue(job) if one.get("Comment") == job.run_id][-1:])

    def _follow(self, job: TrainJob, watch: JobWatch) -> Seen:
        seen = watch.until(lambda one: one.over or _hopeless(one.look))
        if not seen.over:
            said = seen.look.message
            problem = JobFailedError(
                f"{job.workload.name} cannot start, Slurm says: {said}",
                hint="scontrol show job, and sinfo, in the login pod",
            )
            return replace(seen, problem=problem)
        return watch.until_ended()

    def _start(self, job: TrainJob) -> None:
        words, title = ("sbatch", "--parsable"), f"submit {job.workload.name} ({job.run_id})"
        self._act(self._in_controller(job, words, title, job.manifests))

    def _remove(self, job: TrainJob, why: str) -> None:
        """Cancelling is all that there is to remove; a job that has ended holds nothing."""
        if self.look(job).phase in (Phase.PENDING, Phase.RUNNING):
            words = ("scancel", "--name", job.workload.name)
            self._act(self._in_controller(job, words, f"cancel {job.workload.name} ({why})"))

    def _pods(self, job: TrainJob) -> tuple[PodFacts, ...]:
        return self._jobs.pods(job.access, job.namespace, SELECTOR)

    def _queue(self, job: TrainJob) -> list[Mapping[str, str]]:
        """Every job that Slurm remembers: it forgets those that ended some minutes ago."""
        controller = _controller(self._pods(job))
        if controller is None:
            return []
        lines = self._jobs.ask(job.access, controller, ("scontrol", "--oneliner", "show", "jobs"))
        return [{one["name"]: one["value"] for one in _FIELD.finditer(line)} for line in lines if "JobId=" in line]

    def _of(self, job: TrainJob, found: list[Mapping[str, str]]) -> JobLook:
        pods = tuple(pod for pod in self._pods(job) if pod.labels.get(DAEMON) == "slurmd")
        if not found:
            return JobLook(Phase.ABSENT, pods=pods)
        state, reason = found[0].get("JobState", ""), found[0].get("Reason", "")
        said = f"{state} {reason}" if reason not in ("None", "") else state
        return JobLook(_PHASES.get(state, Phase.FAILED), said, found[0].get("Comment", ""), pods)

    def _in_controller(self, job: TrainJob, words: tuple[str, ...], title: str, stdin: str = "") -> RunInPod:
        controller = _controller(self._pods(job))
        if controller is None:
            raise JobFailedError("no slurmctld runs", hint="clusterctl slinky")
        return RunInPod(job.access, job.namespace, controller.name, title, words, stdin, container=CONTROLLER)


def _controller(pods: tuple[PodFacts, ...]) -> PodFacts | None:
    found = [pod for pod in pods if pod.labels.get(DAEMON) == CONTROLLER and pod.phase == "Running"]
    return replace(found[0], container=CONTROLLER) if found else None


def _hopeless(look: JobLook) -> bool:
    """Pending for a reason that no waiting ends: too many nodes, a partition that is down, a limit."""
    reason = look.message.partition(" ")[2]
    return look.phase is Phase.PENDING and reason not in _PASSING
