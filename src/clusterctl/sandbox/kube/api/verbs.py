"""get, list, create, update and delete."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.call import answer, success
from clusterctl.sandbox.kube.api.errors import StatusError, bad_request
from clusterctl.sandbox.kube.api.objects import key_of
from clusterctl.sandbox.kube.api.selectors import object_test
from clusterctl.sandbox.kube.api.tables import partial

if TYPE_CHECKING:
    from aiohttp import web

    from clusterctl.sandbox.kube.api.call import Call
    from clusterctl.sandbox.kube.api.objects import Object


async def get(call: Call) -> web.Response:
    return call.render(call.current())


async def list_(call: Call) -> web.Response:
    """A page of a list, as list, table or metadata."""
    store = call.core.store
    found = store.select(call.resource.storage, call.namespace, object_test(call.request.query))
    items, metadata = _page(call, found)
    if "as=Table" in call.accept:
        return answer(call.table().table([call.versioned(o) for o in items], metadata))
    if "as=PartialObjectMetadataList" in call.accept:
        parts = [partial(obj) for obj in items]
        return answer(_list("PartialObjectMetadataList", "meta.k8s.io/v1", metadata, parts))
    versioned = [call.versioned(obj) for obj in items]
    return answer(_list(call.resource.list_kind, call.resource.api_version, metadata, versioned))


async def create(call: Call) -> web.Response:
    body = await call.object_body()
    made = call.core.lifecycle.create(call.resource, call.namespace, body, call.write_options())
    return call.render(made, 201)


async def replace(call: Call) -> web.Response:
    body = await call.object_body()
    named = (body.get("metadata") or {}).get("name", call.name)
    if named != call.name:
        raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({call.name})")
    stored = call.core.lifecycle.update(call.resource, call.current(), body, call.write_options())
    return call.render(stored)


async def delete(call: Call) -> web.Response:
    """A Status with the uid when the object is gone, the object while something holds it."""
    options = await call.delete_options()
    current = call.current()
    deletion = call.core.lifecycle.delete(call.resource, current, options)
    if not deletion.gone:
        return call.render(deletion.object)
    group = {"group": call.resource.group} if call.resource.group else {}
    details = {"name": call.name, **group, "kind": call.resource.plural, "uid": current["metadata"]["uid"]}
    return success(details=details)


async def delete_collection(call: Call) -> web.Response:
    options = await call.delete_options()
    store = call.core.store
    found = store.select(call.resource.storage, call.namespace, object_test(call.request.query))
    for obj in found:
        call.core.lifecycle.delete(call.resource, obj, options)
    metadata = {"resourceVersion": str(store.version)}
    return answer(_list(call.resource.list_kind, call.resource.api_version, metadata, found))


def _list(kind: str, api_version: str, metadata: Object, items: list[Object]) -> Object:
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items}


def _page(call: Call, found: list[Object]) -> tuple[list[Object], Object]:
    metadata: Object = {"resourceVersion": str(call.core.store.version)}
    limit = int(call.query("limit") or 0)
    if token := call.query("continue"):
        last = _position(token)
        found = [obj for obj in found if key_of(obj) > last]
    if not limit or len(found) <= limit:
        return found, metadata
    position = json.dumps(key_of(found[limit - 1])).encode()
    metadata["continue"] = base64.urlsafe_b64encode(position).decode()
    metadata["remainingItemCount"] = len(found) - limit
    return found[:limit], metadata


def _position(token: str) -> tuple[str, str]:
    try:
        namespace, name = json.loads(base64.urlsafe_b64decode(token))
    except ValueError as problem:
        raise StatusError(400, "BadRequest", "continue key is not valid") from problem
    return namespace, name
