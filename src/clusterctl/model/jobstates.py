"""How far a job is, read from its object's own status: each kind of job says it in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from clusterctl.model.pods import PodFacts
from clusterctl.model.workloads import Launcher

Json = Mapping[str, Any]
RUN_LABEL = "clusterctl/run"
WORKLOAD_LABEL = "clusterctl/workload"


class Phase(Enum):
    """Where a job is."""

    ABSENT = "absent"
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (Phase.SUCCEEDED, Phase.FAILED)


@dataclass(frozen=True, slots=True)
class JobLook:
    """A job at one moment. `message` is its controller's own."""

    phase: Phase
    message: str = ""
    run_id: str = ""
    pods: tuple[PodFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class JobKind:
    """The resource of a launcher: how kubectl names it, what tells its phase, and which label numbers its pods.

    `definition` is the custom resource's, `stage` the clusterctl command that installs it. `narrators` are the values
    of `role_label` whose pods print the ranks' output; all of them where there is no such label.
    """

    resource: str
    phase: Callable[[Json], tuple[Phase, str]]
    index_label: str
    definition: str = ""
    stage: str = ""
    role_label: str = ""
    narrators: tuple[str, ...] = ()
    shared: bool = False  # its pods are not this job's alone, and print other things as well


def look_at(kind: JobKind, job: Json | None, pods: tuple[PodFacts, ...]) -> JobLook:
    if job is None:
        return JobLook(Phase.ABSENT, pods=pods)
    phase, message = kind.phase(job)
    labels = job["metadata"].get("labels") or {}
    return JobLook(phase, message, labels.get(RUN_LABEL, ""), pods)


def narrates(kind: JobKind, pod: PodFacts) -> bool:
    return not kind.role_label or pod.labels.get(kind.role_label) in kind.narrators


def index_of(kind: JobKind, pod: PodFacts) -> str:
    """The pod's number among its peers; its role where it has none."""
    return pod.labels.get(kind.index_label) or pod.labels.get(kind.role_label, "") or pod.name


def _by_conditions(job: Json) -> tuple[Phase, str]:
    """batch/v1 Job and kubeflow.org/v2beta1 MPIJob."""
    holding = {one["type"]: one for one in _status(job).get("conditions") or () if one.get("status") == "True"}
    for name, phase in (
        ("Failed", Phase.FAILED), ("Complete", Phase.SUCCEEDED), ("Succeeded", Phase.SUCCEEDED),
    ):  # fmt: skip
        if name in holding:
            said = holding[name]
            return phase, f"{said.get('reason', '')}: {said.get('message', '')}".strip(": ")
    running = "Running" in holding or bool(_status(job).get("ready"))
    return (Phase.RUNNING if running else Phase.PENDING), ""


def _by_state(job: Json) -> tuple[Phase, str]:
    """batch.volcano.sh/v1alpha1 Job."""
    state = _status(job).get("state") or {}
    phases = {
        "Running": Phase.RUNNING, "Completing": Phase.RUNNING, "Restarting": Phase.RUNNING,
        "Completed": Phase.SUCCEEDED, "Failed": Phase.FAILED, "Aborted": Phase.FAILED, "Terminated": Phase.FAILED,
    }  # fmt: skip
    said = f"{state.get('reason', '')}: {state.get('message', '')}".strip(": ")
    return phases.get(state.get("phase", ""), Phase.PENDING), said


def _by_cluster(cluster: Json) -> tuple[Phase, str]:
    """ray.io/v1 RayCluster: whether a job can be given to it. Slurm's jobs are not Kubernetes' own at all."""
    status = _status(cluster)
    return (Phase.RUNNING if status.get("state") == "ready" else Phase.PENDING), str(status.get("reason", ""))


def _status(job: Json) -> Json:
    return job.get("status") or {}


KINDS = {
    Launcher.JOB: JobKind("jobs.batch", _by_conditions, "batch.kubernetes.io/job-completion-index"),
    Launcher.VOLCANO: JobKind(
        "jobs.batch.volcano.sh", _by_state, "volcano.sh/task-index",
        definition="jobs.batch.volcano.sh", stage="volcano",
    ),
    Launcher.MPI: JobKind(
        "mpijobs.kubeflow.org", _by_conditions, "training.kubeflow.org/replica-index",
        definition="mpijobs.kubeflow.org", stage="mpi",
        role_label="training.kubeflow.org/job-role", narrators=("launcher",),
    ),
    Launcher.RAY: JobKind(
        "rayclusters.ray.io", _by_cluster, "", definition="rayclusters.ray.io", stage="kuberay",
        role_label="ray.io/node-type", narrators=("head",),
    ),
    Launcher.SLURM: JobKind(
        "nodesets.slinky.slurm.net", _by_cluster, "", definition="nodesets.slinky.slurm.net", stage="slinky",
        role_label="app.kubernetes.io/name", narrators=("slurmd",), shared=True,
    ),
}  # fmt: skip
