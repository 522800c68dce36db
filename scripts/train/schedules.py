"""The learning rate over optimizer updates: a warm-up, then a cosine that ends low and stays there."""

from __future__ import annotations

import math


def lr_factor(update: int, warmup: int, total: int, least: float = 0.1) -> float:
    """What the learning rate is multiplied with after `update` optimizer updates. Raises ValueError for bad bounds."""
    if not 0 <= warmup < total or not 0 <= least <= 1:
        raise ValueError(f"a schedule of {total} updates cannot warm up for {warmup}, or end at {least}")
    if update < 0:
        raise ValueError("updates count from 0")
    if update < warmup:
        return (update + 1) / (warmup + 1)
    progress = min(1.0, (update - warmup) / (total - warmup))
    return least + (1 - least) * (1 + math.cos(math.pi * progress)) / 2
