"""The Ray operator: needs the system nodes only, so it is installed beside the device plugins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clusterctl.engine.actions import Plan
from clusterctl.engine.components import Wanted, as_installed, observe_component, plan_component, unsettled
from clusterctl.engine.outputs import Outputs
from clusterctl.model.cluster import ClusterState
from clusterctl.model.components import KuberayState, kuberay
from clusterctl.model.settings import Settings
from clusterctl.ports import KubeReader, ReleaseReader
from clusterctl.rendering.values import kuberay_values, parse_values


@dataclass(frozen=True, slots=True)
class KuberayStage:
    """Installs KubeRay and waits until its operator runs."""

    settings: Settings
    kube: KubeReader
    releases: ReleaseReader
    name: str = "kuberay"
    requires: tuple[type, ...] = (ClusterState,)
    provides: type[KuberayState] = KuberayState
    patience_s: float = 10 * 60

    def observe(self, inputs: Outputs) -> KuberayState:
        access, values = inputs[ClusterState].access, kuberay_values()
        wanted = Wanted(kuberay(self.settings), values, parse_values(values))
        return KuberayState(access, observe_component(access, wanted, self.kube, self.releases))

    def plan(self, inputs: Outputs, observed: KuberayState) -> Plan:
        return plan_component(observed.access, observed.operator)

    def waiting_for(self, inputs: Outputs, observed: KuberayState) -> str:
        return unsettled((observed.operator,))

    def expect(self, inputs: Outputs, observed: KuberayState) -> KuberayState:
        return replace(observed, operator=as_installed(observed.operator))
