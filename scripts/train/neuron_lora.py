#!/usr/bin/env python3
"""Fine-tunes a causal language model with LoRA on Trainium, with Optimum Neuron 0.4.5: first compile, then train.

    neuron_parallel_compile torchrun --nproc-per-node=32 neuron_lora.py --steps 5 …   # graphs into the cache
    torchrun --nproc-per-node=32 neuron_lora.py --steps 100 …                         # the training itself

Processes are Neuron cores, not devices. The shapes (batch, length, parallelism) of both runs must be the same, or
the second compiles again. NeuronTrainer writes sharded checkpoints and cannot resume from them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
COMPILING = "NEURON_EXTRACT_GRAPHS_ONLY"  # set by neuron_parallel_compile


class Tokens(torch.utils.data.Dataset):
    """Made-up sequences of one length, so that there is one graph; labels are the tokens themselves."""

    def __init__(self, count: int, length: int, vocabulary: int) -> None:
        self.count, self.length, self.vocabulary = count, length, vocabulary

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        start, stride = index * 7919 % self.vocabulary, index % 7 + 1
        tokens = (start + stride * torch.arange(self.length)) % self.vocabulary
        return {"input_ids": tokens, "labels": tokens.clone(), "attention_mask": torch.ones_like(tokens)}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model-id", default="Qwen/Qwen3-8B", help="a model that Optimum Neuron can train")
    parser.add_argument("--steps", type=int, default=100, help="optimizer updates")
    parser.add_argument("--batch-size", type=int, default=1, help="sequences in a microbatch of one replica")
    parser.add_argument("--accumulate", type=int, default=8, help="microbatches in an optimizer update")
    parser.add_argument("--seq-len", type=int, default=1024)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--tensor-parallel", type=int, default=8, help="cores that share each layer")
    parser.add_argument("--lora-rank", type=int, default=16)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--save-every", type=int, default=50, help="updates between checkpoints")
    parser.add_argument("--keep", type=int, default=2, help="checkpoints to keep")
    parser.add_argument("--checkpoint-dir", default="neuron-lora", help="a folder that all nodes share")
    return parser.parse_args(arguments)


def check_cores(given: argparse.Namespace, world: int) -> None:
    """Raises ValueError for a parallelism that the cores cannot be divided into."""
    if world % given.tensor_parallel:
        raise ValueError(f"{world} Neuron cores cannot be divided into groups of {given.tensor_parallel}")


def arguments_of(given: argparse.Namespace) -> dict[str, Any]:
    """What NeuronTrainingArguments takes. The cosine is as long as the training and steps with the optimizer."""
    return {
        "output_dir": given.checkpoint_dir, "max_steps": given.steps, "logging_steps": 1, "report_to": "none",
        "per_device_train_batch_size": given.batch_size, "gradient_accumulation_steps": given.accumulate,
        "learning_rate": given.learning_rate, "lr_scheduler_type": "cosine", "warmup_steps": given.steps // 10,
        "tensor_parallel_size": given.tensor_parallel, "gradient_checkpointing": True, "disable_tqdm": True,
        "save_steps": given.save_every, "save_total_limit": given.keep, "dataloader_drop_last": True,
        "overwrite_output_dir": True, "bf16": True,
    }  # fmt: skip


def train(given: argparse.Namespace) -> int:
    from optimum.neuron import NeuronTrainer, NeuronTrainingArguments
    from optimum.neuron.models.training import NeuronModelForCausalLM
    from optimum.neuron.peft import get_peft_model
    from peft import LoraConfig
    from transformers import TrainerCallback

    class Progress(TrainerCallback):  # type: ignore[misc]
        """The step lines that all workloads have."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            if state.is_world_process_zero and "loss" in (logs or {}):
                print(f"step={state.global_step} loss={logs['loss']} of={args.max_steps}", flush=True)

    training = NeuronTrainingArguments(**arguments_of(given))
    model = NeuronModelForCausalLM.from_pretrained(given.model_id, training.trn_config, torch_dtype=torch.bfloat16)
    adapters = LoraConfig(
        r=given.lora_rank, lora_alpha=2 * given.lora_rank, target_modules=TARGETS, task_type="CAUSAL_LM"
    )
    data = Tokens(given.samples, given.seq_len, int(model.config.vocab_size))
    trainer = NeuronTrainer(get_peft_model(model, adapters), training, train_dataset=data, callbacks=[Progress()])
    trainer.train()
    return _told(given, trainer)


def _told(given: argparse.Namespace, trainer: Any) -> int:
    """Compiling is no training, and says so."""
    first = os.environ.get("RANK", "0") == "0"
    if os.environ.get(COMPILING):
        if first:
            print("graphs compiled: run it again without neuron_parallel_compile to train", flush=True)
        return 0
    if trainer.state.global_step != given.steps:
        raise ValueError(f"the run ended at step {trainer.state.global_step} of {given.steps}")
    if first:
        print(f"training finished: steps={given.steps} world={os.environ.get('WORLD_SIZE', '1')}", flush=True)
    return 0


def main() -> int:
    given = options(sys.argv[1:])
    try:
        check_cores(given, int(os.environ.get("WORLD_SIZE", "1")))
        Path(given.checkpoint_dir).mkdir(parents=True, exist_ok=True)
        return train(given)
    except ValueError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
