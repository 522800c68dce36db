"""Argo CD is told of the same charts, versions and values as helm, and may delete nothing that holds data."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from clusterctl.model.components import efa, neuron, nvidia
from clusterctl.model.instances import InstanceType
from clusterctl.model.kube import Chart, Component, Manifest
from clusterctl.model.operators import SlurmNodes, kuberay, mpi, slinky, volcano
from clusterctl.model.settings import Settings
from clusterctl.rendering.gitops import GitPlace, application, component_files, root_application
from clusterctl.rendering.values import component_values, efa_values, neuron_values, nvidia_values

SETTINGS = Settings()
KIND = InstanceType("g6.12xlarge", vcpus=48, memory_mib=196608, gpus=4, efa_interfaces=1)
GIT = GitPlace("https://git.example.com/ml.git", "clusters/gpu", "main")
OPERATORS = (kuberay(SETTINGS), volcano(SETTINGS), mpi(SETTINGS, gangs=True), *slinky(SETTINGS, SlurmNodes(KIND, 2)))
PLUGINS = {
    nvidia(SETTINGS): nvidia_values(), efa(SETTINGS): efa_values([KIND.name]),
    neuron(SETTINGS): neuron_values(["trn1.32xlarge"]),
}  # fmt: skip
ALL = [*PLUGINS.items(), *((one, component_values(one)) for one in OPERATORS)]
CHARTS = [(one, values) for one, values in ALL if isinstance(one.chart, Chart)]
MANIFESTS = [(one, values) for one, values in ALL if isinstance(one.chart, Manifest)]


def names(pairs: list[tuple[Component, str]]) -> list[str]:
    return [one.name for one, _ in pairs]


def parsed(component: Component, values: str, wave: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(application("training", component, values, wave, GIT))
    return found


@pytest.mark.parametrize(("component", "values"), CHARTS, ids=names(CHARTS))
def test_argo_is_given_the_chart_version_and_values_that_helm_is_given(component: Component, values: str) -> None:
    chart, source = component.chart, parsed(component, values)["spec"]["source"]
    assert isinstance(chart, Chart)
    assert source["repoURL"] == chart.repository.removeprefix("oci://")
    assert (source["chart"], source["targetRevision"]) == (chart.name, chart.version)
    assert source["helm"]["releaseName"] == component.release
    assert source["helm"].get("valuesObject") == yaml.safe_load(values)


@pytest.mark.parametrize(("component", "values"), MANIFESTS, ids=names(MANIFESTS))
def test_plain_resources_are_taken_from_where_they_were_rendered_to(component: Component, values: str) -> None:
    source = parsed(component, values)["spec"]["source"]
    (folder,) = {one.path.rpartition("/")[0] for one in component_files(component, values)}
    assert source == {"repoURL": GIT.url, "targetRevision": "main", "path": f"clusters/gpu/{folder}"}
    assert application("training", component, values, 0, None) == ""


@pytest.mark.parametrize(("component", "values"), ALL, ids=names(ALL))
def test_definitions_and_claims_are_never_pruned(component: Component, values: str) -> None:
    app = parsed(component, values, wave=3)
    policy = app["spec"]["syncPolicy"]
    keeps = isinstance(component.chart, Manifest) or bool(component.crds or component.objects or component.users)
    assert policy["automated"]["prune"] is not keeps
    assert ("Prune=false" in policy["syncOptions"]) is keeps
    assert ("finalizers" in app["metadata"]) is not keeps, "a finalizer deletes everything with the Application"
    assert "ServerSideApply=true" in policy["syncOptions"]
    assert app["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "3"}
    assert app["spec"]["destination"]["namespace"] == component.namespace


def test_only_programs_without_definitions_or_data_are_pruned() -> None:
    pruned = [one for one, values in ALL if parsed(one, values)["spec"]["syncPolicy"]["automated"]["prune"]]
    assert {one.name for one in pruned} == {"nvidia", "efa", "neuron", "slurm-operator"}


def test_a_cluster_name_that_kubernetes_does_not_allow_makes_a_name_that_it_does() -> None:
    app = yaml.safe_load(application("Team_A", nvidia(SETTINGS), nvidia_values(), 0, None))
    assert app["metadata"]["name"] == "team-a-nvidia"


def test_the_root_leads_to_all_applications() -> None:
    root = yaml.safe_load(root_application("training", GIT))
    assert root["spec"]["source"]["path"] == "clusters/gpu/argocd"
    assert root["metadata"]["name"] not in {parsed(*pair)["metadata"]["name"] for pair in ALL}


def test_a_published_manifest_is_named_by_address_and_version() -> None:
    component = mpi(SETTINGS, gangs=True)
    (file,) = component_files(component, component_values(component))
    kustomization = yaml.safe_load(file.text)
    assert isinstance(component.chart, Manifest)
    assert kustomization["resources"] == [component.chart.url]
    assert SETTINGS.mpi_operator_version in component.chart.url
    assert "--gang-scheduling=volcano" in kustomization["patches"][0]["patch"]
