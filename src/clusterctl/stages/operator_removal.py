"""Takes an operator away again: what it looked after has gone before; then releases, definitions and namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from clusterctl.engine.actions import DeleteNamed, InstallRelease, Plan, RemoveRelease
from clusterctl.engine.components import HELM_NAME, HELM_NAMESPACE, Wanted
from clusterctl.engine.outputs import Outputs
from clusterctl.model.components import release_drift
from clusterctl.model.kube import Component, KubeAccess, Manifest, Proof, Signal
from clusterctl.model.target import Emptied, Kept, OperatorLeft
from clusterctl.ports import KubeReader, ReleaseReader

DEFINITIONS, NAMESPACES = "customresourcedefinitions", "namespaces"
_EMPTY_WITHOUT = ("pods", "persistentvolumeclaims")


@dataclass(frozen=True, slots=True)
class OperatorGoneStage:
    """Removes components, in this order, each as soon as nobody needs it; what is needed by others stays, and is named.

    `without` is how operators that would miss it are installed once it has gone.
    """

    kube: KubeReader
    releases: ReleaseReader
    components: tuple[Component, ...]
    without: tuple[Wanted, ...] = ()

    name: ClassVar[str] = "releases"
    requires: ClassVar[tuple[type, ...]] = (Emptied,)
    provides: ClassVar[type[OperatorLeft]] = OperatorLeft
    patience_s: ClassVar[float] = 0.0

    def observe(self, inputs: Outputs) -> OperatorLeft:
        emptied = inputs[Emptied]
        if not emptied.reachable:
            return OperatorLeft(silent=emptied.silent)
        access = emptied.cluster.access
        kept = tuple(self._kept(access))
        staying = {one.name for one in kept}
        states = {one.name: self.releases.release(access, one) for one in self.components}
        there = tuple(one for one in self.components if states[one.name].exists and one.name not in staying)
        gone = tuple(one for one in self.components if not states[one.name].exists)
        definitions = tuple(self._definitions(access, gone))
        full = {name: why for name, why in self._namespaces(access, gone) if name not in {x.namespace for x in there}}
        return OperatorLeft(
            there,
            definitions=definitions,
            namespaces=tuple(name for name, why in full.items() if not why),
            kept=(*kept, *(Kept(f"namespace {name}", why) for name, why in full.items() if why)),
            relying=tuple(self._relying(access)) if there else (),
        )

    def plan(self, inputs: Outputs, observed: OperatorLeft) -> Plan:
        access = inputs[Emptied].cluster.access
        again = (InstallRelease(access, one.component, one.values, "without what goes") for one in observed.relying)
        releases = (RemoveRelease(access, one) for one in observed.components)
        definitions = (DeleteNamed(access, DEFINITIONS, one) for one in observed.definitions)
        spaces = (DeleteNamed(access, NAMESPACES, one) for one in observed.namespaces)
        return (*again, *releases, *definitions, *spaces)

    def waiting_for(self, inputs: Outputs, observed: OperatorLeft) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: OperatorLeft) -> OperatorLeft:
        return OperatorLeft(kept=observed.kept)

    def _kept(self, access: KubeAccess) -> Iterable[Kept]:
        """Components that are not ours to take, or that somebody's resources need."""
        for component in self.components:
            release = self.releases.release(access, component)
            if not release.exists:
                continue
            if release.foreign:
                yield Kept(component.name, f"{component.title} was not installed by clusterctl")
            elif users := self._users(access, component):
                yield Kept(component.name, f"{component.title} is needed by {users}")

    def _users(self, access: KubeAccess, component: Component) -> str:
        for kind in component.users:
            own = {component.namespace}
            found = [one for one in self.kube.objects(access, kind) if one["metadata"].get("namespace") not in own]
            if found:
                return f"{len(found)} {kind}"
        return ""

    def _definitions(self, access: KubeAccess, gone: Iterable[Component]) -> Iterable[str]:
        """Definitions that removed components left, and of which nobody has a resource."""
        wanted = {name: component for component in gone for name in component.crds}
        signals = {Signal(DEFINITIONS, name, Proof.ESTABLISHED): component for name, component in wanted.items()}
        if not signals:
            return
        for signal, found in self.kube.found(access, tuple(signals)).items():
            ours = not signals[signal].shared or _made_by(signals[signal], found)
            if ours and not self.kube.objects(access, signal.name):
                yield signal.name

    def _namespaces(self, access: KubeAccess, gone: Iterable[Component]) -> Iterable[tuple[str, str]]:
        """The namespaces of removed components, and why one has to stay."""
        names = dict.fromkeys(one.namespace for one in gone if one.own_namespace)
        signals = tuple(Signal(NAMESPACES, name, Proof.READY) for name in names)
        for signal in self.kube.found(access, signals) if signals else ():
            holds = [
                f"{kind[:-1]} {one['metadata']['name']}"
                for kind in _EMPTY_WITHOUT
                for one in self.kube.objects(access, kind)
                if one["metadata"]["namespace"] == signal.name and not one["metadata"].get("deletionTimestamp")
            ]
            yield signal.name, f"it holds {', '.join(holds)}" if holds else ""

    def _relying(self, access: KubeAccess) -> Iterable[Wanted]:
        for one in self.without:
            release = self.releases.release(access, one.component)
            if release.exists and not release.foreign and release_drift(one.component, one.parsed_values, release):
                yield one


def _made_by(component: Component, found: Mapping[str, Any]) -> bool:
    """Whether a definition carries the mark of our own release."""
    if isinstance(component.chart, Manifest):
        return True
    owner = found["metadata"].get("annotations") or {}
    return (owner.get(HELM_NAME), owner.get(HELM_NAMESPACE)) == (component.release, component.namespace)
