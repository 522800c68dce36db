"""A job of Slurm: handed to slurmctld in its pod, run over slurmd pods that hold the nodes' devices."""

from __future__ import annotations

import pytest
import yaml

from clusterctl.engine.training import TrainJob
from clusterctl.errors import BusyError, InterruptedRunError, JobFailedError
from clusterctl.model.fabric import Transport
from clusterctl.model.jobstates import Phase
from fakes import FakeClock
from local_kube import eventually
from training_scene import Scene

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
NAME = "slurm-ddp"
LONG = tuple(("efa", number) for number in range(1, 200))
DEVICES = {"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"}


def daemon(name: str, image: str, replicas: int, resources: dict[str, str]) -> dict[str, object]:
    labels = {"app.kubernetes.io/name": name}
    container = {"name": name, "image": image, "resources": {"requests": resources, "limits": resources}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "serviceName": name, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": f"slurm-{name}", "namespace": "slurm"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def operator() -> dict[str, object]:
    labels = {"app": "slurm-operator"}
    pod = {"containers": [{"name": "manager", "image": "ghcr.io/slinkyproject/slurm-operator:1.2.3"}]}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    meta = {"name": "slurm-operator", "namespace": "slurm"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


@pytest.fixture(scope="module", autouse=True)
def _slurm(standing: Scene) -> None:
    cluster = standing.cluster
    things = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "slurm"}},
        operator(),
        daemon("slurmctld", "ghcr.io/slinkyproject/slurmctld:26.05", 1, {"cpu": "1"}),
        daemon("slurmd", "ghcr.io/slinkyproject/slurmd-pyxis:26.05", 2, DEVICES),
    ]
    cluster.kubectl.apply(cluster.access, yaml.safe_dump_all(things))
    eventually(
        lambda: standing.jobs.pods(cluster.access, "slurm"),
        lambda pods: len(pods) == 4 and all(pod.ready for pod in pods),
        limit_s=60,
    )
    controller = next(pod for pod in standing.jobs.pods(cluster.access, "slurm") if "slurmctld" in pod.name)
    eventually(
        lambda: standing.jobs.ask(cluster.access, controller, ("scontrol", "--oneliner", "show", "jobs")), bool
    )  # the simulated daemon has looked for the first time


def job(scene: Scene, run_id: str, **changes: object) -> TrainJob:
    return scene.job(NAME, run_id, namespace="slurm", **changes)


def test_a_batch_job_runs_and_proves_efa_on_every_node(scene: Scene) -> None:
    report = scene.runner(name=NAME).run(job(scene, "first"))
    assert report.problem is None
    assert report.fabric.transport is Transport.EFA
    assert "training finished" in scene.words


def test_lines_of_an_older_job_in_the_same_pod_never_count(scene: Scene) -> None:
    scene.runner(name=NAME).run(job(scene, "older"))
    scene.events.clear()
    report = scene.runner(name=NAME).run(job(scene, "newer", env=(("FI_PROVIDER", "efa"),)))
    assert report.problem is None
    assert report.fabric.transport is Transport.UNKNOWN
    assert scene.words.count("training finished") == 1


def test_a_node_that_falls_back_to_sockets_is_mixed(scene: Scene) -> None:
    scene.faults.append({"on": "kube:rank/1", "outcome": "sockets", "times": "always"})
    assert scene.runner(name=NAME).run(job(scene, "sockets")).fabric.transport is Transport.MIXED
    scene.faults.clear()


def test_more_nodes_than_there_are_is_told_in_slurms_words(scene: Scene) -> None:
    text = job(scene, "toomany").manifests.replace("--nodes=2", "--nodes=3")
    wanted = job(scene, "toomany")
    problem = scene.runner(name=NAME).run(TrainJob(**{**_fields(wanted), "manifests": text})).problem
    assert isinstance(problem, JobFailedError)
    assert "PartitionNodeLimit" in problem.message


def _fields(wanted: TrainJob) -> dict[str, object]:
    return {name: getattr(wanted, name) for name in TrainJob.__dataclass_fields__}


def test_an_interruption_cancels_the_job(scene: Scene) -> None:
    long = job(scene, "long", measures=LONG)
    with pytest.raises(InterruptedRunError):
        scene.runner(FakeClock(interrupted_after_s=7), NAME).run(long)
    ended = eventually(lambda: scene.runner(name=NAME).look(long), lambda look: look.phase is Phase.FAILED)
    assert ended.message.startswith("CANCELLED")


def test_a_second_job_beside_a_running_one_is_refused(scene: Scene) -> None:
    runner, long = scene.runner(name=NAME), job(scene, "busy", measures=LONG)
    runner._start(long)
    eventually(lambda: runner.look(long).phase, lambda phase: phase is Phase.RUNNING)
    with pytest.raises(BusyError):
        runner.run(job(scene, "second"))
    assert runner.remove(long)
