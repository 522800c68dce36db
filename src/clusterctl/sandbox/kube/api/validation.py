"""What the API server refuses on built-in kinds: missing fields, fields that may not change."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.defaults import pod_spec
from clusterctl.sandbox.kube.api.errors import Cause, required, wrong
from clusterctl.sandbox.kube.api.resources import CRDS
from clusterctl.sandbox.kube.api.selectors import selector_matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Resource

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_KINDS_NAMED_BY_LABEL = frozenset(["Namespace", "Service"])
_SELECTING = frozenset(["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"])
_IMMUTABLE = {
    "DaemonSet": (("spec", "selector"),),
    "Deployment": (("spec", "selector"),),
    "Job": (("spec", "selector"), ("spec", "template"), ("spec", "completionMode")),
    "PersistentVolumeClaim": (("spec", "accessModes"), ("spec", "storageClassName"), ("spec", "volumeMode")),
    "ReplicaSet": (("spec", "selector"),),
    "Secret": (("type",),),
    "StatefulSet": (("spec", "selector"), ("spec", "serviceName"), ("spec", "volumeClaimTemplates")),
    "StorageClass": (("provisioner",), ("parameters",), ("reclaimPolicy",), ("volumeBindingMode",)),
}


def name_problems(resource: Resource, name: str) -> list[Cause]:
    """Names are RFC 1123 subdomains; RBAC's only need to fit a path."""
    if resource.group == "rbac.authorization.k8s.io":
        return []
    rule, words = (_LABEL, "label") if resource.kind in _KINDS_NAMED_BY_LABEL else (_SUBDOMAIN, "subdomain")
    longest = 63 if words == "label" else 253
    if rule.fullmatch(name) and len(name) <= longest:
        return []
    characters = "'-'" if words == "label" else "'-' or '.'"
    why = (
        f"a lowercase RFC 1123 {words} must consist of lower case alphanumeric characters, {characters}, "
        "and must start and end with an alphanumeric character"
    )
    return [wrong("metadata.name", json.dumps(name), why)]


def problems(resource: Resource, obj: Object) -> list[Cause]:
    """What is wrong with a built-in object by itself."""
    found = [*_metadata(obj), *_selection(resource.kind, obj), *_containers(resource.kind, obj), *_data(obj)]
    return [*found, *_definition(obj)] if resource.storage == CRDS else found


def change_problems(kind: str, old: Object, new: Object) -> list[Cause]:
    """Fields that were changed and may not be."""
    found = [
        wrong(".".join(path), json.dumps(_at(new, path)), "field is immutable")
        for path in _IMMUTABLE.get(kind, ())
        if _at(old, path) is not None and _at(old, path) != _at(new, path)
    ]
    if kind in {"ConfigMap", "Secret"} and old.get("immutable") and old.get("data") != new.get("data"):
        found.append(Cause("FieldValueForbidden", "data", "Forbidden: field is immutable when `immutable` is set"))
    if kind in {"ClusterRoleBinding", "RoleBinding"} and old.get("roleRef") != new.get("roleRef"):
        found.append(wrong("roleRef", json.dumps(new.get("roleRef")), "cannot change roleRef"))
    return found


def _metadata(obj: Object) -> Iterator[Cause]:
    for key, value in (obj["metadata"].get("labels") or {}).items():
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value) or len(value) > 63:
            why = (
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character"
            )
            yield wrong("metadata.labels", json.dumps(value), f"{why} (key {key})")


def _selection(kind: str, obj: Object) -> Iterator[Cause]:
    if kind not in _SELECTING:
        return
    spec = obj.get("spec") or {}
    selector = spec.get("selector")
    if not selector:
        yield required("spec.selector")
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not selector_matches(selector, labels):
        why = "`selector` does not match template `labels`"
        yield wrong("spec.template.metadata.labels", json.dumps(labels), why)


def _containers(kind: str, obj: Object) -> Iterator[Cause]:
    spec = pod_spec(kind, obj)
    path = {"Pod": "spec", "CronJob": "spec.jobTemplate.spec.template.spec"}.get(kind, "spec.template.spec")
    if spec is None:
        if kind == "Pod" or kind in _SELECTING or kind in {"Job", "CronJob"}:
            yield required(f"{path}.containers")
        return
    for index, container in enumerate(spec["containers"]):
        yield from (
            required(f"{path}.containers[{index}].{name}") for name in ("name", "image") if not container.get(name)
        )
    if kind == "Job" and spec.get("restartPolicy") not in {"Never", "OnFailure"}:
        why = 'Required value: valid values: "OnFailure", "Never"'
        yield Cause("FieldValueRequired", f"{path}.restartPolicy", why)
    yield from _extended_resources(spec, path)


def _extended_resources(spec: Object, path: str) -> Iterator[Cause]:
    """Devices cannot be overcommitted: request and limit are equal."""
    for index, container in enumerate(spec["containers"]):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        field = f"{path}.containers[{index}].resources"
        for name in filter(_is_extended, requests):
            if name not in limits:
                yield required(f"{field}.limits", "Limit must be set for non overcommitable resources")
            elif str(limits[name]) != str(requests[name]):
                shown = json.dumps(str(requests[name]))
                yield wrong(f"{field}.requests", shown, f"must be equal to {name} limit of {limits[name]}")


def _is_extended(name: str) -> bool:
    return "/" in name and not name.startswith("kubernetes.io/")


def _data(obj: Object) -> Iterator[Cause]:
    if obj.get("kind") != "ConfigMap":
        return
    for key, value in (obj.get("data") or {}).items():
        if not isinstance(value, str):
            yield wrong(f"data.{key}", json.dumps(value), "must be a string")


def _definition(obj: Object) -> Iterator[Cause]:
    spec = obj.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or []
    yield from (required(f"spec.{name}") for name in ("group", "scope", "versions") if not spec.get(name))
    yield from (required(f"spec.names.{name}") for name in ("kind", "plural") if not names.get(name))
    expected = f"{names.get('plural')}.{spec.get('group')}"
    if obj["metadata"]["name"] != expected:
        shown = json.dumps(obj["metadata"]["name"])
        yield wrong("metadata.name", shown, 'must be spec.names.plural+"."+spec.group')
    if versions and sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield wrong("spec.versions", json.dumps([v.get("name") for v in versions]), why)
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema", "schemas are required")


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj
