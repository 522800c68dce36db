"""MPIJobs, Volcano gangs and Ray on a local cluster whose operators are alive."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from clusterctl.engine.training import hosts_of
from clusterctl.errors import JobFailedError
from clusterctl.model.fabric import Known, Transport
from clusterctl.model.jobresults import bandwidth, metrics
from clusterctl.model.jobstates import Phase
from clusterctl.model.trainresult import benchmark_document, measurements
from local_kube import eventually
from training_scene import Scene

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
DEFINITIONS = {
    "kubeflow.org": ("v2beta1", "mpijobs", "MPIJob"),
    "batch.volcano.sh": ("v1alpha1", "jobs", "Job"),
    "scheduling.volcano.sh": ("v1beta1", "podgroups", "PodGroup"),
    "ray.io": ("v1", "rayclusters", "RayCluster"),
}
OPERATORS = {
    "mpi-operator": "mpioperator/mpi-operator:0.8.2",
    "volcano-controllers": "volcanosh/vc-controller-manager:v1.15.2",
    "volcano-scheduler": "volcanosh/vc-scheduler:v1.15.2",
    "kuberay-operator": "quay.io/kuberay/operator:v1.7.0",
}
OPERATED = ("mpi-allreduce", "volcano-ddp", "ray-fsdp")


def definition(group: str, version: str, plural: str, kind: str) -> dict[str, object]:
    open_schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": open_schema, "subresources": {"status": {}}}
    names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [served]},
    }  # fmt: skip


def deployment(name: str, image: str) -> dict[str, object]:
    labels = {"app": name}
    spec = {"containers": [{"name": "operator", "image": image}], "nodeSelector": {"role": "system"}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _operators(standing: Scene) -> None:
    cluster = standing.cluster
    things = [definition(group, *rest) for group, rest in DEFINITIONS.items()]
    things += [deployment(name, image) for name, image in OPERATORS.items()]
    cluster.kubectl.apply(cluster.access, yaml.safe_dump_all(things))
    eventually(
        lambda: cluster.kubectl.objects(cluster.access, "deployments"),
        lambda found: sum(bool(one["status"].get("readyReplicas")) for one in found) == len(OPERATORS),
        limit_s=60,
    )


@pytest.mark.parametrize("name", OPERATED)
def test_every_launcher_runs_its_job_and_proves_efa_on_every_node(scene: Scene, name: str) -> None:
    report = scene.runner(name=name).run(scene.job(name))
    assert report.problem is None
    assert report.fabric.transport is Transport.EFA
    assert [node.fi_info for node in report.fabric.nodes] == [Known.YES] * 2
    assert bandwidth(report.lines) or metrics(report.lines)["tokens_per_second"] > 0


@pytest.mark.parametrize("name", OPERATED)
def test_every_launcher_shows_a_node_that_fell_back_to_sockets(scene: Scene, name: str) -> None:
    scene.faults.append({"on": "kube:rank/1", "outcome": "sockets", "times": "always"})
    report = scene.runner(name=name).run(scene.job(name, "sockets"))
    assert report.problem is None
    assert report.fabric.transport is Transport.MIXED


@pytest.mark.parametrize("name", OPERATED)
def test_every_launcher_fails_with_a_rank_that_dies_and_frees_its_gpus(scene: Scene, name: str) -> None:
    scene.faults.append({"on": "kube:rank/1", "outcome": "crash", "times": "always"})
    job = scene.job(name, "crash")
    problem = scene.runner(name=name).run(job).problem
    assert isinstance(problem, JobFailedError)
    assert "SIGKILL" in problem.details or "signal 9" in problem.details
    assert scene.jobs.object(job.access, job.ref) is None


def test_workers_of_mpirun_let_go_of_their_gpus_when_it_is_done(scene: Scene) -> None:
    job = scene.job("mpi-allreduce", "clean")
    scene.runner().run(job)
    held = eventually(
        lambda: [pod for pod in scene.jobs.pods(job.access, "training", "clusterctl/run=clean") if not pod.finished],
        lambda pods: not pods,
    )
    assert held == []
    assert scene.runner().look(job).phase is Phase.SUCCEEDED


def test_a_benchmark_of_mpirun_measures_both_on_the_same_pods(scene: Scene) -> None:
    measures = (("efa", 1), ("tcp", 1), ("efa", 2), ("tcp", 2))
    report = scene.runner().run(scene.job("mpi-allreduce", "bench", measures=measures))
    nodes = tuple(node.node for node in report.fabric.nodes)
    found = measurements(report.sources, hosts_of(report.look.pods), nodes)
    assert [one.proved.value for one in found] == ["efa", "tcp", "efa", "tcp"]
    ratio = benchmark_document(found)["ratio"]
    assert 1.5 < ratio < 3


def test_a_gang_that_does_not_fit_binds_no_pod_at_all(scene: Scene) -> None:
    job = scene.job("volcano-ddp", "gang")
    text = job.manifests.replace("replicas: 2", "replicas: 3").replace("minAvailable: 2", "minAvailable: 3")
    report = scene.runner().run(replace(job, manifests=text))
    assert isinstance(report.problem, JobFailedError)
    assert [pod.node for pod in report.look.pods if pod.node] == []
