"""Who this process is: rank, world and device as the launcher gives them, never guessed."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# launcher -> the variables with rank, world size, local rank, local world size
LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "mpirun": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    "srun": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
}
JOIN_TIMEOUT_S = 600


class LaunchError(RuntimeError):
    """The launcher's variables contradict each other or the node."""


@dataclass(frozen=True)
class Ranks:
    """This process within its job."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0
    local_world: int = 1
    launcher: str = "none"

    @property
    def is_first(self) -> bool:
        return self.rank == 0


def ranks_of(environment: Mapping[str, str]) -> Ranks:
    """The ranks that a launcher has set; one process alone without a launcher. Raises LaunchError."""
    for launcher, names in LAUNCHERS.items():
        given = [environment.get(name, "") for name in names]
        if given[0] and given[1]:
            rank, world = int(given[0]), int(given[1])
            local_rank = int(given[2] or 0)
            local_world = int(given[3]) if given[3].isdecimal() else local_rank + 1
            return _checked(Ranks(rank, world, local_rank, local_world, launcher))
    if environment.get("RANK") or environment.get("WORLD_SIZE"):
        raise LaunchError("RANK and WORLD_SIZE must both be set: start it with torchrun, mpirun or srun")
    return Ranks()


def _checked(ranks: Ranks) -> Ranks:
    if not 0 <= ranks.rank < ranks.world:
        raise LaunchError(f"rank {ranks.rank} is not in a world of {ranks.world}")
    if ranks.local_rank > ranks.rank:
        raise LaunchError(f"local rank {ranks.local_rank} is above rank {ranks.rank}")
    return ranks


def device_index(ranks: Ranks, visible: int) -> int:
    """Which of the visible GPUs is this process' own. Raises LaunchError where two would share one."""
    if visible == 1 and ranks.launcher == "srun":
        return 0  # Slurm bound one GPU to each task
    if ranks.local_rank >= visible:
        raise LaunchError(
            f"local rank {ranks.local_rank}, and the node shows {visible} GPUs: one process for each GPU, "
            "and one torchrun on each node"
        )
    return ranks.local_rank


def join(ranks: Ranks, timeout_s: float = JOIN_TIMEOUT_S) -> Any:
    """Join the process group (NCCL on GPUs, gloo without) and return the device of this rank."""
    import torch
    from torch import distributed

    if torch.cuda.is_available():
        device = torch.device("cuda", device_index(ranks, torch.cuda.device_count()))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(max(1, (os.cpu_count() or 1) // max(1, ranks.local_world)))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    distributed.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        rank=ranks.rank,
        world_size=ranks.world,
        timeout=datetime.timedelta(seconds=timeout_s),
        **({"device_id": device} if device.type == "cuda" else {}),
    )
    return device
