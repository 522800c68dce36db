"""Jobs: pods until enough have succeeded or too many failed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import jobprogress
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.jobprogress import INDEX, Progress
from clusterctl.sandbox.kube.machines.kinds import JOB, POD, condition, condition_is, is_deleting
from clusterctl.sandbox.kube.machines.templates import PodNames, pod_from

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

_BACKOFF_S, _LONGEST_BACKOFF_S = 10.0, 600.0


class Jobs(Controller):
    """Runs Indexed and NonIndexed Jobs: completions, parallelism, back-off, suspension, deadline, time to live."""

    kind = JOB
    owns = (POD,)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._names = PodNames()
        self._retry_at: dict[tuple[str, int], float] = {}

    async def reconcile(self, key: Key) -> float | None:
        job = self.cluster.informer(JOB).get(*key)
        if job is None or is_deleting(job):
            return None
        if condition_is(job, "Complete") or condition_is(job, "Failed"):
            return await self._expire(job)
        progress = jobprogress.of(job, self.cluster.informer(POD).owned_by(job))
        failure, left = self._failure(job, progress)
        if failure or progress.done or job["spec"].get("suspend"):
            for pod in progress.active:
                await self.cluster.delete(POD, pod)
            wait = None
        else:
            wait = await self._start_missing(job, progress)
        await self._report(job, failure)
        waits = [one for one in (wait, left) if one is not None]
        return min(waits, default=None)

    async def _start_missing(self, job: Obj, progress: Progress) -> float | None:
        wait = self._backoff(job, progress)
        if wait > 0 and progress.missing:
            return wait
        for index in progress.missing:
            await self.cluster.create(POD, self._pod(job, index))
        return None

    def _backoff(self, job: Obj, progress: Progress) -> float:
        """Simulated seconds until pods may be started again after the last failure."""
        if not progress.failed:
            return 0.0
        now = self.cluster.clock.timestamp()
        pause = min(_BACKOFF_S * 2 ** (progress.failed - 1), _LONGEST_BACKOFF_S)
        return self._retry_at.setdefault((job["metadata"]["uid"], progress.failed), now + pause) - now

    def _pod(self, job: Obj, index: int | None) -> Obj:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        labels = {
            "batch.kubernetes.io/job-name": name,
            "batch.kubernetes.io/controller-uid": uid,
            "job-name": name,
            "controller-uid": uid,
        }
        prefix = name if index is None else f"{name}-{index}"
        pod = pod_from(job, job["spec"]["template"], self._names.next(job, prefix), labels)
        if index is not None:
            _number(pod, name, index)
        return pod

    def _failure(self, job: Obj, progress: Progress) -> tuple[tuple[str, str] | None, float | None]:
        """Why the Job has failed, if it has; and simulated seconds until its deadline."""
        if progress.failed > job["spec"].get("backoffLimit", 6):
            return ("BackoffLimitExceeded", "Job has reached the specified backoff limit"), None
        deadline, started = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
        if deadline is None or not started or job["spec"].get("suspend"):
            return None, None
        left = _seconds(started) + deadline - self.cluster.clock.timestamp()
        expired = ("DeadlineExceeded", "Job was active longer than specified deadline")
        return (expired, None) if left <= 0 else (None, left)

    async def _report(self, job: Obj, failure: tuple[str, str] | None) -> None:
        progress = jobprogress.of(job, self.cluster.informer(POD).owned_by(job))
        status = jobprogress.counts(job, progress)
        when, suspended = self.cluster.timestamp(), job["spec"].get("suspend")
        if not suspended:
            status["startTime"] = (job.get("status") or {}).get("startTime") or when
        ended: list[tuple[str, str, str]] = []
        if failure:
            ended = [("FailureTarget", *failure), ("Failed", *failure)]
        elif progress.done:
            reached = ("CompletionsReached", "Reached expected number of succeeded pods")
            ended = [("SuccessCriteriaMet", *reached), ("Complete", *reached)]
            status["completionTime"] = when
        elif suspended:
            ended = [("Suspended", "JobSuspended", "Job suspended")]
        if ended:
            status["conditions"] = [condition(kind, "True", why, text, when) for kind, why, text in ended]
            status |= {} if suspended and not progress.done else {"active": None, "ready": 0}
        elif condition_is(job, "Suspended"):
            status["conditions"] = [condition("Suspended", "False", "JobResumed", "Job resumed", when)]
        await self.cluster.set_status(JOB, job, status)

    async def _expire(self, job: Obj) -> float | None:
        """Delete an ended Job once its time to live is over."""
        live = job["spec"].get("ttlSecondsAfterFinished")
        if live is None:
            return None
        ended = next(one for one in job["status"]["conditions"] if one["type"] in ("Complete", "Failed"))
        left = _seconds(ended["lastTransitionTime"]) + float(live) - self.cluster.clock.timestamp()
        if left > 0:
            return left
        await self.cluster.delete(JOB, job)
        return None


def _number(pod: Obj, job: str, index: int) -> None:
    """Give an Indexed Job's pod its index, the way the real controller does."""
    pod["metadata"]["labels"][INDEX] = str(index)
    pod["metadata"]["annotations"][INDEX] = str(index)
    pod["spec"]["hostname"] = f"{job}-{index}"
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in (*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]):
        variables = [*(container.get("env") or []), {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]
        container["env"] = variables


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
