"""The one way in which anything is installed by chart: look at release and workloads, plan what differs, wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusterctl.engine.actions import Action, DeleteWorkload, InstallRelease, Plan
from clusterctl.errors import UsageError
from clusterctl.model.components import ComponentState
from clusterctl.model.kube import Component, KubeAccess, ReleaseState, WorkloadState
from clusterctl.ports import KubeReader, ReleaseReader


@dataclass(frozen=True, slots=True)
class Wanted:
    """A component, and its values as text for helm and as data to compare."""

    component: Component
    values: str
    parsed_values: Mapping[str, Any]


def observe_component(access: KubeAccess, wanted: Wanted, kube: KubeReader, releases: ReleaseReader) -> ComponentState:
    """What is there of a component. A cluster without an API yet has nothing."""
    component = wanted.component
    if not access.endpoint:
        nothing = ReleaseState(component.release, component.namespace)
        return ComponentState(component, wanted.values, nothing, parsed_values=dict(wanted.parsed_values))
    workloads = {ref: kube.workload(access, ref) for ref in (*component.workloads, *component.rivals)}
    return ComponentState(
        component=component,
        values=wanted.values,
        release=releases.release(access, component.release, component.namespace),
        workloads=tuple(workloads[ref] for ref in component.workloads),
        rivals=tuple(workloads[ref] for ref in component.rivals if workloads[ref].exists),
        parsed_values=dict(wanted.parsed_values),
    )


def plan_component(access: KubeAccess, state: ComponentState, repair: str = "") -> Plan:
    """Remove what others put in our place, then install what differs. `repair` says why to install it regardless."""
    component = state.component
    actions: list[Action] = [
        DeleteWorkload(access, rival.ref, "put there by eksctl, and helm does not take it over")
        for rival in state.rivals
        if _in_our_place(component, rival)
    ]
    gone = next((one.ref for one in state.workloads if not one.exists), None)
    why = state.drift or repair or ("put back after eksctl's" if actions else "")
    why = why or (f"{gone} is gone" if gone and state.release.exists else "")
    return (*actions, InstallRelease(access, component, state.values, why)) if why else tuple(actions)


def as_installed(state: ComponentState) -> ComponentState:
    """What would be seen once its plan has run."""
    component = state.component
    release = ReleaseState(
        component.release, component.namespace, "deployed", component.chart.name, component.chart.version, 1,
        state.parsed_values,
    )  # fmt: skip
    workloads = tuple(
        WorkloadState(ref, exists=True, current=True, release=component.release) for ref in component.workloads
    )
    return replace(state, release=release, workloads=workloads, rivals=())


def unsettled(states: Iterable[ComponentState]) -> str:
    """The first thing that some component still waits for; empty when all of them run."""
    return next((f"{state.component.title}: {state.unsettled}" for state in states if state.unsettled), "")


def _in_our_place(component: Component, rival: WorkloadState) -> bool:
    """Raises UsageError for a rival that belongs to somebody's own release: that one is not ours to remove."""
    if not rival.release:
        return True
    if rival.release == component.release and rival.ref in component.workloads:
        return False
    raise UsageError(
        f"{rival.ref} belongs to the helm release {rival.release}, and {component.title} would run beside it",
        hint=f"helm uninstall {rival.release}, then run this again",
    )
