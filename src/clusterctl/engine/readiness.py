"""Waits until a component serves, so that what stands on it is not installed into thin air."""

from __future__ import annotations

from collections.abc import Callable

from clusterctl.engine.components import look_at_signals
from clusterctl.engine.waiting import look_until
from clusterctl.errors import StageIncompleteError
from clusterctl.model.components import ComponentState
from clusterctl.model.kube import Component, KubeAccess, ReleaseState
from clusterctl.model.remedies import remedy
from clusterctl.ports import Clock, KubeReader

Tell = Callable[[str], None]
EVERY_S = 10.0
LIMIT_S = 10 * 60.0


class Readiness:
    """Looks at workloads and signals of one component. Raises StageIncompleteError with what it still lacks."""

    def __init__(self, kube: KubeReader, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock

    def wait(self, access: KubeAccess, component: Component, tell: Tell) -> None:
        def look() -> ComponentState:
            state = self._look(access, component)
            tell(state.unsettled or f"{component.title} serves")
            return state

        seen = look_until(self._clock, look, lambda one: not one.unsettled, every_s=EVERY_S, limit_s=LIMIT_S)
        if seen.unsettled:
            raise StageIncompleteError(f"{component.title} does not serve: {seen.unsettled}", hint=remedy(seen))

    def _look(self, access: KubeAccess, component: Component) -> ComponentState:
        workloads = tuple(self._kube.workload(access, ref) for ref in component.workloads)
        release = ReleaseState(component.release, component.namespace)
        lacking = look_at_signals(access, component, self._kube)
        return ComponentState(component, "", release, workloads, unproved=lacking)
