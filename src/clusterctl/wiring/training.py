"""What `train` works with: the cluster's nodes as they are now, a job sized by them, and the runner that drives it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from clusterctl.adapters.kubejobs import KubeJobs
from clusterctl.adapters.process import KUBECTL, Tool
from clusterctl.adapters.run_lock import run_lock
from clusterctl.engine.events import EventSink, Notice, StageEnded, StageStarted
from clusterctl.engine.raytraining import RayRunner
from clusterctl.engine.slurmtraining import SlurmRunner
from clusterctl.engine.training import JobReport, TrainJob, TrainRunner, hosts_of
from clusterctl.errors import ClusterctlError, UsageError, VerificationError
from clusterctl.model.cluster import NodegroupState
from clusterctl.model.fabric import Transport
from clusterctl.model.instances import InstanceType
from clusterctl.model.jobsize import JobSize, size_job
from clusterctl.model.jobstates import KINDS, WORKLOAD_LABEL
from clusterctl.model.kube import KubeAccess, WorkloadRef
from clusterctl.model.pins import IMAGES, RAY_TRAIN_IMAGE, Image
from clusterctl.model.pods import PodFacts
from clusterctl.model.preflight import Ground, preflight, refuse_unready
from clusterctl.model.settings import Settings
from clusterctl.model.trainresult import (
    Measurement,
    benchmark_document,
    benchmark_problem,
    check_document,
    fabric_problem,
    measurements,
    metrics_document,
    node_document,
)
from clusterctl.model.verification import Check, CheckState, NodeFacts
from clusterctl.model.workloads import Launcher, Workload
from clusterctl.rendering.eksctl_config import ROLE_SYSTEM
from clusterctl.rendering.workloads import JobText, load_workload, render_job, scripts_of
from clusterctl.wiring.bench import Bench

STAGE = "train"
OPERATORS = {Launcher.VOLCANO: "volcano", Launcher.MPI: "mpi", Launcher.RAY: "ray", Launcher.SLURM: "slurm"}
TOY_CPU, TOY_MEMORY_MIB = 2, 4096  # of a job without an accelerator, on a system node
RUNNERS: dict[Launcher, type[TrainRunner]] = {Launcher.RAY: RayRunner, Launcher.SLURM: SlurmRunner}
SLURM_NAMESPACE = "slurm"
NCCL_ENV = (("NCCL_DEBUG", "INFO"), ("NCCL_DEBUG_SUBSYS", "INIT,NET"), ("NCCL_SOCKET_IFNAME", "eth0"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The document of a run, and the error that it ends with, if any."""

    document: dict[str, Any]
    error: ClusterctlError | None = None


@dataclass(frozen=True, slots=True)
class TrainAsk:
    """What the command line says of a job. `repeats` above zero asks for EFA against TCP, so often each."""

    name: str
    nodes: int | None = None
    repeats: int = 0


class Training:
    """One workload on one cluster."""

    def __init__(self, bench: Bench, ask: TrainAsk) -> None:
        self.bench = bench
        self.ask = ask
        self.workload: Workload = load_workload(ask.name)
        self.run_id = uuid.uuid4().hex[:12]
        tool = Tool(KUBECTL, bench.world.children, bench.world.tool_folders)
        self.jobs = KubeJobs(tool, bench.tools.session)

    @cached_property
    def access(self) -> KubeAccess:
        """Raises VerificationError where there is no cluster."""
        target = self.bench.target
        cluster = self.bench.tools.clusters.cluster(target.region, target.cluster)
        if not cluster.exists:
            message = f"there is no cluster {target.cluster} in {target.region}"
            raise VerificationError(message, hint="clusterctl deploy-all")
        return cluster.access

    @cached_property
    def group(self) -> NodegroupState:
        target = self.bench.target
        group = self.bench.tools.clusters.nodegroup(target.region, target.cluster, target.nodegroup)
        if not group.exists:
            raise VerificationError(f"there is no node group {target.nodegroup}", hint="clusterctl nodegroup")
        return group

    @cached_property
    def kind(self) -> InstanceType:
        """EC2's facts of the nodes' type; of no accelerator where the workload wants none."""
        if self.workload.accelerator == "none":
            return InstanceType("", vcpus=0, memory_mib=0)
        found = self.bench.tools.survey.instance_type(self.bench.target.region, self.group.instance_type)
        if found is None:
            raise VerificationError(f"EC2 does not know {self.group.instance_type}", hint="clusterctl verify")
        return found

    @cached_property
    def pods(self) -> tuple[PodFacts, ...]:
        """Everybody else's: an earlier job of this workload goes before the next one comes, or refuses it."""
        found = self.jobs.pods(self.access)
        others = tuple(pod for pod in found if pod.labels.get(WORKLOAD_LABEL) != self.workload.name)
        if self.workload.launcher is not Launcher.SLURM:
            return others
        return tuple(pod for pod in others if pod.labels.get("app.kubernetes.io/name") != "slurmd")  # which serve it

    @cached_property
    def nodes(self) -> tuple[NodeFacts, ...]:
        """Those that a job can be put on, by name."""
        selector = f"eks.amazonaws.com/nodegroup={self.bench.target.nodegroup}"
        if self.workload.accelerator == "none":
            selector = ",".join(f"{key}={value}" for key, value in ROLE_SYSTEM.items())
        found = [node for node in self.bench.tools.kube.nodes(self.access, selector) if node.ready and node.schedulable]
        return tuple(sorted(found, key=lambda node: node.name))

    @property
    def asked_nodes(self) -> int:
        if self.workload.accelerator == "none":
            return 1
        return self.ask.nodes or self.group.desired or len(self.nodes)

    @cached_property
    def size(self) -> JobSize | None:
        chosen = self.nodes[: self.asked_nodes]
        if not chosen:
            return None
        size = size_job(chosen, self.pods, self.kind)
        if self.workload.accelerator != "none":
            return size
        memory = min(size.memory_mib, TOY_MEMORY_MIB)
        return replace(size, cpu=min(size.cpu, TOY_CPU), memory_mib=memory, shm_mib=memory // 4)

    @cached_property
    def image(self) -> Image:
        pinned, own = IMAGES[self.workload.image], self.settings.dlc_image
        return replace(pinned, reference=own) if pinned.reference == RAY_TRAIN_IMAGE else pinned

    @property
    def settings(self) -> Settings:
        return self.bench.settings

    def checks(self) -> tuple[Check, ...]:
        """All that has to hold before the job may start."""
        kind, settings = KINDS[self.workload.launcher], self.settings
        ref = WorkloadRef("customresourcedefinitions", "", kind.definition)
        missing = kind.definition and self.jobs.object(self.access, ref) is None
        return preflight(
            Ground(
                self.workload,
                self.kind,
                self.nodes,
                self.pods,
                self.image,
                self.size,
                self.asked_nodes,
                micro_batch=settings.batch_size,
                sequence=settings.seq_len,
                model_id=self._model_id(),
                operator=kind.definition if missing else "",
                remedy=f"clusterctl {kind.stage}",
            )
        )

    def _model_id(self) -> str:
        """The model that is trained: MODEL_ID where the workload takes it, which is Ray's; else the workload's own."""
        model = self.workload.model
        if model is None:
            return ""
        return self.settings.model_id if self.workload.launcher is Launcher.RAY else model.name

    def outcome(self, emit: EventSink, *, verbose: bool) -> Outcome:
        """Check, run and judge. An interruption and a job that is already there are raised, the rest is told."""
        began = self.bench.clock.now()
        emit(StageStarted(began, STAGE))
        outcome = self._outcome(emit, verbose=verbose)
        status, now = "failed" if outcome.error else "done", self.bench.clock.now()
        said = outcome.error.message if outcome.error else f"verdict {outcome.document['verdict']}"
        emit(StageEnded(now, STAGE, status, (now - began).total_seconds(), said))
        return outcome

    def _outcome(self, emit: EventSink, *, verbose: bool) -> Outcome:
        checks = self.checks()
        try:
            refuse_unready(checks)
        except VerificationError as problem:
            return Outcome(self._document(checks, None), problem)
        for check in checks:
            emit(Notice(self.bench.clock.now(), f"{check.check_id:<12} {check.state.value}: {check.message}"))
        report = self.run(emit, verbose=verbose)
        found = self._measurements(report)
        error = report.problem or self._fabric_problem(report, found)
        return Outcome(self._document(checks, report, found), error)

    def plan_document(self) -> dict[str, Any]:
        checks = self.checks()
        ok = not any(check.state is CheckState.FAILED for check in checks)
        text = self.manifests() if self.size else None
        return {"ok": ok, "checks": [check_document(check) for check in checks], "manifests": text}

    def status_document(self) -> dict[str, Any]:
        look = self._runner(_ignore).look(self._job(""))
        pods = [
            {"name": pod.name, "phase": pod.phase, "node": pod.node, "why": str(pod.problem or "")} for pod in look.pods
        ]
        state = {"name": self.workload.name, "state": look.phase.value, "run_id": look.run_id}
        return {"job": {**state, "message": look.message}, "pods": pods}

    def lock(self) -> AbstractContextManager[None]:
        """One run of a workload at a time; the cluster's own lock stays free for those that only look."""
        bench = self.bench
        name = f"{bench.identity.account_id}-{bench.target.cluster}-train-{self.workload.name}"
        command = f"clusterctl train {self.workload.name}"
        return run_lock(bench.world.home / "locks", name, command=command, now=bench.clock.now())

    def _measurements(self, report: JobReport) -> tuple[Measurement, ...]:
        if not self.ask.repeats:
            return ()
        nodes = tuple(node.node for node in report.fabric.nodes)
        return measurements(report.sources, hosts_of(report.look.pods), nodes)

    def _fabric_problem(self, report: JobReport, found: Sequence[Measurement]) -> ClusterctlError | None:
        """A benchmark is mixed by intent: there, each measurement has to show what was asked of it."""
        if self.ask.repeats:
            return benchmark_problem(found)
        return fabric_problem(report.fabric, efa=self.kind.efa_interfaces)

    def _document(
        self, checks: Sequence[Check], report: JobReport | None, found: Sequence[Measurement] = ()
    ) -> dict[str, Any]:
        fabric = report.fabric if report else None
        gbps = self.kind.network_gbps
        return {
            "job": self._job_document(report),
            "checks": [check_document(check) for check in checks],
            "verdict": fabric.transport.value if fabric else Transport.UNKNOWN.value,
            "required": fabric.required if fabric else None,
            "reason": fabric.reason if fabric else "",
            "nodes": [node_document(node) for node in fabric.nodes] if fabric else [],
            "metrics": metrics_document(report.sources, gbps) if report else {},
            "benchmark": benchmark_document(found) if self.ask.repeats and report else None,
        }

    def _job_document(self, report: JobReport | None) -> dict[str, Any]:
        size = self.size
        return {
            "name": self.workload.name,
            "run_id": self.run_id,
            "launcher": self.workload.launcher.value,
            "namespace": self.settings.namespace,
            "image": self.image.reference,
            "instance_type": size.instance_type if size else "",
            "nodes": size.node_count if size else 0,
            "ranks": size.ranks if size else 0,
            "state": ("failed" if report.problem else "succeeded") if report else "not-started",
            "seconds": report.seconds if report else 0.0,
        }

    def remove(self, emit: EventSink) -> bool:
        return self._runner(emit).remove(self._job(""))

    def run(self, emit: EventSink, *, verbose: bool) -> JobReport:
        return self._runner(emit, verbose=verbose).run(self._job(self.manifests()))

    def manifests(self) -> str:
        """What the job is applied as. Raises VerificationError without a node to put it on."""
        if self.size is None:
            raise VerificationError("no node is ready for the job", hint="clusterctl verify")
        workload, size = self.workload, self.size
        return render_job(
            JobText(
                name=workload.name,
                run_id=self.run_id,
                namespace=self.settings.namespace,
                nodegroup=self.bench.target.nodegroup,
                image=self.image.reference,
                size=size,
                env=NCCL_ENV + ((("FI_PROVIDER", "efa"),) if size.efa else ()),
                scripts=scripts_of(workload),
                settings=self.settings,
                measures=measures(self.ask.repeats, efa=bool(size.efa)),
            )
        )

    def _job(self, manifests: str) -> TrainJob:
        size = self.size or JobSize((), "", "", 0, 0, 0)
        kind = KINDS[self.workload.launcher]
        slurm = self.workload.launcher is Launcher.SLURM
        namespace = SLURM_NAMESPACE if slurm else self.settings.namespace
        return TrainJob(self.workload, kind, size, self.run_id, self.access, namespace, manifests)

    def _runner(self, emit: EventSink, *, verbose: bool = False) -> TrainRunner:
        make = RUNNERS.get(self.workload.launcher, TrainRunner)
        return make(self.jobs, self.bench.tools.executor, self.bench.clock, emit, verbose=verbose)


def refuse_without_operator(name: str, installed: Sequence[str]) -> None:
    """Raise UsageError, before anything is spent, for a workload that does not exist or would lack its operator."""
    needed = OPERATORS.get(load_workload(name).launcher)
    if needed and needed not in installed:
        wanted = ",".join(dict.fromkeys([*installed, needed]))
        raise UsageError(f"{name} needs the operator {needed}", hint=f"--with {wanted}")


def not_run(problem: ClusterctlError) -> Outcome:
    """A job that came to nothing: interrupted, or refused."""
    return Outcome({"job": {"state": "not-started"}, "checks": []}, problem)


def measures(repeats: int, *, efa: bool) -> tuple[tuple[str, int], ...]:
    """One run as it comes; or EFA and TCP in turn, so that what drifts meets both alike."""
    if not repeats:
        return (("efa" if efa else "default", 1),)
    if not efa:
        raise UsageError("there is no EFA on these nodes to measure", hint="clusterctl verify")
    return tuple((transport, number) for number in range(1, repeats + 1) for transport in ("efa", "tcp"))


def _ignore(event: object) -> None:
    """Progress of a look, which nobody watches."""
