"""How a plan is shown: a line for each change, with its mark, and the price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from clusterctl.engine.actions import Effect
from clusterctl.engine.pipeline import StagePlan

VERBS = {
    Effect.CREATE: "make", Effect.CHANGE: "change", Effect.DESTROY: "remove", Effect.SPEND: "spend money on",
}  # fmt: skip


def plan_lines(plans: Sequence[StagePlan]) -> list[str]:
    """The lines of a plan, stage by stage."""
    lines = []
    for one in plans:
        if not one.plan:
            lines.append(f"  = {one.stage:<10} nothing to do")
        lines.extend(f"  {action.effect.value} {one.stage:<10} {action}" for action in one.plan)
    return lines


def plan_summary(plans: Sequence[StagePlan]) -> str:
    """How much a plan does, by kind."""
    counts = Counter(action.effect for one in plans for action in one.plan)
    parts = [f"{counts[effect]} to {verb}" for effect, verb in VERBS.items() if counts[effect]]
    return f"in all: {', '.join(parts)}" if parts else "in all: nothing to do"


def plan_document(plans: Sequence[StagePlan]) -> list[dict[str, Any]]:
    return [
        {"name": one.stage, "actions": [{"effect": action.effect.value, "line": str(action)} for action in one.plan]}
        for one in plans
    ]
