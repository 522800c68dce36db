"""Watches: a line of JSON for each event, with bookmarks, and with the initial list where a client asks for it."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web

from clusterctl.sandbox.kube.api.errors import StatusError, bad_request
from clusterctl.sandbox.kube.api.selectors import object_test
from clusterctl.sandbox.kube.api.store import Event, Watcher
from clusterctl.sandbox.kube.api.tables import partial

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.call import Call
    from clusterctl.sandbox.kube.api.objects import Object

_BOOKMARK_EVERY_S = 30.0
_LONGEST_S = 3600.0
_END_OF_LIST = {"k8s.io/initial-events-end": "true"}


async def watch(call: Call) -> web.StreamResponse:
    """Stream until the client goes, the time is over or the server closes."""
    watcher = Watcher(call.resource.storage, call.namespace, object_test(call.request.query))
    _start(call, watcher)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    try:
        await response.prepare(call.request)
        await _stream(call, watcher, response)
    except ConnectionError:
        pass
    finally:
        call.core.store.unwatch(watcher)
    return response


def _start(call: Call, watcher: Watcher) -> None:
    """Queue what the client must see first. Without the end-of-list bookmark every `kubectl wait` would hang."""
    store, version = call.core.store, call.query("resourceVersion")
    listed = call.flag("sendInitialEvents")
    if listed or version in {"", "0"}:
        for obj in store.select(watcher.storage, watcher.namespace, watcher.test):
            watcher.queue.put_nowait(Event("ADDED", obj))
        if listed:
            watcher.queue.put_nowait(Event("BOOKMARK", _bookmark(call, _END_OF_LIST)))
        store.watch(watcher)
        return
    if not version.isdigit():
        raise bad_request(f"invalid resource version: {version!r}")
    try:
        store.watch(watcher, since=int(version))
    except StatusError as problem:
        watcher.queue.put_nowait(Event("ERROR", problem.to_status()))


def _bookmark(call: Call, annotations: dict[str, str] | None = None) -> Object:
    metadata: Object = {"resourceVersion": str(call.core.store.version), "creationTimestamp": None}
    if annotations:
        metadata["annotations"] = annotations
    return {"kind": call.resource.kind, "apiVersion": call.resource.api_version, "metadata": metadata}


async def _stream(call: Call, watcher: Watcher, response: web.StreamResponse) -> None:
    representation = _Representation(call)
    end = time.monotonic() + float(call.query("timeoutSeconds") or _LONGEST_S)
    closing = asyncio.ensure_future(call.core.closing.wait())
    try:
        while (left := end - time.monotonic()) > 0 and not closing.done():
            event = await _next(watcher, closing, min(left, _BOOKMARK_EVERY_S))
            if event is not None:
                await response.write(representation.line(event))
                if event.type == "ERROR":
                    return
            elif call.flag("allowWatchBookmarks"):
                await response.write(representation.line(Event("BOOKMARK", _bookmark(call))))
    finally:
        closing.cancel()


async def _next(watcher: Watcher, closing: asyncio.Task[Literal[True]], timeout_s: float) -> Event | None:
    if not watcher.queue.empty():
        return watcher.queue.get_nowait()
    getting = asyncio.ensure_future(watcher.queue.get())
    try:
        both: set[asyncio.Future[Any]] = {getting, closing}
        await asyncio.wait(both, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        return getting.result() if getting.done() else None
    finally:
        getting.cancel()


@dataclass(slots=True)
class _Representation:
    """Events as the client wants them; only the first table of a watch names its columns."""

    call: Call
    columns_told: bool = False

    def line(self, event: Event) -> bytes:
        shown = event.object if event.type in {"BOOKMARK", "ERROR"} else self._shown(event.object)
        document = {"type": event.type, "object": shown}
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def _shown(self, obj: Object) -> Object:
        obj = self.call.versioned(obj)
        if "as=Table" in self.call.accept:
            metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            table = self.call.table().table([obj], metadata)
            if self.columns_told:
                table["columnDefinitions"] = None
            self.columns_told = True
            return table
        return partial(obj) if "as=PartialObjectMetadata" in self.call.accept else obj
