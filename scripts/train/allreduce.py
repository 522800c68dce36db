"""All-reduce over all ranks with PyTorch: the bus bandwidth of each size, and whether every sum is right.

Started by torchrun, which says rank, world and device. NCCL on GPUs, gloo without them. Rank 0 prints.
"""

from __future__ import annotations

import argparse
import os
import time

import torch
import torch.distributed as dist

WARM_UP = 5


def bus_bandwidth(size_bytes: int, seconds: float, world: int) -> float:
    """GB/s as nccl-tests defines it: what every link carries, whatever the number of ranks."""
    return size_bytes / seconds / 1e9 * 2 * (world - 1) / max(world, 1)


def measure(count: int, repeats: int, device: torch.device) -> tuple[float, bool]:
    """Seconds of one all-reduce of `count` floats, and whether the sum was right."""
    world = dist.get_world_size()
    values = torch.ones(count, device=device)
    dist.all_reduce(values)
    right = bool(torch.all(values == world).item())
    for _ in range(WARM_UP):
        dist.all_reduce(values)
    finish(device)
    began = time.perf_counter()
    for _ in range(repeats):
        dist.all_reduce(values)
    finish(device)
    return (time.perf_counter() - began) / repeats, right


def finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest-mib", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    world, wrong, size = dist.get_world_size(), 0, 2**20
    while size <= options.largest_mib * 2**20:
        seconds, right = measure(size // 4, options.repeats, device)
        wrong += not right
        if dist.get_rank() == 0:
            rate = bus_bandwidth(size, seconds, world)
            print(f"size_bytes={size} seconds={seconds:.6f} busbw_gbs={rate:.3f}", flush=True)
        size *= 4
    errors = torch.tensor([wrong], dtype=torch.float32, device=device)
    dist.all_reduce(errors)
    total = int(errors.item())
    if dist.get_rank() == 0:
        print(f"allreduce finished: world={world} wrong={total}", flush=True)
    dist.destroy_process_group()
    return 1 if total else 0


if __name__ == "__main__":
    raise SystemExit(main())
