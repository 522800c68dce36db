"""Manifests through the real kubectl: built by kustomize, applied server-side, remembered in a ConfigMap."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any, Protocol

from clusterctl.adapters.charts import ChartSource
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.process import Tool
from clusterctl.errors import UsageError
from clusterctl.model.kube import Component, KubeAccess, Manifest, Proof, ReleaseState, Signal
from clusterctl.ports import KubeReader, KubeWriter
from clusterctl.rendering.kustomization import COMPONENT_LABEL, kustomize_files

BUILD_LIMIT_S = 120
_OUTLIVES = ("Namespace", "CustomResourceDefinition")  # removed on their own, once nothing of anybody needs them


class ClusterObjects(KubeReader, KubeWriter, Protocol):
    """What is read and written here."""


class Manifests:
    """Implements ports.ReleaseReader and ports.Releases for components that are no charts.

    The ConfigMap `clusterctl-NAME` says which version and which values were applied, and what that made.
    """

    def __init__(self, tool: Tool, session: KubeSession, source: ChartSource, kube: ClusterObjects) -> None:
        self._tool = tool
        self._session = session
        self._source = source
        self._kube = kube

    def release(self, access: KubeAccess, component: Component) -> ReleaseState:
        record = self._record(access, component)
        if not record:
            return ReleaseState(component.release, component.namespace)
        return ReleaseState(
            name=component.release,
            namespace=component.namespace,
            status=record["status"],
            chart=component.chart.name,
            chart_version=record["version"],
            revision=1,
            values={"fingerprint": record["fingerprint"]},
        )

    def install(self, access: KubeAccess, component: Component, values: str) -> None:
        """Apply; what an earlier version had and this one has not is deleted."""
        resources = _documents(self._build(access, component, values))
        made = [_identity(one) for one in resources]
        before = json.loads(self._record(access, component).get("objects", "[]"))
        self._kube.apply(
            access, _text([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": component.namespace}}])
        )
        self._remember(
            access, component, "pending-install", values, [*made, *(one for one in before if one not in made)]
        )
        self._kube.apply(access, _text(resources))
        self._delete(access, [one for one in before if one not in made])
        self._remember(access, component, "deployed", values, made)

    def uninstall(self, access: KubeAccess, component: Component) -> None:
        """Delete what was applied, but definitions and namespaces, which hold what others made."""
        record = self._record(access, component)
        if record:
            self._delete(access, [*reversed(json.loads(record["objects"])), _identity(_config_map(component, {}))])

    def _build(self, access: KubeAccess, component: Component, values: str) -> str:
        with tempfile.TemporaryDirectory(prefix="clusterctl-") as folder:
            _lay_out(Path(folder), component, values, self._location(component))
            return self._session.run(self._tool, access, ("kustomize", folder), timeout_s=BUILD_LIMIT_S)

    def _location(self, component: Component) -> str:
        manifest = component.chart
        return self._source.manifest(manifest) if isinstance(manifest, Manifest) and manifest.url else ""

    def _record(self, access: KubeAccess, component: Component) -> dict[str, str]:
        signal = Signal("configmaps", f"clusterctl-{component.name}", Proof.READY, component.namespace)
        found = self._kube.found(access, (signal,)).get(signal)
        return dict(found.get("data") or {}) if found else {}

    def _remember(
        self, access: KubeAccess, component: Component, status: str, values: str, made: list[dict[str, Any]]
    ) -> None:
        data = {
            "status": status,
            "version": component.chart.version,
            "fingerprint": hashlib.sha256(values.encode()).hexdigest()[:16],
            "objects": json.dumps(made),
        }
        self._kube.apply(access, _text([_config_map(component, data)]))

    def _delete(self, access: KubeAccess, identities: list[dict[str, Any]]) -> None:
        chosen = [one for one in identities if one["kind"] not in _OUTLIVES]
        if chosen:
            self._kube.remove(access, _text(chosen))


def _lay_out(folder: Path, component: Component, values: str, location: str) -> None:
    """A kustomization; a published manifest that is a file of ours is laid beside it."""
    published = location
    if location and not location.startswith("https://"):
        published = "manifest.yaml"
        (folder / published).write_bytes(Path(location).read_bytes())
    for name, text in kustomize_files(component, values, published).items():
        (folder / name).write_text(text)


def _config_map(component: Component, data: dict[str, str]) -> dict[str, Any]:
    labels = {COMPONENT_LABEL: component.name, "app.kubernetes.io/managed-by": "clusterctl"}
    meta = {"name": f"clusterctl-{component.name}", "namespace": component.namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def _identity(resource: dict[str, Any]) -> dict[str, Any]:
    meta = {key: resource["metadata"][key] for key in ("name", "namespace") if resource["metadata"].get(key)}
    return {"apiVersion": resource["apiVersion"], "kind": resource["kind"], "metadata": meta}


def _documents(text: str) -> list[dict[str, Any]]:
    import yaml

    try:
        found = [one for one in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if one]
    except yaml.YAMLError as problem:
        raise UsageError(f"the manifest is no YAML: {str(problem).splitlines()[0]}") from problem
    return [dict(one) for one in found]


def _text(resources: list[dict[str, Any]]) -> str:
    """JSON is YAML, and faster."""
    return "\n---\n".join(json.dumps(one) for one in resources)
