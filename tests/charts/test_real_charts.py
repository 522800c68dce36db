"""With CLUSTERCTL_CHARTS naming a folder of real charts: each takes our values, and goes into a Kubernetes API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from test_resources import TYPES, problems_of, rendered

from clusterctl.adapters.charts import FolderCharts
from clusterctl.adapters.helm import Helm
from clusterctl.adapters.manifests import Manifests
from clusterctl.adapters.releases import ComponentReleases
from clusterctl.errors import UsageError
from clusterctl.model.components import efa, nvidia
from clusterctl.model.kube import Chart, Component
from clusterctl.model.operators import SlurmNodes, kuberay, mpi, slinky, volcano
from clusterctl.model.settings import Settings
from clusterctl.rendering.values import component_values, efa_values, nvidia_values
from local_kube import Cluster, running_cluster

FOLDER = Path(os.environ.get("CLUSTERCTL_CHARTS", ""))
SETTINGS = Settings()
OPERATORS = (
    volcano(SETTINGS), kuberay(SETTINGS, gangs=True), mpi(SETTINGS, gangs=True),
    *slinky(SETTINGS, SlurmNodes(TYPES[0], 2)),
)  # fmt: skip
BY_CHART = tuple(one for one in OPERATORS if isinstance(one.chart, Chart))
PLUGINS = (nvidia(SETTINGS), efa(SETTINGS))

pytestmark = [
    pytest.mark.charts, pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600),
    pytest.mark.skipif("CLUSTERCTL_CHARTS" not in os.environ, reason="CLUSTERCTL_CHARTS names no folder"),
]  # fmt: skip


def as_there(component: Component) -> Component:
    """The component at the version that the folder has: what is checked is that our values fit."""
    if not isinstance(component.chart, Chart):
        return component
    about = yaml.safe_load((FOLDER / component.chart.name / "Chart.yaml").read_text())
    return replace(component, chart=replace(component.chart, version=str(about["version"])))


def values_of(component: Component) -> str:
    given = {"nvidia": nvidia_values, "efa": lambda: efa_values(["g6.12xlarge"])}
    return given.get(component.name, lambda: component_values(component))()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("charts")) as cluster:
        source = FolderCharts(FOLDER)
        helm = Helm(cluster.helm_tool, cluster.session, source, cluster.kubectl)
        manifests = Manifests(cluster.kubectl_tool, cluster.session, source, cluster.kubectl)
        yield replace(cluster, helm=helm, releases=ComponentReleases(helm, manifests))


@pytest.mark.parametrize(
    "component", [one for one in OPERATORS if isinstance(one.chart, Chart)], ids=lambda one: one.name
)
def test_a_real_chart_makes_the_workloads_and_signals_that_we_wait_for(component: Component, tmp_path: Path) -> None:
    made = {(one["kind"], one["metadata"]["name"]): one for one in rendered(as_there(component), tmp_path, FOLDER)}
    custom = [problem for one in made.values() for problem in problems_of(one)]
    assert custom == []
    if component.name != "slurm":  # the operator makes Slurm's own workloads
        assert [ref for ref in component.workloads if (ref.kind, ref.name) not in made] == []
        names = {name for _, name in made}
        assert [signal for signal in component.signals if signal.name not in names] == []


@pytest.mark.parametrize("component", [*OPERATORS, *PLUGINS], ids=lambda one: one.name)
def test_a_real_component_goes_into_the_api(component: Component, cluster: Cluster) -> None:
    there = as_there(component)
    try:
        cluster.releases.install(cluster.access, there, values_of(there))
    except UsageError as problem:
        pytest.fail(str(problem))
    assert cluster.releases.release(cluster.access, there).status == "deployed"
