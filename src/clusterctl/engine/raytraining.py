"""Ray: a cluster for one run, a job submitted from inside its head, and evidence from every worker's own files."""

from __future__ import annotations

import re
from dataclasses import replace

from clusterctl.engine.actions import RunInPod
from clusterctl.engine.jobwatch import JobWatch, Seen
from clusterctl.engine.training import JobReport, TrainJob, TrainRunner
from clusterctl.model.fabric import LogSource, lines_of_run
from clusterctl.model.jobstates import JobLook, Phase
from clusterctl.model.pods import PodFacts

ADDRESS = "http://127.0.0.1:8265"
EVIDENCE = ". /clusterctl/evidence.sh; clusterctl_fi_info; cat /var/log/clusterctl/nccl.* 2>/dev/null"
START = "/clusterctl/start.sh"  # what the job runs: the workload's own entry, written by its manifest
_STATUS = re.compile(r"Status for job '[^']+': (?P<status>\w+)")
_PHASES = {"SUCCEEDED": Phase.SUCCEEDED, "FAILED": Phase.FAILED, "STOPPED": Phase.FAILED}


class RayRunner(TrainRunner):
    """The same run, for jobs that Ray and not Kubernetes knows."""

    def run(self, job: TrainJob) -> JobReport:
        """Its cluster is for this run alone and would hold the GPUs for ever, so it goes when the job is over."""
        report = super().run(job)
        if report.look.phase is Phase.SUCCEEDED:
            self._remove(job, "its job is done")
        return report

    def _follow(self, job: TrainJob, watch: JobWatch) -> Seen:
        """First the cluster has to be ready, then the job is handed in, once."""
        ready = watch.until(lambda seen: seen.problem is not None or seen.look.phase is Phase.RUNNING)
        head = _head(ready.look)
        if ready.problem or head is None:
            return ready
        words = (
            "ray", "job", "submit", "--address", ADDRESS, "--submission-id", job.run_id, "--no-wait",
            "--", "bash", START,
        )  # fmt: skip
        self._act(RunInPod(job.access, job.namespace, head.name, f"submit Ray job {job.run_id}", words))
        return watch.until_ended()

    def _now(self, job: TrainJob) -> JobLook:
        look = super()._now(job)
        head = _head(look)
        if look.phase is not Phase.RUNNING or head is None:
            return look
        said = "\n".join(self._jobs.ask(job.access, head, ("ray", "job", "status", "--address", ADDRESS, job.run_id)))
        found = _STATUS.search(said)
        phase = _PHASES.get(found["status"], Phase.RUNNING) if found else Phase.RUNNING
        return replace(look, phase=phase, message=f"Ray job {found['status']}" if found else "")

    def _more_evidence(self, job: TrainJob, seen: Seen) -> tuple[LogSource, ...]:
        """NCCL writes to a file in each worker: Ray's driver leaves repeated lines out."""
        workers = [pod for pod in seen.look.pods if pod.labels.get("ray.io/node-type") == "worker"]
        return tuple(self._evidence(job, pod) for pod in workers)

    def _evidence(self, job: TrainJob, pod: PodFacts) -> LogSource:
        lines = self._jobs.ask(job.access, pod, ("bash", "-c", EVIDENCE))
        return LogSource(pod.name, pod.node, lines_of_run(lines, job.run_id))


def _head(look: JobLook) -> PodFacts | None:
    return next((pod for pod in look.pods if pod.labels.get("ray.io/node-type") == "head"), None)
