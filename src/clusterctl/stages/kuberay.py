"""The Ray operator: needs the system nodes only, so it is installed beside the device plugins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterctl.engine.components import Wanted
from clusterctl.engine.operators import OperatorStage
from clusterctl.engine.outputs import Outputs
from clusterctl.model.cluster import ClusterState
from clusterctl.model.components import KuberayState
from clusterctl.model.operators import kuberay, volcano
from clusterctl.rendering.values import wanted


@dataclass(frozen=True, slots=True)
class KuberayStage(OperatorStage):
    """Installs KubeRay; with Volcano as its scheduler where that is asked for, or there already."""

    name: ClassVar[str] = "kuberay"
    provides: ClassVar[type[KuberayState]] = KuberayState

    def describe(self, inputs: Outputs) -> tuple[Wanted, ...]:
        gangs = self.has(inputs[ClusterState].access, "volcano", volcano(self.settings))
        return (Wanted(*wanted(kuberay(self.settings, gangs=gangs))),)
