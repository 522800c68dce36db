#!/usr/bin/env python3
"""Trains a small language model with DDP, under torchrun, mpirun or srun, on GPUs or CPUs.

    torchrun --nnodes=2 --nproc-per-node=4 … ddp.py --steps 100 --checkpoint-dir /fsx/run-1

Without --data it makes its own tokens. --data takes a file of 16-bit tokens, as tokenizers write them.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from checkpoints import Checkpoints, ProcessGroup
from ranks import LaunchError, Ranks, join, ranks_of
from sampling import Sampler
from stores import CheckpointError, open_store
from training import Plan, Trainer, failed, fingerprint, run, say


class LanguageModel(torch.nn.Module):
    """A causal transformer: enough of one to keep GPUs and network busy, or to test on a CPU."""

    def __init__(self, vocabulary: int, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.places = torch.nn.Embedding(length, width)
        layer = torch.nn.TransformerEncoderLayer(
            width, max(1, width // 64), 4 * width, dropout=0.1, batch_first=True, norm_first=True
        )
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        mask = torch.nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        hidden = self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))
        logits: torch.Tensor = self.head(self.layers(hidden, mask=mask, is_causal=True))
        return logits


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="optimizer updates")
    parser.add_argument("--batch-size", type=int, default=8, help="sequences in a microbatch of one rank")
    parser.add_argument("--accumulate", type=int, default=1, help="microbatches in an optimizer update")
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--warmup", type=int, default=-1, help="updates of warm-up; a tenth of the steps by default")
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=1024)
    parser.add_argument("--samples", type=int, default=10_000, help="sequences that are made where no --data is given")
    parser.add_argument("--data", default="", help="a file of unsigned 16-bit tokens")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--checkpoint-dir", default="", help="a folder that all ranks share")
    parser.add_argument("--s3", default="", help="s3://bucket/prefix for checkpoints, beside or instead of the folder")
    parser.add_argument("--save-every", type=int, default=50, help="updates between checkpoints")
    parser.add_argument("--keep", type=int, default=2, help="checkpoints to keep")
    parser.add_argument("--stop-file", default="", help="save and end once this file exists")
    parser.add_argument("--pause-s", type=float, default=0.0, help="seconds to wait after each update")
    return parser.parse_args(arguments)


def sequences(given: argparse.Namespace) -> tuple[int, Callable[[torch.Tensor], torch.Tensor]]:
    """How many sequences of seq_len + 1 tokens there are, and a function that gives some of them."""
    length = given.seq_len + 1
    if given.data:
        tokens = torch.from_file(given.data, dtype=torch.uint16, size=Path(given.data).stat().st_size // 2)
        count = len(tokens) // length
        if not count:
            raise ValueError(f"{given.data} has fewer than the {length} tokens of one sequence")
        return count, lambda indices: tokens[: count * length].view(count, length)[indices].long()
    return given.samples, lambda indices: torch.stack([_made(int(one), length, given) for one in indices])


def _made(index: int, length: int, given: argparse.Namespace) -> torch.Tensor:
    """A sequence that counts up by its own stride: something that can be learned."""
    start, stride = (index * 7919 + given.seed) % given.vocabulary, index % 7 + 1
    return (start + stride * torch.arange(length)) % given.vocabulary


def seed_all(seed: int, ranks: Ranks) -> None:
    """The same weights on every rank, then dropout of its own."""
    random.seed(seed + ranks.rank)
    torch.manual_seed(seed)


def settle(wrapped: torch.nn.Module, losses: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Two backward passes for nothing: after the first one DDP lays out its buckets anew.

    Sums of more than two ranks depend on that layout, so a resumed run must have the one of an undisturbed run.
    """
    for _ in range(2):
        losses(torch.zeros(1, dtype=torch.long)).sum().backward()
        wrapped.zero_grad(set_to_none=True)


def train(given: argparse.Namespace, ranks: Ranks) -> int:
    device = join(ranks)
    group = ProcessGroup()
    say(group, f"world={ranks.world} launcher={ranks.launcher} device={device.type} "
        f"backend={torch.distributed.get_backend()} master={os.environ['MASTER_ADDR']}")  # fmt: skip
    seed_all(given.seed, ranks)
    model = LanguageModel(given.vocabulary, given.width, given.layers, given.seq_len).to(device)
    wrapped = torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[device.index] if device.type == "cuda" else None
    )
    count, take = sequences(given)
    warmup = given.warmup if given.warmup >= 0 else given.steps // 10
    plan = Plan(
        given.steps, given.save_every, warmup, given.learning_rate, 1.0, given.stop_file, given.seq_len, given.pause_s
    )
    sampler = Sampler(count, given.batch_size, given.accumulate, ranks.rank, ranks.world, given.seed)
    trainer = Trainer(model, wrapped, plan, sampler)

    def losses(indices: torch.Tensor) -> torch.Tensor:
        tokens = take(indices).to(device)
        logits = wrapped(tokens[:, :-1])
        each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
        return each.mean(dim=1)

    settle(wrapped, losses)
    torch.manual_seed(given.seed + 1 + ranks.rank)
    stores = [open_store(one) for one in (given.checkpoint_dir, given.s3) if one]
    finished = run(trainer, losses, Checkpoints(stores, group, given.keep))
    prints = group.gather(fingerprint(model))
    if len(set(prints)) != 1:
        raise CheckpointError(f"ranks ended with different weights: {sorted(set(prints))}")
    if finished:
        say(group, f"training finished: steps={trainer.step} world={ranks.world} weights={prints[0]}")
    torch.distributed.destroy_process_group()
    return 0


def main() -> int:
    given = options(sys.argv[1:])
    try:
        return train(given, ranks_of(os.environ))
    except (LaunchError, CheckpointError, ValueError) as problem:
        return failed(problem)


if __name__ == "__main__":
    sys.exit(main())
