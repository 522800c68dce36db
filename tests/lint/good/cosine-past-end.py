"""A learning rate that ends low."""

import math


def factor(step: int, warmup: int, total: int) -> float:
    if step < warmup:
        return step / max(1, warmup)
    progress = min(1.0, (step - warmup) / (total - warmup))
    return 0.5 * (1 + math.cos(math.pi * progress))
