"""What simulated training pods print follows from what they asked for, in the words that NCCL itself would use."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from clusterctl.model.fabric import Known, Transport, examine
from clusterctl.rendering.workloads import load_workload
from clusterctl.sandbox.kube.machines.training import fabric, programs
from clusterctl.sandbox.kube.machines.training.fabric import Seat

P5 = Seat(
    host="job-0", index=0, nodes=2, address="10.0.0.1", instance_type="p5.48xlarge", devices=8, efa=32,
    has_plugin=True, gpudirect=True, rdma=True, env=(("NCCL_DEBUG", "INFO"), ("FI_PROVIDER", "efa")),
)  # fmt: skip
G6 = replace(P5, instance_type="g6.12xlarge", devices=4, efa=1, gpudirect=False, rdma=False)


@pytest.mark.parametrize(
    ("place", "transport"),
    [
        (P5, Transport.EFA),
        (G6, Transport.EFA),
        (replace(P5, efa=0), Transport.TCP),
        (replace(P5, has_plugin=False), Transport.TCP),
        (replace(P5, sockets=True), Transport.TCP),
        (P5.with_env({"NCCL_NET": "Socket"}), Transport.TCP),
        (P5.with_env({"FI_PROVIDER": "tcp"}), Transport.TCP),
        (P5.with_env({"NCCL_DEBUG": "WARN"}), Transport.UNKNOWN),
        (replace(P5, neuron=True), Transport.EFA),
    ],
)
def test_the_verdict_on_a_pods_lines_is_what_its_spec_makes_of_it(place: Seat, transport: Transport) -> None:
    assert examine("node", fabric.nccl(place)).transport is transport


def test_gpudirect_and_rdma_belong_to_the_types_that_have_them() -> None:
    p5, g6 = (examine("node", fabric.nccl(place)) for place in (P5, G6))
    assert (p5.gpudirect, p5.rdma, p5.nics) == (Known.YES, Known.YES, 32)
    assert (g6.gpudirect, g6.rdma, g6.nics) == (Known.NO, Known.NO, 1)


def test_fi_info_finds_efa_only_where_the_pod_holds_it() -> None:
    found = [examine("n", fabric.fi_info(place)).fi_info for place in (P5, replace(P5, efa=0))]
    assert found == [Known.YES, Known.NO]


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ("torchrun --nnodes=2 /clusterctl/ddp.py --steps 10", "ddp.py"),
        ("mpirun -np 8 /opt/nccl-tests/build/all_reduce_perf -b 8", "all_reduce_perf"),
        ("python3 /clusterctl/toy.py", "toy.py"),
    ],
)
def test_training_is_told_from_other_commands(words: str, program: str) -> None:
    work = programs.work_of(words)
    assert work is not None
    assert work.program == program
    assert programs.work_of(f"sleep 5; echo {program}") is None


@pytest.mark.parametrize("name", ["job-allreduce", "mpi-allreduce", "job-ddp", "checkpoint-toy", "neuron-lora"])
def test_a_program_that_runs_to_its_end_prints_what_its_workload_waits_for(name: str) -> None:
    workload = load_workload(name)
    program = workload.scripts[0] if workload.scripts else "all_reduce_perf"
    work = programs.work_of(f"torchrun --nnodes=2 --tee 3 /clusterctl/{program}")
    assert work is not None
    whole, broken = (programs.play(work, [P5], first=True, crash=crash) for crash in (None, 3))
    assert any(re.search(workload.success, line) for _, line in whole.cues)
    assert not any(re.search(workload.success, line) for _, line in broken.cues)
    assert (whole.exit_code, broken.exit_code) == (0, 1)
    assert [at for at, _ in whole.cues] == sorted(at for at, _ in whole.cues)
