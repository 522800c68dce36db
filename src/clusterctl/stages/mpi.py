"""The MPI operator: needs the system nodes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterctl.engine.components import Wanted
from clusterctl.engine.operators import OperatorStage
from clusterctl.engine.outputs import Outputs
from clusterctl.model.cluster import ClusterState
from clusterctl.model.components import MpiState
from clusterctl.model.operators import mpi, volcano
from clusterctl.rendering.values import wanted


@dataclass(frozen=True, slots=True)
class MpiStage(OperatorStage):
    """Applies the MPI operator's manifest; with Volcano as its scheduler where that is asked for, or there already."""

    name: ClassVar[str] = "mpi"
    provides: ClassVar[type[MpiState]] = MpiState

    def describe(self, inputs: Outputs) -> tuple[Wanted, ...]:
        gangs = self.has(inputs[ClusterState].access, "volcano", volcano(self.settings))
        return (Wanted(*wanted(mpi(self.settings, gangs=gangs))),)
