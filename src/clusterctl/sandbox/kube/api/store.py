"""Objects in memory: one resourceVersion counter, a history for watches, and who watches."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from clusterctl.sandbox.kube.api.errors import expired, not_found
from clusterctl.sandbox.kube.api.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clusterctl.sandbox.kube.api.objects import Object, ObjectKey, StorageKey
    from clusterctl.sandbox.kube.api.resources import Resource
    from clusterctl.sandbox.kube.api.selectors import ObjectTest

HISTORY = 20_000  # changes a watch can catch up with; about what etcd keeps for five minutes


class Change(NamedTuple):
    """One committed write: `old` is None for a creation, `new` for a removal."""

    version: int
    storage: StorageKey
    old: Object | None
    new: Object | None

    @property
    def subject(self) -> Object:
        found = self.new or self.old
        assert found is not None  # noqa: S101 - a change has one of them
        return found


class Event(NamedTuple):
    """What one watcher gets to see: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""

    type: str
    object: Object


@dataclass(eq=False, slots=True)
class Watcher:
    """Sees the changes of one resource that its selectors let through."""

    storage: StorageKey
    namespace: str | None
    test: ObjectTest
    queue: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)

    def offer(self, change: Change) -> None:
        """A change can hide an object from the selectors or reveal it: DELETED or ADDED then."""
        if change.storage != self.storage or not self._in_namespace(change.subject):
            return
        before = change.old is not None and self.test(change.old)
        if change.new is not None and self.test(change.new):
            self.queue.put_nowait(Event("MODIFIED" if before else "ADDED", change.new))
        elif before:
            self.queue.put_nowait(Event("DELETED", _at_version(change.subject, change.version)))

    def _in_namespace(self, obj: Object) -> bool:
        return self.namespace is None or obj["metadata"].get("namespace") == self.namespace


class Store:
    """Holds objects that are never changed in place; every write is a commit of a new one."""

    def __init__(self) -> None:
        self.version = 1
        self.listeners: list[Callable[[Change], None]] = []
        self._objects: dict[StorageKey, dict[ObjectKey, Object]] = defaultdict(dict)
        self._history: deque[Change] = deque(maxlen=HISTORY)
        self._watchers: set[Watcher] = set()
        self._dependents: dict[str, set[tuple[StorageKey, ObjectKey]]] = defaultdict(set)

    def find(self, storage: StorageKey, namespace: str | None, name: str) -> Object | None:
        return self._objects[storage].get((namespace or "", name))

    def get(self, resource: Resource, namespace: str | None, name: str) -> Object:
        """Raises the 404 of a real server."""
        found = self.find(resource.storage, namespace if resource.namespaced else None, name)
        if found is None:
            raise not_found(resource, name)
        return found

    def select(self, storage: StorageKey, namespace: str | None = None, test: ObjectTest | None = None) -> list[Object]:
        """Objects by namespace and name."""
        held = self._objects[storage]
        keys = sorted(key for key in held if namespace is None or key[0] == namespace)
        return [held[key] for key in keys if test is None or test(held[key])]

    def in_namespace(self, namespace: str) -> Iterator[tuple[StorageKey, Object]]:
        for storage, held in list(self._objects.items()):
            for key, obj in list(held.items()):
                if key[0] == namespace:
                    yield storage, obj

    def dependents(self, uid: str) -> list[tuple[StorageKey, Object]]:
        """What names this uid in its ownerReferences."""
        places = list(self._dependents.get(uid, ()))
        return [(storage, self._objects[storage][key]) for storage, key in places]

    def exists(self, uid: str) -> bool:
        return any(o["metadata"]["uid"] == uid for held in self._objects.values() for o in held.values())

    def commit(self, storage: StorageKey, old: Object | None, new: Object | None) -> None:
        """Put `new` in the place of `old`; gives it its resourceVersion and tells watchers and listeners."""
        self.version += 1
        change = Change(self.version, storage, old, new)
        key = key_of(change.subject)
        self._reindex(storage, key, old, new)
        if new is None:
            self._objects[storage].pop(key, None)
        else:
            new["metadata"]["resourceVersion"] = str(self.version)
            self._objects[storage][key] = new
        self._history.append(change)
        for watcher in list(self._watchers):
            watcher.offer(change)
        for listener in self.listeners:
            listener(change)

    def watch(self, watcher: Watcher, since: int | None = None) -> None:
        """Start to watch; with `since`, from the changes after that version. Raises 410 when it is too old."""
        if since is not None:
            full = len(self._history) == self._history.maxlen
            if full and since < self._history[0].version - 1:
                raise expired(str(since), self._history[0].version)
            for change in self._history:
                if change.version > since:
                    watcher.offer(change)
        self._watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)

    def _reindex(self, storage: StorageKey, key: ObjectKey, old: Object | None, new: Object | None) -> None:
        for uid in _owners(old):
            self._dependents[uid].discard((storage, key))
            if not self._dependents[uid]:
                del self._dependents[uid]
        for uid in _owners(new):
            self._dependents[uid].add((storage, key))


def _owners(obj: Object | None) -> list[str]:
    if obj is None:
        return []
    return [reference["uid"] for reference in obj["metadata"].get("ownerReferences") or [] if "uid" in reference]


def _at_version(obj: Object, version: int) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}
