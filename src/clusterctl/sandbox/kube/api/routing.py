"""From a path and a method to the handler that answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from aiohttp import web

from clusterctl.sandbox.kube.api import discovery, openapi, patches, reviews, subresources, verbs
from clusterctl.sandbox.kube.api.call import Call, answer
from clusterctl.sandbox.kube.api.errors import method_not_allowed, no_such_resource
from clusterctl.sandbox.kube.api.execution import execute
from clusterctl.sandbox.kube.api.logs import log
from clusterctl.sandbox.kube.api.watching import watch

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.core import Core

Handler = Callable[[Call], Awaitable[web.StreamResponse]]

HEALTH = frozenset(["/healthz", "/livez", "/readyz"])
_VERSION = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.1-eks-sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2025-10-01T00:00:00Z",
    "goVersion": "go1.24",
    "compiler": "gc",
    "platform": "linux/amd64",
}
_OBJECT: dict[str, Handler] = {
    "DELETE": verbs.delete,
    "GET": verbs.get,
    "PATCH": patches.patch,
    "PUT": verbs.replace,
}
_PARTS = frozenset(["status", "approval", "ephemeralcontainers", "finalize", "resize"])
_SUBRESOURCES: dict[tuple[str, str], Handler] = {
    ("GET", "exec"): execute,
    ("GET", "log"): log,
    ("GET", "scale"): subresources.scale,
    ("PATCH", "scale"): subresources.scale,
    ("POST", "binding"): subresources.bind,
    ("POST", "eviction"): subresources.evict,
    ("POST", "exec"): execute,
    ("POST", "token"): subresources.token,
    ("PUT", "scale"): subresources.scale,
}


async def route(request: web.Request, core: Core, version: str) -> web.StreamResponse:
    """Answer one authenticated request. Raises StatusError."""
    parts = request.path.strip("/").split("/")
    if request.path == "/version":
        return answer({**_VERSION, **_server_version(version)})
    if parts[0] == "openapi":
        return _openapi(core, parts[1:])
    if parts[0] == "api" and len(parts) > 1:
        return await _resource(request, core, ["", *parts[1:]])
    if parts[0] == "apis" and len(parts) > 2:
        return await _resource(request, core, parts[1:])
    return _discovery(request, core, parts)


def _server_version(version: str) -> dict[str, str]:
    if not version:
        return {}
    major, _, minor = version.partition(".")
    return {"major": major, "minor": minor, "gitVersion": f"v{version}.0-eks-sandbox"}


def _discovery(request: web.Request, core: Core, parts: list[str]) -> web.Response:
    registry, accept = core.registry, request.headers.get("Accept", "")
    if parts in (["api"], ["apis"]) and discovery.wants_aggregated(accept):
        document = answer(discovery.aggregated(registry, core=parts == ["api"]))
        document.headers["Content-Type"] = discovery.AGGREGATED
        return document
    if parts == ["api"]:
        return answer(discovery.core_versions())
    if parts == ["apis"]:
        return answer(discovery.group_list(registry))
    if parts[0] == "apis" and parts[1] in registry.groups():
        return answer(discovery.group(registry, parts[1]))
    if parts == [""]:
        return answer({"paths": ["/api", "/api/v1", "/apis", "/healthz", "/openapi/v3", "/version"]})
    raise no_such_resource()


def _openapi(core: Core, parts: list[str]) -> web.Response:
    if parts == ["v3"]:
        return answer(openapi.index(core.registry))
    group, version = (parts[2], parts[3]) if len(parts) == 4 else ("", parts[-1])
    document = openapi.document(core.registry, group, version) if parts[0] == "v3" else None
    if document is None:
        raise no_such_resource()
    return answer(document)


async def _resource(request: web.Request, core: Core, parts: list[str]) -> web.StreamResponse:
    """`parts` is group, version, then what is asked for of it."""
    group, version, *rest = parts
    if not rest:
        if version not in core.registry.groups().get(group, {}):
            raise no_such_resource()
        return answer(discovery.resource_list(core.registry, group, version))
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    resource = core.registry.find(group, version, rest[0])
    if resource is None:
        raise no_such_resource()
    name = rest[1] if len(rest) > 1 else ""
    return await _handler(Call(request, core, resource, namespace, name, "/".join(rest[2:])))


def _handler(call: Call) -> Awaitable[web.StreamResponse]:
    method = call.request.method
    if not call.name:
        return _of_collection(call)(call)
    if not call.subresource or call.subresource in call.resource.subresources:
        table = _OBJECT if not call.subresource or call.subresource in _PARTS else {}
        found = table.get(method) or _SUBRESOURCES.get((method, call.subresource))
        if found is None or (call.subresource and method == "DELETE"):
            raise method_not_allowed()
        return found(call)
    raise no_such_resource()


def _of_collection(call: Call) -> Handler:
    method, resource = call.request.method, call.resource
    if method == "POST":
        return reviews.review if resource.plural.endswith("reviews") else verbs.create
    if method == "GET" and "list" in resource.verbs:
        return watch if call.flag("watch") else verbs.list_
    if method == "DELETE" and "list" in resource.verbs:
        return verbs.delete_collection
    raise method_not_allowed()
