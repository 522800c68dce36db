"""What must be there before a stage makes anything: an account, and the programs that the stages call."""

from __future__ import annotations

from collections.abc import Iterable

from clusterctl.adapters.process import EKSCTL, HELM, KUBECTL, Tool
from clusterctl.wiring.bench import Bench

CALLED_BY = {"probe": (), "cluster": (EKSCTL,), "nodegroup": (EKSCTL,), "verify": (KUBECTL,)}
INSTALLING = (HELM, KUBECTL)  # what every other stage calls


def require_programs(bench: Bench, stages: Iterable[str]) -> None:
    """Raises AccessError without credentials, ToolMissingError for a program that is missing or too old."""
    _ = bench.identity
    needed = {kind.name: kind for stage in stages for kind in CALLED_BY.get(stage, INSTALLING)}
    for kind in needed.values():
        _ = Tool(kind, bench.world.children, bench.world.tool_folders).checked_path
