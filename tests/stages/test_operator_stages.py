"""The operators' stages against real tools, stand-in charts and simulated operators, in one cluster for all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, cast

import pytest
from test_plugins_stage import Bench, NoJournal

from clusterctl.engine.components import Wanted
from clusterctl.engine.executor import Executor, Hands
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult
from clusterctl.engine.readiness import Readiness
from clusterctl.model.cluster import ClusterState
from clusterctl.model.components import VolcanoState
from clusterctl.model.operators import installed_by, kuberay, mpi
from clusterctl.model.settings import Settings
from clusterctl.model.target import Emptied, OperatorLeft
from clusterctl.rendering.values import wanted
from clusterctl.stages.kuberay import KuberayStage
from clusterctl.stages.mpi import MpiStage
from clusterctl.stages.operator_removal import OperatorGoneStage
from clusterctl.stages.slinky import SlinkyStage
from clusterctl.stages.volcano import VolcanoStage
from local_kube import eventually, running_cluster

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]
ALL = Settings(operators=("ray", "slurm", "volcano", "mpi"))


@dataclasses.dataclass
class Operators(Bench):
    """The four operators' stages over one local cluster with device plugins."""

    settings: Settings = ALL

    @property
    def stages(self) -> tuple[Any, ...]:
        parts = (self.settings, self.cluster.kubectl, self.cluster.releases)
        gangs = (VolcanoState,) if "volcano" in self.settings.operators else ()
        return VolcanoStage(*parts), KuberayStage(*parts, gangs), MpiStage(*parts, gangs), SlinkyStage(*parts)

    def pipeline(self, *stages: Any) -> Pipeline:
        hands = dict.fromkeys(Hands.__dataclass_fields__)
        parts = {
            "releases": self.cluster.releases, "kube": self.cluster.kubectl, "journal": NoJournal(),
            "readiness": Readiness(self.cluster.kubectl, self),
        }  # fmt: skip
        executor = Executor(Hands(**cast("dict[str, Any]", {**hands, **parts})))
        return Pipeline(stages or self.stages, executor, self, self.events.append)

    def plan(self) -> dict[str, list[str]]:
        return {one.stage: [str(action) for action in one.plan] for one in self.pipeline().preview(self.inputs()).plans}

    def run(self, *stages: Any) -> RunResult:
        result = self.pipeline(*stages).apply(self.inputs())
        if result.error:
            raise result.error
        return result

    def remove(self, stage: str) -> RunResult:
        access = self.cluster.access
        target = ClusterState("us-east-2", "training", "ACTIVE", endpoint=access.endpoint,
                              certificate_authority=access.certificate_authority)  # fmt: skip
        without = tuple(Wanted(*wanted(one(self.settings))) for one in (kuberay, mpi)) if stage == "volcano" else ()
        chain = installed_by(stage, self.settings)
        gone = OperatorGoneStage(self.cluster.kubectl, self.cluster.releases, chain, without)
        result = self.pipeline(gone).apply(Outputs().with_value(Emptied(target)))
        if result.error:
            raise result.error
        return result

    def kubectl(self, *words: str) -> str:
        return self.cluster.session.run(self.cluster.kubectl_tool, self.cluster.access, words, timeout_s=60)


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operators]:
    with running_cluster(tmp_path_factory.mktemp("operators")) as cluster:
        bench = Operators(cluster)
        planned = bench.plan()
        bench.run(bench.plugins)
        first = bench.run()
        bench.events.clear()
        yield dataclasses.replace(bench, events=[planned, first])


def test_the_plan_names_every_part_in_order_and_waits_for_what_others_stand_on(operators: Operators) -> None:
    planned: dict[str, list[str]] = operators.events[0]
    assert list(planned).index("volcano") < list(planned).index("kuberay")
    assert planned["slinky"] == [
        "install EBS CSI driver (aws-ebs-csi-driver 2.64.0): not installed",
        "install cert-manager (cert-manager v1.21.1): not installed",
        "install Slinky definitions (slurm-operator-crds 1.2.3): not installed",
        "wait for cert-manager to serve",
        "wait for Slinky definitions to serve",
        "install Slinky operator (slurm-operator 1.2.3): not installed",
        "install MariaDB definitions (mariadb-operator-crds 26.6.0): not installed",
        "wait for MariaDB definitions to serve",
        "install MariaDB operator (mariadb-operator 26.6.0): not installed",
        "wait for MariaDB operator to serve",
        "wait for EBS CSI driver to serve",
        "install Slurm's database (slurm-database 1): not installed",
        "wait for Slinky operator to serve",
        "wait for Slurm's database to serve",
        "install Slurm (slurm 1.2.3): not installed",
    ]


def test_all_four_operators_come_up(operators: Operators) -> None:
    first: RunResult = operators.events[1]
    assert {stage.name: stage.status for stage in first.stages} == dict.fromkeys(
        ("volcano", "kuberay", "mpi", "slinky"), "done"
    )


def test_second_run_finds_nothing_to_do(operators: Operators) -> None:
    assert {stage.status for stage in operators.run().stages} == {"unchanged"}


def test_sinfo_shows_every_gpu_node_with_its_gpus(operators: Operators) -> None:
    said = eventually(
        lambda: operators.kubectl(
            "exec", "--namespace", "slurm", "slurm-controller-0", "--container", "slurmctld", "--", "sinfo", "-N"
        ),
        lambda text: text.count("gpu:4") == 2,
    )
    assert "gpu-0 gpu idle 46 gpu:4" in said


def test_kuberay_and_mpi_schedule_by_volcano(operators: Operators) -> None:
    ray = operators.kubectl("get", "deployment", "kuberay-operator", "--namespace", "kuberay-system", "-o", "json")
    mpi = operators.kubectl("get", "deployment", "mpi-operator", "--namespace", "mpi-operator", "-o", "json")
    assert "--batch-scheduler=volcano" in ray
    assert "--gang-scheduling=volcano" in mpi
    assert "mpioperator/mpi-operator:0.8.2" in mpi


def test_volcano_goes_alone_and_those_who_scheduled_by_it_go_on_without(operators: Operators) -> None:
    result = operators.remove("volcano")
    ray = operators.kubectl("get", "deployment", "kuberay-operator", "--namespace", "kuberay-system", "-o", "json")
    assert "--batch-scheduler" not in ray
    assert result.stages[0].actions[0].startswith("install KubeRay operator")
    assert "volcano" not in operators.kubectl("get", "crds,namespaces,validatingwebhookconfigurations", "-o", "name")
    assert operators.remove("volcano").stages[0].status == "unchanged"


def test_slurm_goes_in_reverse_and_what_holds_data_stays_with_a_reason(operators: Operators) -> None:
    keys = operators.kubectl("get", "secret", "slurm-auth-slurm", "--namespace", "slurm", "-o", "jsonpath={.data}")
    result = operators.remove("slinky")
    assert result.stages[0].actions[0] == "uninstall Slurm (slurm in slurm)"
    kept = {one.name: one.why for one in result.outputs[OperatorLeft].kept}
    assert kept["ebs-csi"] == "EBS CSI driver is needed by 2 persistentvolumes"
    assert "persistentvolumeclaim statesave-slurm-controller-0" in kept["namespace slurm"]
    names = operators.kubectl("get", "crds,namespaces,mutatingwebhookconfigurations", "-o", "name")
    assert [word for word in ("slinky", "mariadb", "cert-manager") if word in names] == []
    again = operators.kubectl("get", "secret", "slurm-auth-slurm", "--namespace", "slurm", "-o", "jsonpath={.data}")
    assert again == keys


def test_the_ray_and_mpi_operators_leave_nothing(operators: Operators) -> None:
    operators.remove("kuberay")
    operators.remove("mpi")
    names = operators.kubectl("get", "crds,namespaces,clusterroles,clusterrolebindings", "-o", "name")
    assert [word for word in ("ray", "mpi", "kubeflow") if word in names] == []
