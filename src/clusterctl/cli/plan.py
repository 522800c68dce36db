"""How a plan is shown: a line for each change, with its mark, and the price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterctl.engine.pipeline import StagePlan


def plan_lines(plans: Sequence[StagePlan]) -> list[str]:
    """The lines of a plan, stage by stage."""
    lines = []
    for one in plans:
        if not one.plan:
            lines.append(f"  = {one.stage:<10} nothing to do")
        lines.extend(f"  {action.effect.value} {one.stage:<10} {action}" for action in one.plan)
    return lines


def plan_document(plans: Sequence[StagePlan]) -> list[dict[str, Any]]:
    return [
        {"name": one.stage, "actions": [{"effect": action.effect.value, "line": str(action)} for action in one.plan]}
        for one in plans
    ]
