"""The device plugins: done when every GPU node offers what EC2 says its type has, and not a moment before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clusterctl.engine.actions import Plan
from clusterctl.engine.components import Wanted, as_installed, observe_component, plan_component, unsettled
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import VerificationError
from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.components import ComponentState, PluginsState, plugins_for
from clusterctl.model.decision import Decision
from clusterctl.model.diagnosis import FATAL, REPAIRABLE, Diagnosis, diagnose
from clusterctl.model.instances import InstanceType
from clusterctl.model.kube import Component
from clusterctl.model.settings import Settings
from clusterctl.model.verification import EFA, GPU, NEURON
from clusterctl.ports import KubeReader, ReleaseReader
from clusterctl.rendering.values import efa_values, neuron_values, nvidia_values, parse_values


@dataclass(frozen=True, slots=True)
class PluginsStage:
    """Installs the plugins that the GPU nodes' accelerator needs, in place of any that eksctl has put there."""

    settings: Settings
    kube: KubeReader
    releases: ReleaseReader
    name: str = "plugins"
    requires: tuple[type, ...] = (ClusterState, NodegroupState, Decision)
    provides: type[PluginsState] = PluginsState
    patience_s: float = 10 * 60

    def observe(self, inputs: Outputs) -> PluginsState:
        access, group = inputs[ClusterState].access, inputs[NodegroupState]
        wanted = [_wanted(one, inputs) for one in plugins_for(_kind(inputs), self.settings)]
        components = tuple(observe_component(access, one, self.kube, self.releases) for one in wanted)
        selector = f"eks.amazonaws.com/nodegroup={group.name}"
        nodes = self.kube.nodes(access, selector) if access.endpoint and group.exists else ()
        return PluginsState(access, components, nodes)

    def plan(self, inputs: Outputs, observed: PluginsState) -> Plan:
        """Raises VerificationError for a fault that neither waiting nor installing can mend."""
        faults = tuple(_faults(inputs, observed))
        if fatal := [one for one in faults if one.fault in FATAL]:
            raise _error(fatal)
        repairs = {one.resource: str(one) for one in faults if one.fault in REPAIRABLE}
        plans = (
            plan_component(observed.access, state, repairs.get(state.component.resource, ""))
            for state in observed.components
        )
        return tuple(action for plan in plans for action in plan)

    def waiting_for(self, inputs: Outputs, observed: PluginsState) -> str:
        missing = inputs[NodegroupState].desired - len(observed.nodes)
        if missing > 0:
            return f"{missing} node(s) of {inputs[NodegroupState].name} have not joined the cluster"
        faults = [str(one) for one in _faults(inputs, observed)]
        return unsettled(observed.components) or next(iter(faults), "")

    def verdict(self, inputs: Outputs, observed: PluginsState) -> VerificationError:
        faults = tuple(_faults(inputs, observed))
        return _error(faults) if faults else VerificationError(self.waiting_for(inputs, observed))

    def expect(self, inputs: Outputs, observed: PluginsState) -> PluginsState:
        return replace(observed, components=tuple(as_installed(one) for one in observed.components))


def _kind(inputs: Outputs) -> InstanceType:
    """The type of the node group as it stands; of the decision while there is none."""
    decision = inputs[Decision]
    return decision.kinds.get(inputs[NodegroupState].instance_type) or decision.kind


def _wanted(component: Component, inputs: Outputs) -> Wanted:
    kind, taints = _kind(inputs), sorted({key for key, _, _ in inputs[NodegroupState].taints})
    values = {
        GPU: lambda: nvidia_values(taints),
        EFA: lambda: efa_values([kind.name], taints),
        NEURON: lambda: neuron_values([kind.name], taints),
    }[component.resource]()
    return Wanted(component, values, parse_values(values))


def _faults(inputs: Outputs, observed: PluginsState) -> Iterable[Diagnosis]:
    """What is wrong with plugins that stand as they should: others are about to be replaced."""
    kind = _kind(inputs)
    counts = {GPU: kind.gpus, EFA: kind.efa_interfaces, NEURON: kind.neuron_devices}
    for state in observed.components:
        if _stands(state):
            resource = state.component.resource
            yield from diagnose(resource, counts[resource], state.workloads[0], observed.nodes)


def _stands(state: ComponentState) -> bool:
    theirs = any(not rival.release for rival in state.rivals)
    return not state.drift and not theirs and all(one.exists for one in state.workloads)


def _error(faults: Iterable[Diagnosis]) -> VerificationError:
    found = tuple(faults)
    return VerificationError(str(found[0]), hint=found[0].remedy, details="\n".join(map(str, found)))
