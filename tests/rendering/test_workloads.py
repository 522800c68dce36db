"""Every workload's manifests: valid to the last field, sized by the nodes, one meeting point for all ranks."""

from __future__ import annotations

import base64
import io
import os
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterctl.errors import UsageError
from clusterctl.model.jobsize import JobSize
from clusterctl.model.pins import IMAGES
from clusterctl.model.settings import Settings
from clusterctl.model.workloads import Launcher, Workload, parse_workload
from clusterctl.rendering.templates import template_root
from clusterctl.rendering.workloads import JobText, load_workload, render_job, scripts_of, workload_names
from clusterctl.sandbox.kube.api.schema import unknown_fields, violations
from clusterctl.sandbox.kube.api.strictness import unknown_builtin_fields

EVERY = workload_names()
NAMES = tuple(name for name in EVERY if load_workload(name).launcher is not Launcher.SLURM)
SCHEMAS = Path(os.environ.get("CLUSTERCTL_SCHEMAS", "")) / "crds"
SIZES = {
    "nvidia": JobSize(("a", "b"), "p5.48xlarge", "amd64", 180, 1_700_000, 400_000, gpus=8, efa=32, hugepages_mib=5120),
    "neuron": JobSize(("a", "b"), "trn1.32xlarge", "amd64", 120, 400_000, 90_000, efa=8, neuron=16, neuron_cores=32),
    "none": JobSize(("a",), "", "amd64", 2, 4096, 1024),
}


def rendered(name: str, **changes: Any) -> list[dict[str, Any]]:
    workload = load_workload(name)
    values: dict[str, Any] = {
        "name": name, "run_id": "0123456789ab", "namespace": "training", "nodegroup": "gpu",
        "image": IMAGES[workload.image].reference, "size": SIZES[workload.accelerator],
        "env": (("NCCL_DEBUG", "INFO"), ("FI_PROVIDER", "efa")), "scripts": scripts_of(workload),
        "settings": Settings(),
    }  # fmt: skip
    return [one for one in yaml.safe_load_all(render_job(JobText(**{**values, **changes}))) if one]


def pod_specs(obj: Any) -> list[dict[str, Any]]:
    """Every pod spec anywhere in an object."""
    if isinstance(obj, list):
        return [spec for one in obj for spec in pod_specs(one)]
    if not isinstance(obj, dict):
        return []
    own = [obj] if isinstance(obj.get("containers"), list) else []
    return own + [spec for one in obj.values() for spec in pod_specs(one)]


def containers(name: str, **changes: Any) -> list[dict[str, Any]]:
    return [one for spec in pod_specs(rendered(name, **changes)) for one in spec["containers"]]


def workers(name: str) -> list[dict[str, Any]]:
    """The containers that hold a node's devices."""
    held = [one for one in containers(name) if any("/" in key for key in one["resources"]["requests"])]
    return held or containers(name)


def test_there_are_workloads_to_look_at() -> None:
    assert "job-allreduce" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_description_names_an_image_and_scripts_that_exist(name: str) -> None:
    workload = load_workload(name)
    assert workload.image in IMAGES
    assert all(text.strip() for _, text in scripts_of(workload))


@pytest.mark.parametrize("name", NAMES)
def test_no_field_of_a_manifest_is_unknown_to_kubernetes(name: str) -> None:
    for obj in rendered(name):
        kind = f"{obj['apiVersion']}/{obj['kind']}"
        if "." not in obj["apiVersion"].split("/")[0]:
            assert unknown_builtin_fields(obj["kind"], obj) == [], kind


@pytest.mark.parametrize("name", NAMES)
def test_a_custom_resource_fits_the_operators_own_schema(name: str) -> None:
    custom = [one for one in rendered(name) if "." in one["apiVersion"].split("/")[0]]
    if custom and not SCHEMAS.is_dir():
        pytest.skip("CLUSTERCTL_SCHEMAS names no folder with the operators' definitions")
    for obj in custom:
        group, version = obj["apiVersion"].split("/")
        definition = next(one for one in definitions(group) if one["spec"]["names"]["kind"] == obj["kind"])
        schema = next(one for one in definition["spec"]["versions"] if one["name"] == version)["schema"]
        assert unknown_fields(obj, schema["openAPIV3Schema"]) == []
        assert violations(obj, schema["openAPIV3Schema"]) == []
    assert all(one["metadata"]["labels"]["clusterctl/run"] == "0123456789ab" for one in custom)


@cache
def definitions(group: str) -> list[dict[str, Any]]:
    """The operators' own, which are large: read once."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [yaml.load(path.read_text(), Loader=loader) for path in SCHEMAS.glob(f"{group}_*.yaml")]


@pytest.mark.parametrize("name", NAMES)
def test_requests_equal_limits_and_devices_are_the_nodes_own(name: str) -> None:
    assert all(one["resources"]["requests"] == one["resources"]["limits"] for one in containers(name))
    size = SIZES[load_workload(name).accelerator]
    assert all(one["resources"]["requests"] == size.resources for one in workers(name))


@pytest.mark.parametrize("name", NAMES)
def test_shared_memory_is_sized_and_huge_pages_are_mounted_where_they_are_asked_for(name: str) -> None:
    for spec in pod_specs(rendered(name)):
        asked = any("hugepages-2Mi" in one["resources"]["requests"] for one in spec["containers"])
        mediums = {one.get("emptyDir", {}).get("medium") for one in spec["volumes"]}
        assert ("HugePages-2Mi" in mediums) == asked
        held = any("/" in key for one in spec["containers"] for key in one["resources"]["requests"])
        shm = [one["emptyDir"] for one in spec["volumes"] if one.get("name") == "shm"]
        assert not held or shm == [{"medium": "Memory", "sizeLimit": f"{SIZES['nvidia'].shm_mib}Mi"}] or shm


@pytest.mark.parametrize("name", NAMES)
def test_every_pod_says_which_run_it_belongs_to(name: str) -> None:
    for one in containers(name):
        values = {entry["name"]: entry.get("value") for entry in one["env"]}
        assert values["CLUSTERCTL_RUN_ID"] == "0123456789ab"
        assert values["NCCL_DEBUG"] == "INFO"


@pytest.mark.parametrize("name", NAMES)
def test_no_manifest_forces_what_the_plugin_decides_better(name: str) -> None:
    text = yaml.safe_dump_all(rendered(name))
    forced = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_IB_DISABLE", "FI_EFA_USE_DEVICE_RDMA", "status.podIP")
    assert [word for word in forced if word in text] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_shell_of_every_pod_can_be_parsed(name: str) -> None:
    for one in containers(name):
        if one.get("command", [""])[0] == "bash":
            checked = subprocess.run(["bash", "-n"], input=one["args"][0], text=True, capture_output=True, check=False)
            assert checked.stderr == ""


def test_the_script_that_every_pod_sources_can_be_parsed() -> None:
    path = template_root() / "manifests" / "workloads" / "evidence.sh"
    assert subprocess.run(["bash", "-n", str(path)], capture_output=True, check=False).stderr == b""


def test_a_batch_script_carries_its_programs_and_one_launcher_a_node() -> None:
    scripts = scripts_of(load_workload("slurm-ddp"))
    job = JobText(
        name="slurm-ddp", run_id="0123456789ab", namespace="slurm", nodegroup="gpu", size=SIZES["nvidia"],
        image=IMAGES["ray-train"].reference, env=(("NCCL_DEBUG", "INFO"),), scripts=scripts, settings=Settings(),
    )  # fmt: skip
    text = render_job(job)
    assert text.startswith("#!/bin/bash\n#SBATCH ")
    assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False).stderr == ""
    assert {"#SBATCH --nodes=2", "#SBATCH --ntasks-per-node=1", "#SBATCH --gpus-per-node=8"} <= set(text.splitlines())
    packed = base64.b64decode(text.split("PROGRAMS' |")[1].split("\n", 1)[1].split("\nPROGRAMS\n")[0])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert {"ddp.py", "evidence.sh"} <= set(archive.getnames())
    assert render_job(job) == text


def test_mpirun_starts_as_many_processes_as_there_are_gpus() -> None:
    text = next(one["args"][0] for one in containers("mpi-allreduce") if one["name"] == "launcher")
    assert "-np 16 -N 8" in text
    job = next(one for one in rendered("mpi-allreduce") if one["kind"] == "MPIJob")
    assert job["spec"]["slotsPerWorker"] == 8
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2


def test_a_benchmark_runs_both_transports_in_turn_in_the_same_pods() -> None:
    measures = (("efa", 1), ("tcp", 1), ("efa", 2), ("tcp", 2))
    text = containers("job-allreduce", measures=measures)[0]["args"][0]
    places = [text.index(f"clusterctl_transport {kind} {number}\n") for kind, number in measures]
    assert places == sorted(places)


def test_names_that_yaml_would_read_otherwise_stay_names() -> None:
    found = rendered("job-allreduce", namespace="on", run_id="1e3")
    assert {one["metadata"].get("namespace", "on") for one in found} == {"on"}
    assert found[-1]["metadata"]["labels"]["clusterctl/run"] == "1e3"


def test_a_workload_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        load_workload("job-alreduce")
    assert "job-allreduce" in caught.value.hint


@pytest.mark.parametrize(
    "wrong", [{"launcher": "cron"}, {"success": "("}, {"colour": "red"}, {"min_nodes": 0}, {"name": "Bad Name"}]
)
def test_a_wrong_description_names_the_field(wrong: dict[str, Any]) -> None:
    right = {"name": "x", "title": "t", "launcher": "job", "image": "ray-train", "success": "done"}
    assert isinstance(parse_workload(right, "x"), Workload)
    with pytest.raises(UsageError) as caught:
        parse_workload({**right, **wrong}, "x/workload.yaml")
    assert next(iter(wrong)) in caught.value.message
