"""What has to hold before a job costs anything, and how large it becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.errors import VerificationError
from clusterctl.model.instances import InstanceType
from clusterctl.model.jobsize import JobSize, size_job
from clusterctl.model.pins import Image
from clusterctl.model.pods import PodFacts
from clusterctl.model.preflight import Ground, memory_estimate, preflight, refuse_unready
from clusterctl.model.quantities import offers, requests
from clusterctl.model.verification import CheckState, NodeFacts
from clusterctl.model.workloads import Batch, Launcher, ModelSize, Parallelism, Workload

KIND = InstanceType("p5.48xlarge", 192, 2**21, gpus=8, gpu_name="H100", gpu_memory_mib=81920, efa_interfaces=32)
OFFERS = {
    "cpu": 190_000,
    "memory": 2_000_000,
    "nvidia.com/gpu": 8,
    "vpc.amazonaws.com/efa": 32,
    "hugepages-2Mi": 10_256,
}
NODE = NodeFacts(
    "node-0", True, "p5.48xlarge", "us-east-2a", "gpu", gpus=8, efa=32, architecture="amd64", allocatable=OFFERS  # noqa: FBT003
)  # fmt: skip
NODES = (NODE, replace(NODE, name="node-1"))
MODEL = ModelSize(
    name="Qwen/Qwen2.5-1.5B", parameters=1_543_714_304, layers=28, hidden=1536, vocabulary=151_936,
    bytes_per_parameter=8, sharded=True,
)  # fmt: skip
WORKLOAD = Workload(name="train", title="t", launcher=Launcher.JOB, image="i", success="done", model=MODEL)


def pod(node: str, namespace: str = "other", **asked: int) -> PodFacts:
    amounts = {name.replace("_", "/").replace("nvidia/", "nvidia.com/"): amount for name, amount in asked.items()}
    return PodFacts(f"pod-{node}", namespace, node, "Running", requests=amounts)


def ground(**changes: Any) -> Ground:
    nodes = changes.get("nodes", NODES)
    pods = changes.get("pods", ())
    size = size_job(nodes, pods, changes.get("kind", KIND)) if nodes else None
    values: dict[str, Any] = {
        "workload": WORKLOAD, "kind": KIND, "nodes": NODES, "pods": (), "image": Image("image:1"), "size": size,
        "asked_nodes": 2, "model_id": MODEL.name,
    }  # fmt: skip
    return Ground(**{**values, **changes})


def failing(case: Ground) -> list[str]:
    return [check.check_id for check in preflight(case) if check.state is CheckState.FAILED]


def workload(**changes: Any) -> Workload:
    return WORKLOAD.model_copy(update=changes)


def test_everything_holds_on_two_whole_nodes() -> None:
    checks = preflight(ground())
    assert {check.state for check in checks} == {CheckState.OK}
    assert {"gang", "ranks", "memory", "image", "efa", "gpus"} <= {check.check_id for check in checks}


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"nodes": NODES[:1]}, "nodes"),
        ({"nodes": ()}, "nodes"),
        ({"nodes": (NODE, replace(NODES[1], allocatable={**OFFERS, "vpc.amazonaws.com/efa": 0}))}, "efa"),
        ({"nodes": (NODE, replace(NODES[1], allocatable={**OFFERS, "nvidia.com/gpu": 7}))}, "gpus"),
        ({"nodes": (NODE, replace(NODES[1], zone="us-east-2b"))}, "one-zone"),
        ({"nodes": (NODE, replace(NODES[1], architecture="arm64"))}, "image"),
        ({"workload": workload(accelerator="neuron")}, "accelerator"),
        ({"workload": workload(max_nodes=1)}, "node-count"),
        ({"workload": workload(min_nodes=3)}, "node-count"),
        ({"pods": (PodFacts("p", "other", "node-1", "Running", requests={"nvidia.com/gpu": 1}),)}, "gang"),
        ({"workload": workload(parallelism=Parallelism(tensor=3))}, "ranks"),
        ({"workload": workload(parallelism=Parallelism(tensor=8, pipeline=4))}, "ranks"),
        ({"workload": workload(parallelism=Parallelism(tensor=2, data=4))}, "ranks"),
        ({"workload": workload(batch=Batch(accumulation=4, total=65))}, "global-batch"),
        ({"sequence": 2_000_000}, "memory"),
        ({"operator": "mpijobs.kubeflow.org"}, "operator"),
    ],
)
def test_what_would_waste_gpu_hours_is_refused_before_it_starts(changes: dict[str, Any], check: str) -> None:
    case = ground(**changes)
    assert check in failing(case)
    with pytest.raises(VerificationError):
        refuse_unready(preflight(case))


def test_who_holds_the_devices_is_named() -> None:
    holder = PodFacts("notebook", "hub", "node-1", "Running", requests={"nvidia.com/gpu": 8})
    said = next(check.message for check in preflight(ground(pods=(holder,))) if check.check_id == "gang")
    assert "hub/notebook" in said
    assert "0 of 8 nvidia.com/gpu" in said
    over = replace(holder, phase="Succeeded")
    assert failing(ground(pods=(over,))) == []


def test_the_global_batch_counts_data_parallel_ranks_and_not_all_of_them() -> None:
    split = workload(parallelism=Parallelism(tensor=8), batch=Batch(accumulation=32, total=64))
    assert failing(ground(workload=split)) == []


def test_a_model_of_unknown_size_is_skipped_and_never_called_fitting() -> None:
    checks = {check.check_id: check.state for check in preflight(ground(model_id="somebody/else"))}
    assert checks["memory"] is CheckState.SKIPPED


def test_sharding_divides_the_state_by_the_ranks() -> None:
    case = ground()
    assert case.size is not None
    whole = MODEL.model_copy(update={"sharded": False})
    sharded, _ = memory_estimate(MODEL, case, case.size)
    full, how = memory_estimate(whole, case, case.size)
    assert full - sharded == pytest.approx(MODEL.parameters * 8 * 15 / 16 / 2**30)
    assert "11.5 GiB" in how


@given(st.integers(0, 150_000), st.integers(0, 1_500_000))
def test_a_job_asks_for_no_more_than_the_least_free_node_has(cpu: int, memory: int) -> None:
    busy = PodFacts("agent", "kube-system", "node-1", "Running", requests={"cpu": cpu, "memory": memory})
    size = size_job(NODES, (busy,), KIND)
    assert 1000 <= size.cpu * 1000 <= max(OFFERS["cpu"] - cpu, 1000)
    assert size.memory_mib <= OFFERS["memory"] - memory
    assert size.shm_mib <= size.memory_mib


def test_devices_are_those_of_the_type_and_huge_pages_those_of_the_node() -> None:
    size = size_job(NODES, (), KIND)
    assert (size.ranks, size.processes, size.gpus, size.efa, size.hugepages_mib) == (16, 8, 8, 32, 5120)
    assert size.resources["hugepages-2Mi"] == "5120Mi"
    bare = replace(NODE, allocatable={**OFFERS, "hugepages-2Mi": 0})
    assert "hugepages-2Mi" not in size_job((bare,), (), KIND).resources


def test_ranks_on_trainium_are_its_cores() -> None:
    size = JobSize(("a", "b"), "trn1.32xlarge", "amd64", 1, 1, 1, neuron=16, neuron_cores=32)
    assert (size.processes, size.ranks) == (32, 64)
    assert size.resources["aws.amazon.com/neuron"] == "16"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("250m", 250, 250), ("2", 2000, 2000), ("47.31", 47310, 47310), ("0.0001", 0, 1)],
)
def test_cores_are_counted_in_thousandths(text: str, least: int, most: int) -> None:
    assert (offers({"cpu": text})["cpu"], requests({"cpu": text})["cpu"]) == (least, most)


@pytest.mark.parametrize(("text", "mib"), [("1Gi", 1024), ("512Ki", 1), ("1G", 954), ("128974848", 123)])
def test_memory_that_is_asked_for_is_rounded_up(text: str, mib: int) -> None:
    assert requests({"memory": text})["memory"] == mib
