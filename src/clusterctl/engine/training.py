"""Runs one training job: submit, watch, read its evidence, and leave nothing that holds GPUs when it went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterctl.engine.actions import ApplyManifests, DeleteWorkload, RunInPod
from clusterctl.engine.events import EventSink, Notice, Waiting
from clusterctl.engine.executor import Executor
from clusterctl.engine.jobwatch import JobWatch, Seen
from clusterctl.errors import BusyError, ClusterctlError, InterruptedRunError, JobFailedError
from clusterctl.model.fabric import (
    FabricVerdict,
    LogSource,
    attribute,
    judge_fabric,
    lines_of_run,
    unjudged,
)
from clusterctl.model.jobsize import JobSize
from clusterctl.model.jobstates import RUN_LABEL, JobKind, JobLook, Phase, look_at, narrates
from clusterctl.model.kube import KubeAccess, WorkloadRef
from clusterctl.model.pods import PodFacts
from clusterctl.model.workloads import Fabric, Workload
from clusterctl.ports import Clock, JobReader

LIMIT_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class TrainJob:
    """One job to run: what, on which nodes, under which run id, and the manifests that make it."""

    workload: Workload
    kind: JobKind
    size: JobSize
    run_id: str
    access: KubeAccess
    namespace: str
    manifests: str = field(repr=False)

    @property
    def ref(self) -> WorkloadRef:
        return WorkloadRef(self.kind.resource, self.namespace, self.workload.name)


@dataclass(frozen=True, slots=True)
class JobReport:
    """What came of a job: its end, its output of this run alone, the pods' nodes, and the fabric's verdict."""

    look: JobLook
    sources: tuple[LogSource, ...]
    fabric: FabricVerdict
    seconds: float = 0.0
    problem: ClusterctlError | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for source in self.sources for line in source.lines)


class TrainRunner:
    """Drives jobs that a controller of the cluster runs: Indexed Jobs, vcjobs, MPIJobs."""

    def __init__(
        self, jobs: JobReader, executor: Executor, clock: Clock, emit: EventSink, *, verbose: bool = False
    ) -> None:
        self._jobs = jobs
        self._executor = executor
        self._clock = clock
        self._emit = emit
        self._verbose = verbose

    def look(self, job: TrainJob) -> JobLook:
        found = self._jobs.object(job.access, job.ref)
        selector = f"clusterctl/workload={job.workload.name}"
        return look_at(job.kind, found, self._jobs.pods(job.access, job.namespace, selector))

    def run(self, job: TrainJob) -> JobReport:
        """To the end of the job. Raises BusyError beside a running one, InterruptedRunError after stopping it."""
        self._make_room(job)
        began = self._clock.now()
        self._start(job)
        try:
            seen = self._watch(job)
        except InterruptedRunError as problem:
            self._remove(job, "interrupted")
            message = f"interrupted: {job.workload.name} was stopped and its pods are removed"
            raise InterruptedRunError(message, hint=problem.hint) from problem
        report = self._report(job, seen, (self._clock.now() - began).total_seconds())
        if seen.look.phase is not Phase.SUCCEEDED:
            self._remove(job, "it failed")
        return report

    def _start(self, job: TrainJob) -> None:
        self._act(ApplyManifests(job.access, f"{job.workload.name} ({job.run_id})", job.manifests))

    def _watch(self, job: TrainJob) -> Seen:
        watch = JobWatch(self._jobs, self._clock, self._emit, job, lambda: self._now(job), verbose=self._verbose)
        try:
            return self._follow(job, watch)
        finally:
            watch.close()

    def _follow(self, job: TrainJob, watch: JobWatch) -> Seen:
        return watch.until_ended()

    def _now(self, job: TrainJob) -> JobLook:
        """The job and the pods of this very run."""
        found = self._jobs.object(job.access, job.ref)
        return look_at(job.kind, found, self._jobs.pods(job.access, job.namespace, f"{RUN_LABEL}={job.run_id}"))

    def remove(self, job: TrainJob) -> bool:
        """Whether there was one to remove."""
        if self._jobs.object(job.access, job.ref) is None:
            return False
        self._remove(job, "asked for")
        return True

    def _make_room(self, job: TrainJob) -> None:
        """An ended run of the same workload goes; one that still works is not ours to end."""
        before = self.look(job)
        if before.phase in (Phase.PENDING, Phase.RUNNING):
            raise BusyError(
                f"{job.workload.name} is already {before.phase.value} (run {before.run_id or 'unknown'})",
                hint=f"clusterctl train {job.workload.name} --status, or --delete",
            )
        if before.phase.ended:
            self._remove(job, "an earlier run, which has ended")

    def _report(self, job: TrainJob, seen: Seen, seconds: float) -> JobReport:
        sources = tuple(self._source(job, pod) for pod in seen.look.pods if narrates(job.kind, pod))
        fabric = judge_job(job, seen.look.pods, (*sources, *self._more_evidence(job, seen)))
        return JobReport(seen.look, sources, fabric, seconds, _problem(job, seen, sources))

    def _more_evidence(self, job: TrainJob, seen: Seen) -> tuple[LogSource, ...]:
        """What tells of the fabric beside the ranks' output; nothing where that holds all of it."""
        return ()

    def _source(self, job: TrainJob, pod: PodFacts) -> LogSource:
        return LogSource(pod.name, pod.node, lines_of_run(self._jobs.log(job.access, pod), job.run_id))

    def _remove(self, job: TrainJob, why: str) -> None:
        self._act(DeleteWorkload(job.access, job.ref, why))

    def _act(self, action: ApplyManifests | DeleteWorkload | RunInPod) -> None:
        self._emit(Notice(self._clock.now(), f"{action.effect.value} {action}"))
        self._executor.execute(action, self._tell)

    def _tell(self, words: str) -> None:
        self._emit(Waiting(self._clock.now(), "train", words))


def judge_job(job: TrainJob, pods: Sequence[PodFacts], sources: Sequence[LogSource]) -> FabricVerdict:
    """The fabric's verdict over the nodes that the job was given."""
    nodes = job.size.nodes
    if job.workload.fabric is Fabric.NONE:
        return unjudged(nodes, f"{job.workload.name} sends nothing between nodes")
    by_node = attribute(sources, hosts_of(pods))
    if len(nodes) < 2:
        alone = judge_fabric(nodes, by_node, required=False)
        return FabricVerdict(alone.transport, alone.nodes, required=False, reason="one node: nothing to cross")
    return judge_fabric(nodes, by_node, required=True)


def hosts_of(pods: Sequence[PodFacts]) -> dict[str, str]:
    """Nodes by what their pods call themselves."""
    return {host: pod.node for pod in pods if pod.node for host in (pod.name, pod.hostname)}


def _problem(job: TrainJob, seen: Seen, sources: Sequence[LogSource]) -> ClusterctlError | None:
    """Why the job counts as failed: it did, it could not start, or it ended without the proof of its success."""
    if seen.problem:
        return seen.problem
    if seen.look.phase is not Phase.SUCCEEDED:
        return JobFailedError(
            f"{job.workload.name} failed: {seen.look.message or 'its controller does not say why'}{_culprit(seen)}",
            hint="the last lines of each rank are in the details (-v)",
            details=last_lines(sources),
        )
    if any(seen.proof(line) for source in sources for line in source.lines):
        return None
    return JobFailedError(
        f"{job.workload.name} ended without the line that proves its success ({job.workload.success})",
        hint="the last lines of each rank are in the details (-v)",
        details=last_lines(sources),
    )


def _culprit(seen: Seen) -> str:
    failed = [pod for pod in seen.look.pods if pod.phase == "Failed" or pod.exit_code]
    if not failed:
        return ""
    first = failed[0]
    return f"; {first.name} on {first.node or 'no node'} ended with exit code {first.exit_code}"


def last_lines(sources: Sequence[LogSource], count: int = 15) -> str:
    return "\n".join(f"{source.pod}: {line}" for source in sources for line in source.lines[-count:])
