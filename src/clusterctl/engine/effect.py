"""What a change does to the world."""

from __future__ import annotations

from enum import Enum


class Effect(Enum):
    """What a change does to the world, as the mark of its plan line."""

    CREATE = "+"
    CHANGE = "~"
    DESTROY = "-"
    SPEND = "$"
