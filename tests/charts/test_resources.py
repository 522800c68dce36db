"""What our values make of charts, held to the published definitions: types, required fields, and no unknown ones."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import clusterctl.sandbox
from clusterctl.adapters.charts import FolderCharts
from clusterctl.adapters.process import HELM, Tool, child_environment
from clusterctl.errors import ToolMissingError
from clusterctl.model.instances import InstanceType
from clusterctl.model.kube import Chart, Component
from clusterctl.model.operators import SlurmNodes, slinky
from clusterctl.model.settings import Settings
from clusterctl.rendering.values import component_values
from clusterctl.sandbox.kube.api.schema import unknown_fields, violations

SCHEMAS = Path(os.environ.get("CLUSTERCTL_SCHEMAS", "")) / "crds"
CHARTS = Path(clusterctl.sandbox.__file__).parent / "charts"
TYPES = (
    InstanceType("g6.12xlarge", vcpus=48, memory_mib=196608, gpus=4, gpu_name="L4", efa_interfaces=1),
    InstanceType("p5.48xlarge", vcpus=192, memory_mib=2097152, gpus=8, gpu_name="H100", efa_interfaces=32),
    InstanceType("trn1.32xlarge", vcpus=128, memory_mib=524288, neuron_devices=16, neuron_cores=32, efa_interfaces=8),
)

pytestmark = pytest.mark.skipif(
    "CLUSTERCTL_SCHEMAS" not in os.environ, reason="CLUSTERCTL_SCHEMAS names the folder with the published definitions"
)


def rendered(component: Component, folder: Path, charts: Path) -> list[dict[str, Any]]:
    """What helm makes of a chart with our values."""
    try:
        helm = Tool(HELM, child_environment(os.environ)).checked_path
    except ToolMissingError as problem:
        pytest.skip(str(problem))
    assert isinstance(component.chart, Chart)
    values = folder / "values.yaml"
    values.write_text(component_values(component))
    chart = FolderCharts(charts).locate(component.chart)
    words = [helm, "template", component.release, *chart, "--namespace", component.namespace, "--values", values]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def problems_of(resource: dict[str, Any]) -> Iterator[str]:
    """How a resource differs from its definition; nothing for kinds of Kubernetes' own."""
    group, _, version = resource["apiVersion"].rpartition("/")
    for file in SCHEMAS.glob(f"{group}_*.yaml") if group else ():
        definition = yaml.safe_load(file.read_text())
        if definition["spec"]["names"]["kind"] != resource["kind"]:
            continue
        schema = next(one for one in definition["spec"]["versions"] if one["name"] == version)
        shape = schema["schema"]["openAPIV3Schema"]
        yield from (str(one) for one in violations(resource, shape))
        yield from (f"unknown field {one}" for one in unknown_fields(resource, shape))


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_every_resource_of_slurm_is_as_its_definition_says(kind: InstanceType, tmp_path: Path) -> None:
    slurm = slinky(Settings(), SlurmNodes(kind, 2))[-1]
    resources = rendered(slurm, tmp_path, CHARTS)
    checked = [one["kind"] for one in resources if "slinky" in one["apiVersion"]]
    assert sorted(checked) == ["Accounting", "Controller", "LoginSet", "NodeSet", "RestApi"]
    assert [problem for one in resources for problem in problems_of(one)] == []


def test_a_field_that_no_definition_knows_is_found() -> None:
    wrong = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "spec": {"nodeCount": 2}}
    assert "unknown field spec.nodeCount" in list(problems_of(wrong))


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_a_slurm_node_registers_the_devices_that_its_type_has(kind: InstanceType, tmp_path: Path) -> None:
    resources = {one["kind"]: one for one in rendered(slinky(Settings(), SlurmNodes(kind, 3))[-1], tmp_path, CHARTS)}
    nodes, controller = resources["NodeSet"]["spec"], resources["Controller"]["spec"]
    accelerator, count = ("neuron", kind.neuron_devices) if kind.neuron_devices else ("gpu", kind.gpus)
    assert nodes["replicas"] == 3
    assert nodes["extraConf"] == f"Gres={accelerator}:{count}"
    assert f"GresTypes={accelerator}" in controller["extraConf"]
    assert nodes["slurmd"]["resources"]["limits"]["vpc.amazonaws.com/efa"] == kind.efa_interfaces
    assert nodes["slurmd"]["resources"]["limits"] == nodes["slurmd"]["resources"]["requests"]
