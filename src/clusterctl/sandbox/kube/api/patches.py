"""PATCH in its four types."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import jsonpatch

from clusterctl.sandbox.kube.api.call import Call, parse
from clusterctl.sandbox.kube.api.errors import (
    StatusError,
    bad_request,
    modified,
    not_found,
    unsupported_media_type,
)
from clusterctl.sandbox.kube.api.patching.apply import Apply, ApplyConflictError, Manager
from clusterctl.sandbox.kube.api.patching.merge import merge_patch
from clusterctl.sandbox.kube.api.patching.strategic import strategic_merge
from clusterctl.sandbox.kube.api.patching.structure import structure_of

if TYPE_CHECKING:
    from aiohttp import web

    from clusterctl.sandbox.kube.api.objects import Object

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


async def patch(call: Call) -> web.Response:
    """Raises 415 for a type this resource does not take."""
    body = parse(await call.request.read(), call.media_type)
    if call.media_type == APPLY:
        return _apply(call, body)
    old = call.current()
    new = _patched(call, old, body)
    if not isinstance(new, dict) or not isinstance(new.get("metadata", {}), dict):
        raise bad_request("the patch does not leave an object")
    call.check_fields(new)
    if call.media_type != JSON and not _names_version(body):
        new["metadata"] = {k: v for k, v in (new.get("metadata") or {}).items() if k != "resourceVersion"}
    return call.render(call.core.lifecycle.update(call.resource, old, new, call.write_options()))


def _patched(call: Call, old: Object, body: Any) -> Any:
    if call.media_type == JSON:
        return _json_patch(old, body)
    if call.media_type == MERGE:
        return merge_patch(old, body)
    if call.media_type == STRATEGIC and call.resource.definition is None:
        return strategic_merge(old, body, structure_of(call.resource))
    accepted = [JSON, MERGE, APPLY] if call.resource.definition else [JSON, MERGE, STRATEGIC, APPLY]
    raise unsupported_media_type(accepted)


def _json_patch(old: Object, operations: Any) -> Any:
    try:
        return jsonpatch.apply_patch(copy.deepcopy(old), operations)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, KeyError, TypeError) as problem:
        message = f"the server rejected our request due to an error in our request: {problem}"
        raise StatusError(422, "Invalid", message, {}) from problem


def _names_version(body: Any) -> bool:
    return isinstance(body, dict) and bool((body.get("metadata") or {}).get("resourceVersion"))


def _apply(call: Call, body: Any) -> web.Response:
    """Server-side apply: creates what is not there."""
    _check_apply(call, body)
    store = call.core.store
    namespace = call.namespace if call.resource.namespaced else None
    old = store.find(call.resource.storage, namespace, call.name)
    merged = _merged(call, old or {}, _part(call, body))
    options = call.write_options(applies=True)
    if old is None:
        if call.subresource:
            raise not_found(call.resource, call.name)
        merged["metadata"]["name"] = call.name
        return call.render(call.core.lifecycle.create(call.resource, call.namespace, merged, options), 201)
    given = (body.get("metadata") or {}).get("resourceVersion")
    if given and given != old["metadata"]["resourceVersion"]:
        raise modified(call.resource, call.name)
    merged["metadata"].pop("resourceVersion", None)
    return call.render(call.core.lifecycle.update(call.resource, old, merged, options))


def _check_apply(call: Call, body: Any) -> None:
    if not call.query("fieldManager"):
        why = "fieldManager: Required value: is required for apply patch"
        raise StatusError(422, "Invalid", f'PatchOptions.meta.k8s.io "" is invalid: {why}')
    if not isinstance(body, dict) or not body.get("kind") or not body.get("apiVersion"):
        raise bad_request("invalid object type: apiVersion and kind must be set")
    if (body.get("metadata") or {}).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    call.check_kind(body)
    call.check_fields(body)


def _part(call: Call, body: Object) -> Object:
    """What this endpoint takes of an applied object: status, or all but it."""
    if "status" not in call.resource.subresources:
        return body
    if call.subresource == "status":
        return {name: value for name, value in body.items() if name in {"apiVersion", "kind", "metadata", "status"}}
    return {name: value for name, value in body.items() if name != "status"}


def _merged(call: Call, live: Object, config: Object) -> Object:
    manager = Manager(call.query("fieldManager"), "Apply", call.resource.api_version, call.subresource)
    time = call.core.lifecycle.timestamp()
    apply = Apply(manager, structure_of(call.resource), time, force=call.flag("force"))
    try:
        return apply.to(live, config)
    except ApplyConflictError as problem:
        raise _conflict(problem) from problem


def _conflict(problem: ApplyConflictError) -> StatusError:
    conflicts = problem.conflicts
    count = len(conflicts)
    text = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: "
    if count == 1:
        text += f"conflict with {conflicts[0].manager.described()}: {conflicts[0].field}"
    else:
        grouped: dict[str, list[str]] = {}
        for conflict in conflicts:
            grouped.setdefault(conflict.manager.described(), []).append(conflict.field)
        lines = [[f"conflicts with {who}:", *(f"- {f}" for f in fields)] for who, fields in sorted(grouped.items())]
        text += "\n".join(line for group in lines for line in group)
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {c.manager.described()}", "field": c.field}
        for c in conflicts
    ]
    return StatusError(409, "Conflict", text, {"causes": causes})
