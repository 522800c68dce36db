"""Training on a local cluster: real kubectl, simulated pods whose logs follow from what they asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterctl.engine.events import Waiting
from clusterctl.engine.training import JobReport
from clusterctl.errors import BusyError, InterruptedRunError, JobFailedError
from clusterctl.model.fabric import Known, Transport
from clusterctl.model.jobresults import bandwidth
from clusterctl.model.jobstates import Phase
from clusterctl.model.kube import WorkloadRef
from fakes import FakeClock
from local_kube import eventually
from training_scene import Scene

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
NAME = "job-allreduce"
LONG = tuple(("efa", number) for number in range(1, 200))
JOB = WorkloadRef("jobs.batch", "training", NAME)


def failed(report: JobReport) -> JobFailedError:
    assert isinstance(report.problem, JobFailedError)
    return report.problem


def test_a_job_runs_and_every_node_proves_efa(scene: Scene) -> None:
    report = scene.runner().run(scene.job(NAME))
    assert report.problem is None
    assert report.fabric.transport is Transport.EFA
    assert [(node.nics, node.fi_info, node.gpudirect) for node in report.fabric.nodes] == [(1, Known.YES, Known.NO)] * 2
    measured = bandwidth(report.lines)
    assert measured is not None
    assert 1 < measured.peak_gbs < 5


def test_lines_are_streamed_with_the_rank_in_front(scene: Scene) -> None:
    scene.runner().run(scene.job(NAME, "streamed"))
    assert "[rank 0] allreduce finished: world=8 wrong=0" in scene.words
    assert "NCCL INFO" not in scene.words
    assert any("succeeded" in event.message for event in scene.events if isinstance(event, Waiting))


def test_sockets_on_one_node_are_mixed(scene: Scene) -> None:
    scene.faults.append({"on": "kube:rank/1", "outcome": "sockets"})
    report = scene.runner().run(scene.job(NAME, "sockets"))
    assert report.problem is None
    assert report.fabric.transport is Transport.MIXED
    assert sorted(node.transport.value for node in report.fabric.nodes) == ["efa", "tcp"]
    assert not report.fabric.passed


def test_a_pod_that_asks_for_no_efa_runs_over_tcp(scene: Scene) -> None:
    job = scene.job(NAME, "without")
    text = job.manifests.replace('"vpc.amazonaws.com/efa": "1", ', "").replace(', "vpc.amazonaws.com/efa": "1"', "")
    assert text != job.manifests
    report = scene.runner().run(replace(job, manifests=text))
    assert report.fabric.transport is Transport.TCP
    assert {node.fi_info for node in report.fabric.nodes} == {Known.NO}


def test_without_nccl_debug_nothing_is_known(scene: Scene) -> None:
    report = scene.runner().run(scene.job(NAME, "silent", env=(("FI_PROVIDER", "efa"),)))
    assert report.problem is None
    assert report.fabric.transport is Transport.UNKNOWN
    assert not report.fabric.passed


def test_a_rank_that_dies_fails_the_job_and_frees_its_gpus(scene: Scene) -> None:
    scene.faults.append({"on": "kube:rank/1", "outcome": "crash"})
    problem = failed(scene.runner().run(scene.job(NAME, "crash")))
    assert problem.exit_code == 10
    assert "exit code 1" in problem.message
    assert "SIGKILL" in problem.details
    assert scene.jobs.object(scene.cluster.access, JOB) is None


def test_a_pod_that_cannot_be_placed_is_explained_and_not_waited_for(scene: Scene) -> None:
    job = scene.job(NAME, "pending")
    text = job.manifests.replace('"nvidia.com/gpu": "4"', '"nvidia.com/gpu": "16"')
    problem = failed(scene.runner().run(replace(job, manifests=text)))
    assert "Insufficient nvidia.com/gpu" in problem.message
    assert problem.hint
    assert scene.jobs.object(scene.cluster.access, JOB) is None


def test_a_job_that_ends_without_its_proof_has_failed(scene: Scene) -> None:
    job = scene.job(NAME, "unproved")
    wanted = job.workload.model_copy(update={"success": "a line that it never prints"})
    problem = failed(scene.runner().run(replace(job, workload=wanted)))
    assert "without the line that proves its success" in problem.message


def test_a_second_run_beside_a_running_one_is_refused(scene: Scene) -> None:
    job = scene.job(NAME, "first", measures=LONG)
    scene.runner().remove(job)
    scene.cluster.kubectl.apply(job.access, job.manifests)
    eventually(lambda: scene.runner().look(job).phase, lambda phase: phase in (Phase.PENDING, Phase.RUNNING))
    with pytest.raises(BusyError) as caught:
        scene.runner().run(scene.job(NAME, "second"))
    assert "run first" in caught.value.message
    assert scene.runner().remove(job)
    assert not scene.runner().remove(job)


def test_an_interruption_stops_the_job_and_says_so(scene: Scene) -> None:
    with pytest.raises(InterruptedRunError) as caught:
        scene.runner(FakeClock(interrupted_after_s=7)).run(scene.job(NAME, "interrupted", measures=LONG))
    assert "was stopped" in caught.value.message
    assert scene.jobs.object(scene.cluster.access, JOB) is None


def test_a_job_that_somebody_deletes_is_told_as_gone(scene: Scene) -> None:
    job = scene.job(NAME, "gone", measures=LONG)

    class Deleter(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            scene.cluster.kubectl.delete(job.access, JOB)

    problem = failed(scene.runner(Deleter()).run(job))
    assert "deleted" in problem.message
