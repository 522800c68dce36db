"""A component as files for review and for GitOps: its values or resources, and its Argo CD Application."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusterctl.model.kube import Chart, Component, Manifest
from clusterctl.rendering.kustomization import kustomize_files
from clusterctl.rendering.templates import render

_NO_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """A file by its path below the folder of all of them; `component` is empty for what is eksctl's."""

    path: str
    kind: str  # eksctl | values | manifest | argocd
    text: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class GitPlace:
    """Where the rendered folder will be in a git repository."""

    url: str
    path: str
    revision: str

    def inside(self, path: str) -> str:
        """A path below the rendered folder, as seen from the top of the repository."""
        return posixpath.normpath(posixpath.join(self.path, path))


@dataclass(frozen=True, slots=True)
class _Application:
    """What the template says of one Application. `values` are of a chart, `path` is of a folder in git."""

    name: str
    wave: int
    namespace: str
    repository: str
    revision: str
    chart: str = ""
    release: str = ""
    values: str = ""
    path: str = ""
    spares: bool = True


def component_files(component: Component, values: str) -> Iterator[RenderedFile]:
    """What helm or kustomize is given of a component. A published manifest stays where it is published."""
    if isinstance(component.chart, Chart):
        if values:
            yield RenderedFile(f"values/{component.name}.yaml", "values", values, component.name)
        return
    for name, text in kustomize_files(component, values, component.chart.url).items():
        yield RenderedFile(f"{_folder(component)}/{name}", "manifest", text, component.name)


def application(cluster: str, component: Component, values: str, wave: int, git: GitPlace | None) -> str:
    """The Application of a component; empty for plain resources while no repository is known that holds them."""
    chart = component.chart
    if isinstance(chart, Manifest):
        return _from_git(cluster, component, wave, git) if git else ""
    return _rendered(
        _Application(
            name=_name(cluster, component.name),
            wave=wave,
            namespace=component.namespace,
            repository=chart.repository.removeprefix("oci://"),  # how Argo CD knows a registry from a repository
            revision=chart.version,
            chart=chart.name,
            release=component.release,
            values=values,
            spares=_keeps_state(component),
        )
    )


def root_application(cluster: str, git: GitPlace) -> str:
    """The Application of all others, which are synchronized in the order of their waves."""
    name = _name(cluster, "components")
    return _rendered(_Application(name, 0, "argocd", git.url, git.revision, path=git.inside("argocd")))


def _from_git(cluster: str, component: Component, wave: int, git: GitPlace) -> str:
    path = git.inside(_folder(component))
    name = _name(cluster, component.name)
    return _rendered(_Application(name, wave, component.namespace, git.url, git.revision, path=path))


def _rendered(app: _Application) -> str:
    return render("manifests/argocd/application.yaml.j2", app=app)


def _keeps_state(component: Component) -> bool:
    """Definitions take everybody's resources with them when they go, and some resources their volumes."""
    return bool(component.crds or component.objects or component.users)


def _folder(component: Component) -> str:
    return f"manifests/{component.name}"


def _name(cluster: str, name: str) -> str:
    """EKS allows names that Kubernetes does not."""
    return _NO_NAME.sub("-", f"{cluster}-{name}".lower()).strip("-")
