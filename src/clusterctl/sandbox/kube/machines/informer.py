"""A local copy of all objects of one kind, kept current by list and watch."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from typing import TYPE_CHECKING

import aiohttp

from clusterctl.sandbox.kube.machines.client import ApiError
from clusterctl.sandbox.kube.machines.kinds import controller_of, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl.sandbox.kube.machines.client import KubeClient
    from clusterctl.sandbox.kube.machines.kinds import Key, Kind, Obj

    Handler = Callable[[Obj, Obj | None], None]

LOG = logging.getLogger(__name__)
_RETRY_S = 0.5  # real seconds


class Informer:
    """Objects by key and by owner; tells its handlers (object, previous one) of each change.

    What this process wrote is stored at once from the API's answer, so that a controller never acts on less than it
    did itself. A handler gets the last known object when one is gone, which `key in informer` then denies.
    """

    def __init__(self, client: KubeClient, kind: Kind) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self._client = client
        self._objects: dict[Key, Obj] = {}
        self._owned: dict[str, dict[Key, Obj]] = defaultdict(dict)
        self._gone: deque[str] = deque(maxlen=5000)
        self._handlers: list[Handler] = []

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[Obj]:
        return iter(list(self._objects.values()))

    def get(self, namespace: str, name: str) -> Obj | None:
        return self._objects.get((namespace, name))

    def owned_by(self, owner: Obj) -> list[Obj]:
        """Objects that this one controls, by name."""
        owned = self._owned.get(owner["metadata"]["uid"]) or {}
        return [obj for _, obj in sorted(owned.items())]

    def on_change(self, handler: Handler) -> Callable[[], None]:
        """Register a handler, which hears of what is known already first; returns how to end it."""
        self._handlers.append(handler)
        for obj in self:
            handler(obj, None)
        return lambda: self._handlers.remove(handler)

    def store(self, obj: Obj) -> None:
        """Take an object as the API gave it, unless a newer one is known or it is gone already."""
        key, old = key_of(obj), self._objects.get(key_of(obj))
        if obj["metadata"]["uid"] in self._gone or (old is not None and not _newer(obj, old)):
            return
        self._objects[key] = obj
        owner = controller_of(obj)
        if owner:
            self._owned[owner["uid"]][key] = obj
        self._tell(obj, old)

    def drop(self, obj: Obj) -> None:
        """An object is gone."""
        uid, key = obj["metadata"]["uid"], key_of(obj)
        if uid in self._gone:
            return
        self._gone.append(uid)
        known = self._objects.get(key)
        if known is not None and known["metadata"]["uid"] == uid:
            del self._objects[key]
        owner = controller_of(obj)
        if owner:
            self._owned[owner["uid"]].pop(key, None)
            if not self._owned[owner["uid"]]:
                del self._owned[owner["uid"]]
        self._tell(obj, obj)

    async def run(self) -> None:
        """List, then watch; again whenever the watch ends or the version is too old. Runs until cancelled."""
        while True:
            try:
                version = await self._resync()
                while True:
                    version = await self._follow(version)
            except ApiError as problem:
                LOG.debug("%s: %s", self.kind.plural, problem)
                await asyncio.sleep(0 if problem.status == 410 else _RETRY_S)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as problem:
                LOG.debug("%s: %r", self.kind.plural, problem)
                await asyncio.sleep(_RETRY_S)

    async def _resync(self) -> str:
        items, version = await self._client.list(self.kind)
        present = {item["metadata"]["uid"] for item in items}
        for known in self:
            if known["metadata"]["uid"] not in present and not _later(known, version):
                self.drop(known)
        for item in items:
            self.store(item)
        self.synced.set()
        return version

    async def _follow(self, version: str) -> str:
        async for kind, obj in self._client.watch(self.kind, version):
            version = obj["metadata"]["resourceVersion"]
            if kind == "DELETED":
                self.drop(obj)
            elif kind != "BOOKMARK":
                self.store(obj)
        await asyncio.sleep(_RETRY_S / 10)
        return version

    def _tell(self, obj: Obj, old: Obj | None) -> None:
        for handler in list(self._handlers):
            handler(obj, old)


def _newer(obj: Obj, old: Obj) -> bool:
    if obj["metadata"]["uid"] != old["metadata"]["uid"]:
        return _later(obj, old["metadata"]["resourceVersion"])
    return int(obj["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])


def _later(obj: Obj, version: str) -> bool:
    return int(obj["metadata"]["resourceVersion"]) > int(version)
