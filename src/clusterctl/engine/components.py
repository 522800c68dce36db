"""The one way in which anything is installed: look at release, workloads and signals, plan what differs, wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clusterctl.engine.actions import Action, AwaitComponent, DeleteWorkload, InstallRelease, Plan
from clusterctl.errors import BusyError, UsageError
from clusterctl.model.components import ComponentState, Obstacles
from clusterctl.model.kube import Chart, Component, KubeAccess, Proof, ReleaseState, Signal, WorkloadRef, WorkloadState
from clusterctl.model.signals import outdated, unproved
from clusterctl.ports import KubeReader, ReleaseReader

HELM_NAME, HELM_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A component, and its values as text for the installer and as data to compare."""

    component: Component
    values: str
    parsed_values: Mapping[str, Any]


def observe_component(access: KubeAccess, wanted: Wanted, kube: KubeReader, releases: ReleaseReader) -> ComponentState:
    """What is there of a component. A cluster without an API yet has nothing."""
    component = wanted.component
    state = ComponentState(
        component, wanted.values, ReleaseState(component.release, component.namespace),
        parsed_values=dict(wanted.parsed_values),
    )  # fmt: skip
    if not access.endpoint:
        return state
    state = replace(state, release=releases.release(access, component))
    refs = dict.fromkeys((*component.workloads, *component.rivals))
    workloads = {ref: kube.workload(access, ref) for ref in refs}
    state = replace(
        state,
        workloads=tuple(workloads[ref] for ref in component.workloads),
        rivals=tuple(workloads[ref] for ref in component.rivals if workloads[ref].exists),
    )
    if state.drift:
        state = replace(state, obstacles=_obstacles(access, state, kube))
    return state if state.drift else replace(state, unproved=look_at_signals(access, component, kube))


def look_at_signals(access: KubeAccess, component: Component, kube: KubeReader) -> tuple[str, ...]:
    """What the component's signals still lack."""
    found = kube.found(access, component.proofs) if component.proofs else {}
    return tuple(filter(None, (unproved(one, found.get(one)) for one in component.proofs)))


def plan_chain(access: KubeAccess, states: Sequence[ComponentState]) -> Plan:
    """Install what differs, each component once those that it needs serve."""
    known = {state.component.name: state for state in states}
    actions: list[Action] = []
    changed: set[str] = set()
    awaited: set[str] = set()
    for state in states:
        own = plan_component(access, state)
        if not own:
            continue
        for name in state.component.needs:
            if name not in awaited and (name in changed or known[name].unsettled):
                actions.append(AwaitComponent(access, known[name].component))
                awaited.add(name)
        actions += own
        changed.add(state.component.name)
    return tuple(actions)


def plan_component(access: KubeAccess, state: ComponentState, repair: str = "") -> Plan:
    """Remove what others put in our place, then install what differs. `repair` says why to install it regardless."""
    component = state.component
    if state.drift:
        refuse_obstacles(state)
    actions: list[Action] = [
        DeleteWorkload(access, rival.ref, "put there by eksctl, and helm does not take it over")
        for rival in state.rivals
        if _in_our_place(component, rival)
    ]
    gone = next((one.ref for one in state.workloads if not one.exists), None)
    why = state.drift or repair or ("put back after eksctl's" if actions else "")
    why = why or (f"{gone} is gone" if gone and state.release.exists and not state.borrowed else "")
    return (*actions, InstallRelease(access, component, state.values, why)) if why else tuple(actions)


def as_installed(state: ComponentState) -> ComponentState:
    """What would be seen once its plan has run."""
    component = state.component
    release = ReleaseState(
        component.release, component.namespace, "deployed", component.chart.name, component.chart.version, 1,
        values=state.parsed_values,
    )  # fmt: skip
    workloads = tuple(
        WorkloadState(ref, exists=True, current=True, release=component.release) for ref in component.workloads
    )
    return replace(state, release=release, workloads=workloads, rivals=(), unproved=(), obstacles=Obstacles())


def unsettled(states: Iterable[ComponentState]) -> str:
    """The first thing that some component still waits for; empty when all of them run."""
    return next((f"{state.component.title}: {state.unsettled}" for state in states if state.unsettled), "")


def refuse_obstacles(state: ComponentState) -> None:
    """Raises UsageError for what belongs to somebody else, BusyError for a namespace that is on its way out."""
    component, release, obstacles = state.component, state.release, state.obstacles
    if obstacles.terminating:
        raise BusyError(
            f"namespace {component.namespace} is being deleted: {obstacles.terminating}",
            hint=f"{component.title} follows once it is gone: kubectl get namespace {component.namespace} -o yaml",
        )
    if release.foreign and isinstance(component.chart, Chart):
        raise UsageError(
            f"helm release {release.name} in {release.namespace} was not made by clusterctl: {state.drift}",
            hint=f"helm uninstall {release.name} --namespace {release.namespace}, or keep it and leave this stage out",
        )
    if obstacles.copies:
        raise UsageError(
            f"{component.title} is in the cluster already, and not by clusterctl: {obstacles.copies[0]}",
            hint="remove that one, or keep it and leave this stage out",
        )
    if obstacles.outdated and not release.exists:
        names = " ".join(component.crds)
        raise UsageError(obstacles.outdated[0], hint=f"if nobody needs them: kubectl delete crd {names}")


def _obstacles(access: KubeAccess, state: ComponentState, kube: KubeReader) -> Obstacles:
    """Looked for only where something is to be installed."""
    component = state.component
    space = Signal("namespaces", component.namespace, Proof.READY)
    definitions = {name: Signal("customresourcedefinitions", name, Proof.ESTABLISHED) for name in component.crds}
    found = kube.found(access, (space, *definitions.values()))
    copies = () if state.release.exists else _copies(access, component, kube)
    old = (
        outdated(name, component.crds[name], found[signal]) for name, signal in definitions.items() if signal in found
    )
    return Obstacles(copies, tuple(filter(None, old)), _terminating(found.get(space)))


def _copies(access: KubeAccess, component: Component, kube: KubeReader) -> tuple[WorkloadRef, ...]:
    """Deployments of the same names that our release did not make: another namespace's, or nobody's release."""
    names = {ref.name for ref in component.workloads if ref.kind == "Deployment"}
    if not names or component.resource or not isinstance(component.chart, Chart):
        return ()
    copies = []
    for one in kube.objects(access, "deployments"):
        meta = one["metadata"]
        owner = meta.get("annotations") or {}
        ours = (owner.get(HELM_NAME), owner.get(HELM_NAMESPACE)) == (component.release, component.namespace)
        if meta["name"] in names and not ours:
            copies.append(WorkloadRef("Deployment", meta["namespace"], meta["name"]))
    return tuple(copies)


def _terminating(namespace: Mapping[str, Any] | None) -> str:
    """Why a namespace is still there; empty for one that is not on its way out."""
    if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
        return ""
    conditions = (namespace.get("status") or {}).get("conditions") or ()
    stuck = ("NamespaceFinalizersRemaining", "NamespaceContentRemaining", "NamespaceDeletionContentFailure",
             "NamespaceDeletionDiscoveryFailure")  # fmt: skip
    said = [one["message"] for kind in stuck for one in conditions if one["type"] == kind and one["status"] == "True"]
    return said[0] if said else "its contents go first"


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
