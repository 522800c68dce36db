"""What the server tells about itself: groups, versions and resources, old style and aggregated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Registry, Resource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_CHANGE = ("get", "patch", "update")
_SUBRESOURCE_VERBS = {
    "approval": _CHANGE,
    "attach": ("create", "get"),
    "binding": ("create",),
    "eviction": ("create",),
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "token": ("create",),
}
_SUBRESOURCE_KINDS = {
    "attach": ("", "v1", "PodAttachOptions"),
    "binding": ("", "v1", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "exec": ("", "v1", "PodExecOptions"),
    "portforward": ("", "v1", "PodPortForwardOptions"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}


def wants_aggregated(accept: str) -> bool:
    return "as=APIGroupDiscoveryList" in accept and "v=v2" in accept


def aggregated(registry: Registry, *, core: bool) -> Object:
    """One document instead of one for each group and version."""
    groups = {name: versions for name, versions in registry.groups().items() if (name == "") is core}
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [
                {"version": version, "freshness": "Current", "resources": [_discovered(r) for r in resources]}
                for version, resources in versions.items()
            ],
        }
        for group, versions in groups.items()
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def core_versions() -> Object:
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(registry: Registry) -> Object:
    named = [group_entry(registry, name) for name in registry.groups() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}


def group(registry: Registry, name: str) -> Object:
    return {"kind": "APIGroup", "apiVersion": "v1", **group_entry(registry, name)}


def group_entry(registry: Registry, name: str) -> Object:
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in registry.groups()[name]]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(registry: Registry, name: str, version: str) -> Object:
    resources = registry.groups()[name][version]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": resources[0].api_version,
        "resources": [entry for resource in resources for entry in _entries(resource)],
    }


def _discovered(resource: Resource) -> Object:
    found: Object = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    if resource.subresources:
        found["subresources"] = [_subresource(resource, name) for name in resource.subresources]
    return found


def _subresource(resource: Resource, name: str) -> Object:
    own = (resource.group, resource.version, resource.kind)
    group, version, kind = _SUBRESOURCE_KINDS.get(name, own)
    return {
        "subresource": name,
        "verbs": list(_SUBRESOURCE_VERBS.get(name, _CHANGE)),
        "responseKind": {"group": group, "version": version, "kind": kind},
    }


def _entries(resource: Resource) -> Iterator[Object]:
    yield {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    for name in resource.subresources:
        own = (resource.group, resource.version, resource.kind)
        group, version, kind = _SUBRESOURCE_KINDS.get(name, own)
        elsewhere = {"group": group, "version": version} if (group, version) != own[:2] else {}
        yield {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": list(_SUBRESOURCE_VERBS.get(name, _CHANGE)),
            **elsewhere,
        }


def _names(resource: Resource) -> Object:
    named = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {key: value for key, value in named.items() if value}
