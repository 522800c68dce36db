"""Components by chart and components by manifest behind one door."""

from __future__ import annotations

from clusterctl.adapters.helm import Helm
from clusterctl.adapters.manifests import Manifests
from clusterctl.model.kube import Component, KubeAccess, Manifest, ReleaseState


class ComponentReleases:
    """Implements ports.ReleaseReader and ports.Releases for both."""

    def __init__(self, helm: Helm, manifests: Manifests) -> None:
        self._helm = helm
        self._manifests = manifests

    def release(self, access: KubeAccess, component: Component) -> ReleaseState:
        return self._of(component).release(access, component)

    def install(self, access: KubeAccess, component: Component, values: str) -> None:
        self._of(component).install(access, component, values)

    def uninstall(self, access: KubeAccess, component: Component) -> None:
        self._of(component).uninstall(access, component)

    def _of(self, component: Component) -> Helm | Manifests:
        return self._manifests if isinstance(component.chart, Manifest) else self._helm
