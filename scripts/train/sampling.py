"""Which samples a rank trains on: every sample once an epoch, in an order that a cursor can take up again."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Share:
    """One rank's part of an optimizer update: microbatches of sample indices, with 0 as the weight of padding.

    All ranks have the same number of microbatches of the same size, so that none waits for a gradient that another
    does not send; `samples` counts the real ones of all ranks.
    """

    indices: torch.Tensor  # (microbatches, batch)
    weights: torch.Tensor
    samples: int


@dataclass
class Sampler:
    """Walks through a data set in global batches. `epoch` and `offset` are its cursor, in samples of all ranks."""

    size: int
    batch: int  # sequences in a microbatch of one rank
    accumulate: int  # microbatches in an optimizer update
    rank: int
    world: int
    seed: int = 0
    epoch: int = 0
    offset: int = 0

    def __post_init__(self) -> None:
        if min(self.size, self.batch, self.accumulate, self.world) < 1:
            raise ValueError("size, batch, accumulate and world must be 1 or more")

    @property
    def global_batch(self) -> int:
        """Samples of a whole optimizer update: microbatch x accumulation x data-parallel ranks."""
        return self.batch * self.accumulate * self.world

    def next(self) -> Share:
        """The next update's share, and the cursor behind it. The last update of an epoch may be smaller."""
        if self.offset >= self.size:
            self.epoch, self.offset = self.epoch + 1, 0
        chosen = self._order()[self.offset : self.offset + self.global_batch]
        self.offset += len(chosen)
        own = chosen[self.rank :: self.world]
        most = -(-len(chosen) // self.world)  # of the rank with most samples
        microbatches = max(1, -(-most // self.batch))
        padding = microbatches * self.batch - len(own)
        indices = torch.cat([own, chosen[:1].expand(padding)]).view(microbatches, self.batch)
        weights = torch.cat([torch.ones(len(own)), torch.zeros(padding)]).view(microbatches, self.batch)
        return Share(indices, weights, len(chosen))

    def _order(self) -> torch.Tensor:
        return torch.randperm(self.size, generator=torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch))

    def state(self) -> dict[str, int]:
        return {"seed": self.seed, "epoch": self.epoch, "offset": self.offset, "size": self.size}

    def restore(self, state: dict[str, int]) -> None:
        """Take up a cursor. Raises ValueError for one of other data or another order."""
        if (state["size"], state["seed"]) != (self.size, self.seed):
            raise ValueError(f"the checkpoint's data had {state['size']} samples with seed {state['seed']}")
        self.epoch, self.offset = state["epoch"], state["offset"]
