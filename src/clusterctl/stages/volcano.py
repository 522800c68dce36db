"""Volcano, the batch scheduler: before those who schedule by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterctl.engine.components import Wanted
from clusterctl.engine.operators import OperatorStage
from clusterctl.engine.outputs import Outputs
from clusterctl.model.components import VolcanoState
from clusterctl.model.operators import volcano
from clusterctl.rendering.values import wanted


@dataclass(frozen=True, slots=True)
class VolcanoStage(OperatorStage):
    """Installs Volcano and waits until its webhooks can be called."""

    name: ClassVar[str] = "volcano"
    provides: ClassVar[type[VolcanoState]] = VolcanoState

    def describe(self, inputs: Outputs) -> tuple[Wanted, ...]:
        return (Wanted(*wanted(volcano(self.settings))),)
