#!/usr/bin/env python3
"""The smallest run that shows what resuming means: a linear model, four updates, on one CPU thread.

Trains without a break, then again with a break after two updates, and compares the weights to the last bit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import torch

from checkpoints import Alone, Checkpoints, random_state
from sampling import Sampler
from stores import Folder
from training import Plan, Trainer, fingerprint, resume

STEPS, BREAK = 4, 2


def trainer_of() -> Trainer:
    torch.manual_seed(17)
    model = torch.nn.Linear(2, 1)
    plan = Plan(STEPS, save_every=1, warmup=1, learning_rate=0.05)
    return Trainer(model, model, plan, Sampler(size=16, batch=2, accumulate=2, rank=0, world=1, seed=17))


def train(folder: Path, until: int) -> str:
    """Take up what the folder holds and go on to an update. Returns the digest of the weights."""
    inputs = torch.arange(32, dtype=torch.float32).reshape(16, 2) / 32
    targets = inputs.sum(dim=1)
    trainer, kept = trainer_of(), Checkpoints([Folder(folder)], Alone())
    resume(trainer, kept)

    def losses(indices: torch.Tensor) -> torch.Tensor:
        return (trainer.model(inputs[indices]).squeeze(-1) - targets[indices]) ** 2

    while trainer.step < until:
        loss = trainer.update(losses)
        kept.save(trainer.step, trainer.common_state(), {"random": random_state()})
        print(f"step={trainer.step} loss={loss:.6f}", flush=True)
    return fingerprint(trainer.model)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint-dir", type=Path, default=None, help="a folder; a temporary one by default")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    with tempfile.TemporaryDirectory() as temporary:
        root = given.checkpoint_dir or Path(temporary)
        whole = train(root / "whole", STEPS)
        train(root / "broken", BREAK)
        resumed = train(root / "broken", STEPS)
    if whole != resumed:
        sys.stderr.write(f"error: the resumed run ended with {resumed}, the undisturbed one with {whole}\n")
        return 1
    print(f"training finished: steps={STEPS} world=1 weights={whole}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
