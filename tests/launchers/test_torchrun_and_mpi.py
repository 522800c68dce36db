"""ddp.py under torchrun with one shared master, and under mpirun. Nothing is faked; gloo is NCCL here."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launchers.running import BIN, SMALL, TRAIN, Ended, environment, run

pytestmark = pytest.mark.timeout(600)
STEPS = ["--steps", "3", "--save-every", "3"]
WORLD = 4


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def as_indexed_job(folder: Path, indices: list[int]) -> list[Ended]:
    """A torchrun for each pod of an Indexed Job, all of them with the address of the first."""
    port = free_port()
    words = [
        BIN / "torchrun", f"--nnodes={WORLD}", "--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={port}",
    ]  # fmt: skip
    program = [TRAIN / "ddp.py", *SMALL, *STEPS, "--checkpoint-dir", folder]
    started = [
        subprocess.Popen(
            ["timeout", "-s", "KILL", "500", *map(str, [*words, f"--node-rank={index}", *program])],
            env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for index in indices
    ]  # fmt: skip
    outputs = [one.communicate()[0] for one in started]
    return [Ended(one.returncode, text) for one, text in zip(started, outputs, strict=True)]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> list[Ended]:
    return as_indexed_job(tmp_path_factory.mktemp("indexed"), list(range(WORLD)))


def test_pods_with_one_master_and_their_own_index_make_one_world(
    needs: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    needs("torch", "torchrun")
    pods: list[Ended] = request.getfixturevalue("indexed")
    assert [one.code for one in pods] == [0] * WORLD, pods[0].output
    assert pods[0].values(r"world=(\d+) launcher=(\w+)") == [("4", "torchrun")]
    assert pods[0].weights
    assert not any("training finished" in one.output for one in pods[1:])


def test_mpirun_trains_the_same_weights_as_torchrun(
    needs: Callable[..., None], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    needs("torch", "torchrun", "mpirun")
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(WORLD), "--bind-to", "none"]
    env = environment(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), OMPI_MCA_oob_tcp_if_include="lo",
        OMPI_MCA_btl_tcp_if_include="lo",
    )  # fmt: skip
    ended = run([*words, BIN / "python", TRAIN / "ddp.py", *SMALL, *STEPS, "--checkpoint-dir", tmp_path], env)
    assert ended.code == 0, ended.output
    assert ended.values(r"world=(\d+) launcher=(\w+)") == [("4", "mpirun")]
    assert ended.weights == request.getfixturevalue("indexed")[0].weights
    assert len(list((tmp_path / "step-00000003").glob("shard-*.pt"))) == WORLD


def test_mpirun_told_of_too_many_processes_starts_none(needs: Callable[..., None], tmp_path: Path) -> None:
    needs("mpirun")
    (tmp_path / "hosts").write_text("localhost slots=2\n")
    env = environment(OMPI_MCA_oob_tcp_if_include="lo")
    words = ["mpirun", "--allow-run-as-root", "--hostfile", tmp_path / "hosts", "-np", "3", "touch", tmp_path / "ran"]
    ended = run(words, env)
    assert ended.code != 0
    assert "not enough slots" in ended.output
    assert not (tmp_path / "ran").exists()
