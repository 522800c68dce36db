#!/usr/bin/env python3
"""Fine-tunes a causal language model with FSDP on a Ray cluster, one worker for each GPU that the cluster has.

    ray job submit --working-dir /clusterctl -- python ray_fsdp.py --model-id Qwen/Qwen2.5-1.5B --steps 50

Every worker writes its shards of model and optimizer with each checkpoint, with checksums, and Ray makes the
checkpoint whole before it drops an old one. A worker that is lost costs the updates since then.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from checkpoints import random_state, restore_random_state
from sampling import Sampler
from schedules import lr_factor
from stores import CheckpointError, digest
from training import failed

TINY = "tiny"  # a model of random weights that fits a CPU


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model-id", default="Qwen/Qwen2.5-1.5B", help=f"a model of the hub; {TINY}: random weights")
    parser.add_argument("--steps", type=int, default=50, help="optimizer updates")
    parser.add_argument("--batch-size", type=int, default=1, help="sequences in a microbatch of one worker")
    parser.add_argument("--accumulate", type=int, default=1, help="microbatches in an optimizer update")
    parser.add_argument("--seq-len", type=int, default=512)
    parser.add_argument("--learning-rate", type=float, default=1e-5)
    parser.add_argument("--samples", type=int, default=10_000, help="sequences of made-up tokens")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--num-workers", type=int, default=0, help="workers; one for each GPU by default")
    parser.add_argument("--cpu", action="store_true", help="train on CPUs: needs --num-workers")
    parser.add_argument("--checkpoint-dir", default="", help="a folder that all nodes share, or s3://bucket/prefix")
    parser.add_argument("--run-name", default="ray-fsdp")
    parser.add_argument("--save-every", type=int, default=25, help="updates between checkpoints")
    parser.add_argument("--keep", type=int, default=2, help="checkpoints to keep")
    parser.add_argument("--max-failures", type=int, default=2, help="how often to begin again after a lost worker")
    parser.add_argument("--pause-s", type=float, default=0.0, help="seconds to wait after each update")
    return parser.parse_args(arguments)


def model_of(given: dict[str, Any]) -> tuple[torch.nn.Module, int]:
    """The model in full precision, and the size of its vocabulary."""
    if given["model_id"] == TINY:
        from ddp import LanguageModel

        return LanguageModel(64, 32, 2, given["seq_len"]), 64
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(given["model_id"], dtype=torch.float32)
    return model, int(model.config.vocab_size)


def sharded(model: torch.nn.Module, device: torch.device, world: int) -> torch.nn.Module:
    """Each block is a unit of its own: its weights are gathered when it is its turn, and dropped after."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh(device.type, (world,))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    kinds = {"mesh": mesh, "mp_policy": policy} if device.type == "cuda" else {"mesh": mesh}
    for block in _blocks(model):
        fully_shard(block, **kinds)
    fully_shard(model, **kinds)
    return model


def _blocks(model: torch.nn.Module) -> list[torch.nn.Module]:
    """The longest list of equal modules: a transformer's layers, whatever they are called."""
    lists = [one for one in model.modules() if isinstance(one, torch.nn.ModuleList)]
    return list(max(lists, key=len)) if lists else []


def losses_of(model: torch.nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """The loss of each sequence."""
    answer = model(tokens[:, :-1])
    logits = getattr(answer, "logits", answer)
    each = torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), tokens[:, 1:], reduction="none")
    return each.mean(dim=1)


def work(given: dict[str, Any]) -> None:
    """What every worker runs."""
    import ray.train
    import ray.train.torch

    context, device = ray.train.get_context(), ray.train.torch.get_device()
    rank, world = context.get_world_rank(), context.get_world_size()
    print(f"worker rank={rank} world={world} pid={os.getpid()} node_rank={context.get_node_rank()} device={device}",
          flush=True)  # fmt: skip
    torch.manual_seed(given["seed"])
    plain, vocabulary = model_of(given)
    model = sharded(plain.to(device), device, world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=given["learning_rate"])
    steps = given["steps"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: lr_factor(update, steps // 10, steps))
    sampler = Sampler(given["samples"], given["batch_size"], given["accumulate"], rank, world, given["seed"])
    torch.manual_seed(given["seed"] + 1 + rank)
    state = State(model, optimizer, scheduler, sampler, rank)
    before = ray.train.get_checkpoint()
    if before:
        with before.as_directory() as folder:
            state.load(Path(folder))
        if rank == 0:
            print(f"resuming from step={state.step}", flush=True)
    while state.step < steps:
        _one_step(state, given, device, vocabulary)


class State:
    """All that a resumed worker needs."""

    def __init__(self, model: torch.nn.Module, optimizer: Any, scheduler: Any, sampler: Sampler, rank: int) -> None:
        self.model, self.optimizer, self.scheduler, self.sampler, self.rank = model, optimizer, scheduler, sampler, rank
        self.step = 0

    def _tensors(self) -> dict[str, Any]:
        from torch.distributed.checkpoint.state_dict import get_state_dict

        weights, moments = get_state_dict(self.model, self.optimizer)
        return {"model": weights, "optimizer": moments}

    def save(self, folder: Path) -> None:
        """This worker's shards, with a checksum for each file."""
        import torch.distributed.checkpoint as shards

        shards.save(self._tensors(), checkpoint_id=folder)
        own = {
            "step": self.step, "scheduler": self.scheduler.state_dict(), "sampler": self.sampler.state(),
            "random": random_state(),
        }  # fmt: skip
        torch.save(own, folder / f"worker-{self.rank:05d}.pt")
        files = {one.name: digest(one.read_bytes()) for one in sorted(folder.iterdir())}
        text = json.dumps({"world": self.sampler.world, "files": files})
        (folder / f"checksums-{self.rank:05d}.json").write_text(text)

    def load(self, folder: Path) -> None:
        """Raises CheckpointError for a damaged file. Weights may come from another number of workers."""
        import torch.distributed.checkpoint as shards
        from torch.distributed.checkpoint.state_dict import set_state_dict

        verify(folder, self.rank, self.sampler.world)
        tensors = self._tensors()
        shards.load(tensors, checkpoint_id=folder)
        set_state_dict(
            self.model, self.optimizer, model_state_dict=tensors["model"], optim_state_dict=tensors["optimizer"]
        )
        mine = folder / f"worker-{self.rank:05d}.pt"
        own = torch.load(mine if mine.exists() else folder / "worker-00000.pt", weights_only=True)
        self.scheduler.load_state_dict(own["scheduler"])
        self.sampler.restore(own["sampler"])
        self.step = own["step"]
        if mine.exists():
            restore_random_state(own["random"])


def verify(folder: Path, rank: int = 0, world: int = 1) -> None:
    """Workers share the work of checking. Raises CheckpointError for what is missing or not what was written."""
    lists = sorted(folder.glob("checksums-*.json"))
    told = [json.loads(one.read_text()) for one in lists]
    if not told or len(told) != told[0]["world"]:
        raise CheckpointError(f"{folder} has the checksums of {len(told)} workers: the checkpoint is not complete")
    for one in told[rank::world]:
        for name, expected in one["files"].items():
            path = folder / name
            if not path.is_file() or digest(path.read_bytes()) != expected:
                raise CheckpointError(f"{name} of the checkpoint is not what was written")


def _one_step(state: State, given: dict[str, Any], device: torch.device, vocabulary: int) -> None:
    began = time.monotonic()
    share = state.sampler.next()
    state.optimizer.zero_grad(set_to_none=True)
    total, last = 0.0, len(share.indices) - 1
    for number, (indices, weights) in enumerate(zip(share.indices, share.weights, strict=True)):
        state.model.set_requires_gradient_sync(number == last)
        tokens = made_tokens(indices, given["seq_len"] + 1, vocabulary, given["seed"]).to(device)
        part = (losses_of(state.model, tokens) * weights.to(device)).sum() / share.samples
        (part * state.sampler.world).backward()  # FSDP takes the mean over workers
        total += part.item()
    torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
    state.optimizer.step()
    state.scheduler.step()
    state.step += 1
    time.sleep(given["pause_s"])
    everywhere = torch.tensor(total, device=device)
    torch.distributed.all_reduce(everywhere)
    _report(state, given, everywhere.item(), time.monotonic() - began)


def _report(state: State, given: dict[str, Any], loss: float, seconds: float) -> None:
    """The same calls in the same order on every worker, a checkpoint with some of them."""
    import ray.train

    speed = state.sampler.global_batch * given["seq_len"] / seconds
    metrics = {"step": state.step, "loss": loss, "tokens_per_second": speed}
    if state.rank == 0:
        print(f"step={state.step} loss={loss:.6f} tokens_per_second={speed:.1f} of={given['steps']}", flush=True)
    saves = bool(given["checkpoint_dir"]) and (state.step % given["save_every"] == 0 or state.step == given["steps"])
    if not saves:
        ray.train.report(metrics)
        return
    with tempfile.TemporaryDirectory() as folder:
        state.save(Path(folder))
        ray.train.report(
            metrics,
            checkpoint=ray.train.Checkpoint.from_directory(folder),
            checkpoint_dir_name=f"step-{state.step:08d}",
        )


def made_tokens(indices: torch.Tensor, length: int, vocabulary: int, seed: int) -> torch.Tensor:
    """Sequences that count up by their own stride: made up, and yet something that can be learned."""
    starts, strides = (indices * 7919 + seed) % vocabulary, indices % 7 + 1
    return (starts[:, None] + strides[:, None] * torch.arange(length)[None, :]) % vocabulary


def train(given: argparse.Namespace) -> int:
    import ray
    from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    ray.init(address="auto")
    gpus = int(ray.cluster_resources().get("GPU", 0))
    workers = given.num_workers or gpus
    if not given.cpu and workers > gpus:
        raise ValueError(f"{workers} workers, and the Ray cluster has {gpus} GPUs")
    if not workers:
        raise ValueError("the Ray cluster has no GPU: its workers are not up, or their pods request none")
    trainer = TorchTrainer(
        work,
        train_loop_config=vars(given),
        scaling_config=ScalingConfig(
            num_workers=workers,
            use_gpu=not given.cpu,
            resources_per_worker={"CPU": 1} if given.cpu else None,
            placement_strategy="SPREAD" if given.cpu else "PACK",
        ),
        run_config=RunConfig(
            name=given.run_name,
            storage_path=given.checkpoint_dir or None,
            failure_config=FailureConfig(max_failures=given.max_failures if given.checkpoint_dir else 0),
            checkpoint_config=CheckpointConfig(num_to_keep=given.keep),
        ),
    )
    result = trainer.fit()
    metrics = result.metrics or {}
    if metrics.get("step") != given.steps:
        raise CheckpointError(f"the run ended at step {metrics.get('step')} of {given.steps}")
    print(f"training finished: steps={given.steps} world={workers} loss={metrics['loss']:.6f}", flush=True)
    return 0


def main() -> int:
    try:
        return train(options(sys.argv[1:]))
    except (CheckpointError, ValueError) as problem:
        return failed(problem)


if __name__ == "__main__":
    sys.exit(main())
