"""OpenAPI v3, as far as clients read it.

kubectl and helm look whether PATCH takes `fieldValidation` and `dryRun`, found by group, version and kind; the
schemas of custom resources ride along for `kubectl explain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Registry, Resource

_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def index(registry: Registry) -> Object:
    paths = [
        f"apis/{group}/{version}" if group else f"api/{version}"
        for group, versions in registry.groups().items()
        for version in versions
    ]
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def document(registry: Registry, group: str, version: str) -> Object | None:
    """The document of one group and version; None when there is no such thing."""
    resources = registry.groups().get(group, {}).get(version)
    if resources is None:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "sandbox"},
        "paths": {_path(resource): _operations(resource) for resource in resources},
        "components": {"schemas": {_schema_name(resource): _schema(resource) for resource in resources}},
    }


def _path(resource: Resource) -> str:
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"{resource.prefix}{scope}/{resource.plural}/{{name}}"


def _operations(resource: Resource) -> Object:
    reference = {"schema": {"$ref": f"#/components/schemas/{_schema_name(resource)}"}}
    shared = {
        "x-kubernetes-group-version-kind": _kind(resource),
        "responses": {"200": {"description": "OK", "content": {"application/json": reference}}},
    }
    return {
        "get": {"x-kubernetes-action": "get", **shared},
        "patch": {"x-kubernetes-action": "patch", "parameters": _PARAMETERS, **shared},
    }


def _schema_name(resource: Resource) -> str:
    return f"{resource.group or 'core'}.{resource.version}.{resource.kind}"


def _schema(resource: Resource) -> Object:
    schema = resource.schema or {"type": "object"}
    return {**schema, "x-kubernetes-group-version-kind": [_kind(resource)]}


def _kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}
