"""A small asynchronous client of the Kubernetes API."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from types import TracebackType

    from clusterctl.sandbox.kube.access import ClusterAccess
    from clusterctl.sandbox.kube.machines.kinds import Kind, Obj

_AT_ONCE = 16
_MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """The API refused: HTTP status, reason (`NotFound`, `Conflict`, ...) and its message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason


class KubeClient:
    """Reads and writes one cluster; at most sixteen requests at once, watches apart."""

    def __init__(self, access: ClusterAccess) -> None:
        self._access = access
        self._base = access.endpoint.rstrip("/")
        self._gate = asyncio.Semaphore(_AT_ONCE)
        tls: Any = access.ssl_context() if access.endpoint.startswith("https") else True
        self._session = aiohttp.ClientSession(
            headers=access.headers,
            connector=aiohttp.TCPConnector(ssl=tls, limit=0),
            timeout=aiohttp.ClientTimeout(total=60),
        )

    async def __aenter__(self) -> KubeClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def call(
        self, method: str, path: str, body: Obj | None = None, content_type: str = "application/json", **query: str
    ) -> Obj:
        """One request. Raises ApiError, or aiohttp.ClientError when there is no connection."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json"} | ({"Content-Type": content_type} if data else {})
        async with (
            self._gate,
            self._session.request(method, self._base + path, data=data, headers=headers, params=query) as answer,
        ):
            text = await answer.text()
            if answer.status >= 400:
                raise _error(answer.status, text)
            return json.loads(text) if text else {}

    async def get(self, kind: Kind, namespace: str, name: str) -> Obj:
        return await self.call("GET", kind.path(namespace, name))

    async def list(self, kind: Kind) -> tuple[list[Obj], str]:
        """All objects of a kind, each with its kind filled in, and the list's resource version."""
        answer = await self.call("GET", kind.path())
        items = [{**item, "apiVersion": kind.api_version, "kind": kind.name} for item in answer.get("items") or []]
        return items, answer["metadata"]["resourceVersion"]

    async def create(self, kind: Kind, obj: Obj, subresource: str = "") -> Obj:
        meta = obj["metadata"]
        name = meta["name"] if subresource else ""
        full = {"apiVersion": kind.api_version, "kind": kind.name, **obj}
        return await self.call("POST", kind.path(meta.get("namespace", ""), name, subresource), full)

    async def replace(self, kind: Kind, obj: Obj, subresource: str = "") -> Obj:
        meta = obj["metadata"]
        return await self.call("PUT", kind.path(meta.get("namespace", ""), meta["name"], subresource), obj)

    async def patch(self, kind: Kind, obj: Obj, change: Obj, subresource: str = "") -> Obj:
        """A JSON merge patch of one object."""
        meta = obj["metadata"]
        path = kind.path(meta.get("namespace", ""), meta["name"], subresource)
        return await self.call("PATCH", path, change, _MERGE_PATCH)

    async def delete(self, kind: Kind, obj: Obj, grace_s: int | None = None) -> Obj:
        """Delete exactly this object (by uid), not a later one of its name."""
        meta = obj["metadata"]
        options: Obj = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        options["preconditions"] = {"uid": meta["uid"]}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        return await self.call("DELETE", kind.path(meta.get("namespace", ""), meta["name"]), options)

    async def append_log(self, pod: Obj, container: str, lines: Sequence[str]) -> None:
        """Add lines to a container's log, where the API keeps logs."""
        if not self._access.emulates_pods or not lines:
            return
        meta = pod["metadata"]
        body = {"lines": list(lines), "container": container}
        with suppress(ApiError):
            await self.call("POST", f"/sandbox/pods/{meta['namespace']}/{meta['name']}/log", body)

    async def set_answer(self, pod: Obj, match: str, stdout: str) -> None:
        """What a command gives in this pod from now on, where the API emulates commands."""
        if self._access.emulates_pods:
            meta = pod["metadata"]
            body = {"match": match, "stdout": stdout}
            await self.call("POST", f"/sandbox/pods/{meta['namespace']}/{meta['name']}/exec", body)

    async def commands(self, pod: Obj) -> tuple[str, ...]:
        """What was run in a pod, where the API emulates commands."""
        if not self._access.emulates_pods:
            return ()
        meta = pod["metadata"]
        answer = await self.call("GET", f"/sandbox/pods/{meta['namespace']}/{meta['name']}/commands")
        return tuple(answer["commands"])

    async def watch(self, kind: Kind, version: str) -> AsyncIterator[tuple[str, Obj]]:
        """Changes after a resource version. Ends when the server closes; raises ApiError (410 when too old)."""
        query = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true"}
        wait = aiohttp.ClientTimeout(total=None, sock_connect=10)
        url = self._base + kind.path()
        async with self._session.get(url, params={**query, "timeoutSeconds": "3000"}, timeout=wait) as answer:
            if answer.status >= 400:
                raise _error(answer.status, await answer.text())
            async for line in _lines(answer.content):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise _status_error(event["object"])
                yield event["type"], event["object"]


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length; the reader's own readline refuses long ones."""
    rest = b""
    async for chunk in stream.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line


def _error(status: int, text: str) -> ApiError:
    try:
        return _status_error(json.loads(text))
    except (ValueError, AttributeError):
        return ApiError(status, "Unknown", text[:200])


def _status_error(status: Obj) -> ApiError:
    return ApiError(int(status.get("code") or 500), status.get("reason") or "", status.get("message") or "")
