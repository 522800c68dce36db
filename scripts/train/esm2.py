#!/usr/bin/env python3
"""Trains ESM-2 with NVIDIA's BioNeMo recipe `esm2_native_te`, on this rank of a torchrun.

    torchrun --nnodes=2 --nproc-per-node=8 … esm2.py --recipe /workspace/esm2_native_te --steps 100

The recipe is a folder with a program of its own, configured by Hydra; this starts it in place, with sizes checked and
the same options as the other workloads. The data are protein sequences of the hub, or parquet files of --data.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = {"ddp": "train_ddp.py", "fsdp2": "train_fsdp2.py"}
NEEDED = ("hydra_config", "checkpoint.py", "dataset.py")


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", type=Path, default=Path("/workspace/bionemo"), help="folder of esm2_native_te")
    parser.add_argument("--strategy", choices=sorted(PROGRAMS), default="ddp")
    parser.add_argument("--model-id", default="nvidia/esm2_t6_8M_UR50D")
    parser.add_argument("--steps", type=int, default=100, help="optimizer updates")
    parser.add_argument("--batch-size", type=int, default=4, help="sequences in a microbatch of one rank")
    parser.add_argument("--accumulate", type=int, default=1, help="microbatches in an optimizer update")
    parser.add_argument("--seq-len", type=int, default=1024)
    parser.add_argument("--learning-rate", type=float, default=4e-4)
    parser.add_argument("--data", default="", help="folder of parquet files with a column of sequences")
    parser.add_argument("--save-every", type=int, default=50, help="updates between checkpoints")
    parser.add_argument("--keep", type=int, default=2, help="checkpoints to keep")
    parser.add_argument("--checkpoint-dir", default="esm2", help="a folder that all nodes share")
    return parser.parse_args(arguments)


def program_of(given: argparse.Namespace) -> Path:
    """The recipe's program. Raises ValueError where the folder is not the recipe."""
    program = given.recipe / PROGRAMS[given.strategy]
    missing = [one for one in (program.name, *NEEDED) if not (given.recipe / one).exists()]
    if missing:
        raise ValueError(f"{given.recipe} is not the recipe esm2_native_te: it has no {', '.join(missing)}")
    return program


def overrides(given: argparse.Namespace) -> list[str]:
    """Hydra's words for the options. The schedule is as long as the run, and resuming is on."""
    data = [f"dataset.load_dataset_kwargs.path={given.data}"] if given.data else []
    return [
        "--config-name=defaults",
        f"config_name_or_path={given.model_id}",
        f"num_train_steps={given.steps}",
        f"grad_acc_steps={given.accumulate}",
        f"dataset.micro_batch_size={given.batch_size}",
        f"dataset.max_seq_length={given.seq_len}",
        f"adamw_kwargs.lr={given.learning_rate}",
        f"lr_scheduler_kwargs.num_warmup_steps={given.steps // 10}",
        f"lr_scheduler_kwargs.num_training_steps={given.steps}",
        f"checkpoint.ckpt_dir={given.checkpoint_dir}",
        f"checkpoint.save_every_n_steps={given.save_every}",
        f"checkpoint.max_checkpoints={given.keep}",
        "checkpoint.resume_from_checkpoint=true",
        "wandb_init_args.name=esm2",
        "logger.frequency=1",
        *data,
    ]


def train(given: argparse.Namespace) -> int:
    program = program_of(given)
    os.environ.setdefault("WANDB_MODE", "offline")
    os.chdir(given.recipe)
    sys.argv = [str(program), *overrides(given)]
    sys.path[0] = str(given.recipe)
    runpy.run_path(str(program), run_name="__main__")
    if os.environ.get("RANK", "0") == "0":
        print(f"training finished: steps={given.steps} world={os.environ.get('WORLD_SIZE', '1')}", flush=True)
    return 0


def main() -> int:
    try:
        return train(options(sys.argv[1:]))
    except ValueError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
