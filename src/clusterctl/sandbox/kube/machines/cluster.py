"""One cluster as its controllers see it: cached reads, conflict-safe writes, events."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.client import ApiError
from clusterctl.sandbox.kube.machines.informer import Informer
from clusterctl.sandbox.kube.machines.kinds import EVENT, condition, key_of, set_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clusterctl.sandbox.clock import SimClock
    from clusterctl.sandbox.kube.machines.client import KubeClient
    from clusterctl.sandbox.kube.machines.kinds import Kind, Obj

_CONFLICTS = 8


class Cluster:
    """Shared by all controllers of one cluster. Reads come from informers; writes go to the API and into them."""

    def __init__(self, client: KubeClient, clock: SimClock, region: str = "") -> None:
        self.client = client
        self.clock = clock
        self.region = region
        self._informers: dict[Kind, Informer] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}
        self._events: dict[tuple[str, ...], Obj] = {}

    def informer(self, kind: Kind) -> Informer:
        """The cache of a kind; its list and watch start with the first use."""
        if kind not in self._informers:
            self._informers[kind] = Informer(self.client, kind)
            self._tasks[kind] = asyncio.create_task(self._informers[kind].run(), name=f"watch {kind.plural}")
        return self._informers[kind]

    async def synced(self, kinds: Iterable[Kind]) -> None:
        """Wait until these kinds were listed once."""
        for kind in kinds:
            await self.informer(kind).synced.wait()

    async def forget(self, kind: Kind) -> None:
        """Stop watching a kind."""
        task = self._tasks.pop(kind, None)
        self._informers.pop(kind, None)
        if task:
            await _end([task])

    async def close(self) -> None:
        await _end(self._tasks.values())

    def timestamp(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    async def create(self, kind: Kind, obj: Obj) -> Obj | None:
        """Create an object; None when one of its name exists already."""
        try:
            made = await self.client.create(kind, obj)
        except ApiError as problem:
            if problem.reason == "AlreadyExists":
                return None
            raise
        self._store(kind, made)
        return made

    async def modify(self, kind: Kind, obj: Obj, change: Callable[[Obj], None], subresource: str = "") -> Obj | None:
        """Apply a change to the newest version; writes only what differs. None when the object is gone."""
        for _ in range(_CONFLICTS):
            fresh = copy.deepcopy(obj)
            change(fresh)
            if fresh == obj:
                return obj
            try:
                stored = await self.client.replace(kind, fresh, subresource)
            except ApiError as problem:
                if problem.status == 404:
                    return None
                if problem.status != 409:
                    raise
            else:
                self._store(kind, stored)
                return stored
            current = await self._current(kind, obj)
            if current is None:
                return None
            obj = current
        raise ApiError(409, "Conflict", f"{kind.plural} {key_of(obj)} changes too often")

    async def set_status(self, kind: Kind, obj: Obj, status: Obj) -> Obj | None:
        """Merge these fields into the status; a field set to None is removed."""

        def change(fresh: Obj) -> None:
            merged = {**(fresh.get("status") or {}), **status}
            fresh["status"] = {name: value for name, value in merged.items() if value is not None}

        return await self.modify(kind, obj, change, "status")

    async def set_condition(self, kind: Kind, obj: Obj, name: str, words: tuple[str, str, str]) -> Obj | None:
        """Set one condition to (status, reason, message); nothing is written while it says so already."""

        def change(fresh: Obj) -> None:
            status = fresh.setdefault("status", {})
            told = condition(name, *words, self.timestamp())
            status["conditions"] = set_condition(status.get("conditions") or [], told)

        return await self.modify(kind, obj, change, "status")

    async def delete(self, kind: Kind, obj: Obj, grace_s: int | None = None) -> None:
        """Delete this very object; fine when it is gone already."""
        try:
            answer = await self.client.delete(kind, obj, grace_s)
        except ApiError as problem:
            if problem.status not in (404, 409):
                raise
            if problem.status == 404:
                self.informer(kind).drop(obj)
            return
        if answer.get("kind") != kind.name or grace_s == 0:
            self.informer(kind).drop(obj)
        elif answer["metadata"].get("deletionTimestamp"):
            self._store(kind, answer)

    async def event(self, about: Obj, reason: str, message: str, severity: str = "Normal") -> None:
        """Record an event, once for the same words about the same object; counts repetitions."""
        meta = about["metadata"]
        identity = (meta.get("uid", ""), reason, message)
        with suppress(ApiError):  # events are a courtesy: a namespace that ends refuses them
            known = self._events.get(identity)
            if known:
                change: Obj = {"count": known["count"] + 1, "lastTimestamp": self.timestamp()}
                self._events[identity] = await self.client.patch(EVENT, known, change)
            else:
                self._events[identity] = await self.client.create(EVENT, self._event(about, identity, severity))

    def _event(self, about: Obj, identity: tuple[str, str, str], severity: str) -> Obj:
        meta, (uid, reason, message) = about["metadata"], identity
        suffix = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]
        involved = {"kind": about["kind"], "apiVersion": about["apiVersion"], "name": meta["name"], "uid": uid}
        if meta.get("namespace"):
            involved["namespace"] = meta["namespace"]
        when = self.timestamp()
        return {
            "metadata": {"name": f"{meta['name'][:200]}.{suffix}", "namespace": meta.get("namespace") or "default"},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "type": severity,
            "count": 1,
            "firstTimestamp": when,
            "lastTimestamp": when,
            "source": {"component": "sandbox"},
        }

    async def _current(self, kind: Kind, obj: Obj) -> Obj | None:
        """The newest version of the same object, by uid."""
        meta = obj["metadata"]
        try:
            current = await self.client.get(kind, meta.get("namespace", ""), meta["name"])
        except ApiError as problem:
            if problem.status == 404:
                return None
            raise
        return current if current["metadata"]["uid"] == meta["uid"] else None

    def _store(self, kind: Kind, obj: Obj) -> None:
        if kind in self._informers:
            self._informers[kind].store(obj)


async def _end(tasks: Iterable[asyncio.Task[None]]) -> None:
    ended = list(tasks)
    for task in ended:
        task.cancel()
    await asyncio.gather(*ended, return_exceptions=True)


def digest(value: object, length: int = 8) -> str:
    """A short stable hash of JSON data, in characters that names may hold."""
    text = json.dumps(value, sort_keys=True).encode()
    number = int(hashlib.sha256(text).hexdigest(), 16)
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    return "".join(alphabet[(number // 27**place) % 27] for place in range(length))
