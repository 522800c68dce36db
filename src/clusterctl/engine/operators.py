"""What the stages of all operators do alike; each says only what it wants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from clusterctl.engine.actions import Plan
from clusterctl.engine.components import Wanted, as_installed, observe_component, plan_chain, unsettled
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import StageIncompleteError
from clusterctl.model.cluster import ClusterState
from clusterctl.model.components import OperatorState
from clusterctl.model.kube import Component, KubeAccess
from clusterctl.model.remedies import remedy
from clusterctl.model.settings import Settings
from clusterctl.ports import KubeReader, ReleaseReader


@dataclass(frozen=True, slots=True)
class OperatorStage(ABC):
    """Installs a chain of components and waits until the last of them serves.

    `after` are stages that have to be through first although nothing of theirs is read.
    """

    settings: Settings
    kube: KubeReader
    releases: ReleaseReader
    after: tuple[type, ...] = ()

    name: ClassVar[str]
    needs: ClassVar[tuple[type, ...]] = (ClusterState,)
    provides: ClassVar[type[OperatorState]]
    patience_s: ClassVar[float] = 10 * 60.0

    @property
    def requires(self) -> tuple[type, ...]:
        return (*self.needs, *self.after)

    @abstractmethod
    def describe(self, inputs: Outputs) -> tuple[Wanted, ...]:
        """The components, in order."""

    def has(self, access: KubeAccess, name: str, component: Component) -> bool:
        """Whether another operator is asked for in this run, or was installed by an earlier one."""
        if name in self.settings.operators:
            return True
        return bool(access.endpoint) and self.releases.release(access, component).exists

    def observe(self, inputs: Outputs) -> OperatorState:
        access = inputs[ClusterState].access
        wanted = self.describe(inputs)
        return self.provides(access, tuple(observe_component(access, one, self.kube, self.releases) for one in wanted))

    def plan(self, inputs: Outputs, observed: OperatorState) -> Plan:
        return plan_chain(observed.access, observed.components)

    def waiting_for(self, inputs: Outputs, observed: OperatorState) -> str:
        return unsettled(observed.components)

    def verdict(self, inputs: Outputs, observed: OperatorState) -> StageIncompleteError:
        late = next(one for one in observed.components if one.unsettled)
        return StageIncompleteError(f"{late.component.title}: {late.unsettled}", hint=remedy(late))

    def expect(self, inputs: Outputs, observed: OperatorState) -> OperatorState:
        return replace(observed, components=tuple(as_installed(one) for one in observed.components))
