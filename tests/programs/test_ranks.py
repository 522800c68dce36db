"""Rank, world and device come from the launcher. Nothing is faked: the variables are the input."""

from __future__ import annotations

import pytest

from ranks import LaunchError, Ranks, device_index, ranks_of

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}  # fmt: skip
SRUN = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_NTASKS_PER_NODE": "4"}


@pytest.mark.parametrize(("launcher", "given"), [("torchrun", TORCHRUN), ("mpirun", MPIRUN), ("srun", SRUN)])
def test_every_launcher_says_the_same(launcher: str, given: dict[str, str]) -> None:
    assert ranks_of(given) == Ranks(5, 8, 1, 4, launcher)


def test_torchrun_within_slurm_is_the_one_that_counts() -> None:
    assert ranks_of({**SRUN, **TORCHRUN, "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}).rank == 5


def test_without_a_launcher_it_is_alone() -> None:
    assert ranks_of({}) == Ranks()


@pytest.mark.parametrize(
    "given",
    [{"RANK": "0"}, {"WORLD_SIZE": "2"}, {**TORCHRUN, "RANK": "8"}, {**TORCHRUN, "LOCAL_RANK": "6"}],
)
def test_half_a_launcher_is_an_error_and_no_guess(given: dict[str, str]) -> None:
    with pytest.raises(LaunchError):
        ranks_of(given)


def test_two_processes_never_share_a_gpu() -> None:
    assert device_index(Ranks(5, 8, 1, 4, "torchrun"), visible=4) == 1
    assert device_index(Ranks(5, 8, 1, 4, "srun"), visible=1) == 0
    with pytest.raises(LaunchError, match="one torchrun on each node"):
        device_index(Ranks(12, 64, 12, 64, "torchrun"), visible=8)
