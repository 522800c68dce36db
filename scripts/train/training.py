"""The loop that every workload shares: accumulate, update, schedule, save, stop when asked, resume where it was."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from checkpoints import Checkpoints, random_state, restore_random_state
from sampling import Sampler, Share
from schedules import lr_factor


@dataclass(frozen=True)
class Plan:
    """How long, how often, and when to save. Steps are optimizer updates."""

    steps: int
    save_every: int
    warmup: int
    learning_rate: float
    clip: float = 1.0
    stop_file: str = ""
    seq_len: int = 1
    pause_s: float = 0.0


class Stop:
    """Whether the run should save and end: a signal to any rank, or a file that the batch script makes."""

    def __init__(self, group: Any, stop_file: str = "") -> None:
        self.group, self.file = group, stop_file
        self.signalled = False
        for one in (signal.SIGTERM, signal.SIGUSR1):
            with contextlib.suppress(ValueError):  # not the main thread, as in a Ray worker
                signal.signal(one, self._note)

    def _note(self, number: int, frame: Any) -> None:
        self.signalled = True

    def asked(self) -> bool:
        """The same answer on all ranks, or some would wait for others that have left."""
        here = self.signalled or bool(self.file and Path(self.file).exists())
        return any(self.group.gather(here))


def scheduler_of(optimizer: torch.optim.Optimizer, plan: Plan) -> Any:
    """One step of it is one optimizer update, however many microbatches that took."""
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: lr_factor(update, plan.warmup, plan.steps))


class Trainer:
    """A model with all that a resumed run needs to go on as if nothing had happened.

    `losses(indices)` gives the loss of each sample; `model` is what holds the weights, `wrapped` what is called.
    """

    def __init__(self, model: torch.nn.Module, wrapped: torch.nn.Module, plan: Plan, sampler: Sampler) -> None:
        self.model, self.wrapped, self.plan, self.sampler = model, wrapped, plan, sampler
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=plan.learning_rate)
        self.scheduler = scheduler_of(self.optimizer, plan)
        self.step = 0

    def update(self, losses: Callable[[torch.Tensor], torch.Tensor]) -> float:
        """One optimizer update. Returns this rank's part of the loss, a mean over the update's samples of all ranks."""
        share = self.sampler.next()
        self.optimizer.zero_grad(set_to_none=True)
        total = self._backward(share, losses)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.optimizer.step()
        self.scheduler.step()
        self.step += 1
        return total

    def _backward(self, share: Share, losses: Callable[[torch.Tensor], torch.Tensor]) -> float:
        """Gradients over all microbatches, sent to the other ranks with the last of them alone.

        The weight of a sample is one in all samples of the update, so that a short update at the end of an epoch
        counts each of its samples fully. DDP takes the mean over ranks, hence the factor.
        """
        total = 0.0
        last = len(share.indices) - 1
        for number, (indices, weights) in enumerate(zip(share.indices, share.weights, strict=True)):
            quiet = getattr(self.wrapped, "no_sync", contextlib.nullcontext)
            with quiet() if number < last else contextlib.nullcontext():
                each = losses(indices)
                part = (each * weights.to(each)).sum() / share.samples
                (part * self.sampler.world).backward()
            total += part.item()
        return total

    def common_state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(), "sampler": self.sampler.state(), "step": self.step,
        }  # fmt: skip

    def restore(self, common: dict[str, Any], own: dict[str, Any] | None) -> None:
        self.model.load_state_dict(common["model"])
        self.optimizer.load_state_dict(common["optimizer"])
        self.scheduler.load_state_dict(common["scheduler"])
        self.sampler.restore(common["sampler"])
        self.step = common["step"]
        if own is not None:
            restore_random_state(own["random"])


def run(trainer: Trainer, losses: Callable[[torch.Tensor], torch.Tensor], checkpoints: Checkpoints) -> bool:
    """Resume, train to the end, and save on the way. False where the run was stopped before its end."""
    group, plan = checkpoints.group, trainer.plan
    stop = Stop(group, plan.stop_file)
    resume(trainer, checkpoints)
    while trainer.step < plan.steps:
        began = time.monotonic()
        loss = sum(group.gather(trainer.update(losses)))
        if plan.pause_s:
            time.sleep(plan.pause_s)
        say(group, f"step={trainer.step} loss={loss:.6f} tokens_per_second={_speed(trainer, began):.1f} "
            f"lr={trainer.scheduler.get_last_lr()[0]:.3g} of={plan.steps}")  # fmt: skip
        ended, asked = trainer.step >= plan.steps, stop.asked()
        if ended or asked or trainer.step % plan.save_every == 0:
            checkpoints.save(trainer.step, trainer.common_state(), {"random": random_state()})
            say(group, f"checkpoint step={trainer.step} in={', '.join(one.name for one in checkpoints.stores)}")
        if asked and not ended:
            say(group, f"stopped at step={trainer.step} of={plan.steps}, saved")
            return False
    return True


def _speed(trainer: Trainer, began: float) -> float:
    """Tokens a second of all ranks in one update."""
    return trainer.sampler.global_batch * trainer.plan.seq_len / (time.monotonic() - began)


def resume(trainer: Trainer, checkpoints: Checkpoints) -> None:
    loaded, warnings = checkpoints.load()
    for one in warnings:
        say(checkpoints.group, f"warning: {one}")
    if loaded is None:
        say(checkpoints.group, "starting from step=0: no checkpoint")
        return
    trainer.restore(loaded.common, loaded.own)
    note = "" if loaded.own is not None else ", with new random numbers: the world has another size"
    say(checkpoints.group, f"resuming from step={loaded.step} of {loaded.store}{note}")


def say(group: Any, text: str) -> None:
    """A line of the first rank."""
    if group.rank == 0:
        print(text, flush=True)


def fingerprint(model: torch.nn.Module) -> str:
    """A digest of all weights, to the last bit."""
    import hashlib

    whole = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        whole.update(name.encode())
        whole.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()[:16]


def failed(problem: Exception) -> int:
    sys.stderr.write(f"error: {problem}\n")
    return 1
