"""What goes when its owner or its namespace goes: a controller manager's garbage collection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.errors import StatusError
from clusterctl.sandbox.kube.api.lifecycle import FOREGROUND, Lifecycle
from clusterctl.sandbox.kube.api.options import DeleteOptions
from clusterctl.sandbox.kube.api.resources import NAMESPACES

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.objects import Object, StorageKey
    from clusterctl.sandbox.kube.api.resources import Registry
    from clusterctl.sandbox.kube.api.store import Change, Store

Later = Callable[[float, Callable[[], None]], object]  # real seconds, then the call: an event loop's call_later

DELAY_S = 0.01  # real: these controllers run beside the server, so clients see the moment before


@dataclass(frozen=True, slots=True)
class GarbageCollector:
    """Listens to the store and deletes through the lifecycle, as the background controllers do."""

    registry: Registry
    store: Store
    lifecycle: Lifecycle
    later: Later

    def on_change(self, change: Change) -> None:
        metadata = change.subject["metadata"]
        if change.new is None:
            self._on_removal(metadata)
        elif metadata.get("deletionTimestamp") and change.old and not _is_marked(change.old):
            self._on_mark(change.storage, metadata)

    def _on_removal(self, metadata: Object) -> None:
        self.later(DELAY_S, lambda: self._collect(metadata["uid"]))
        for reference in metadata.get("ownerReferences") or []:
            self.later(DELAY_S, lambda ref=reference: self._release(metadata.get("namespace"), ref))  # type: ignore[misc]
        if namespace := metadata.get("namespace"):
            holder = self.store.find(NAMESPACES, None, namespace)
            if holder is not None and _is_marked(holder):
                self.later(DELAY_S, lambda: self._finish_namespace(namespace))

    def _on_mark(self, storage: StorageKey, metadata: Object) -> None:
        if storage == NAMESPACES:
            self.later(DELAY_S, lambda: self._empty_namespace(metadata["name"]))
        elif FOREGROUND in (metadata.get("finalizers") or []):
            self.later(DELAY_S, lambda: self._collect(metadata["uid"], "Foreground"))

    def _collect(self, uid: str, propagation: str = "Background") -> None:
        """Delete the dependents of one owner that have no other living owner."""
        for storage, dependent in self.store.dependents(uid):
            others = [r["uid"] for r in dependent["metadata"]["ownerReferences"] if r.get("uid") != uid]
            if not any(self.store.exists(other) for other in others):
                self._delete(storage, dependent, propagation)

    def _release(self, namespace: str | None, reference: Object) -> None:
        """An owner deleted in the foreground goes after its last dependent."""
        found = self._owner(namespace, reference)
        if found is None or self.store.dependents(reference["uid"]):
            return
        storage, owner = found
        finalizers = owner["metadata"].get("finalizers") or []
        resource = self.registry.of_storage(storage)
        if resource is not None and FOREGROUND in finalizers:
            kept = [one for one in finalizers if one != FOREGROUND]
            metadata = {**owner["metadata"], "finalizers": kept}
            self.lifecycle.update(resource, owner, {**owner, "metadata": metadata})

    def _owner(self, namespace: str | None, reference: Object) -> tuple[StorageKey, Object] | None:
        group, _, version = reference["apiVersion"].rpartition("/")
        for resource in self.registry.groups().get(group, {}).get(version, []):
            if resource.kind == reference["kind"]:
                scope = namespace if resource.namespaced else None
                owner = self.store.find(resource.storage, scope, reference["name"])
                return (resource.storage, owner) if owner else None
        return None

    def _empty_namespace(self, name: str) -> None:
        for storage, obj in self.store.in_namespace(name):
            current = self.store.find(storage, name, obj["metadata"]["name"])
            if current is not None:
                self._delete(storage, current, "Background")
        self._finish_namespace(name)

    def _finish_namespace(self, name: str) -> None:
        holder = self.store.find(NAMESPACES, None, name)
        if holder is None or not _is_marked(holder) or any(self.store.in_namespace(name)):
            return
        resource = self.registry.builtin_kind("namespaces")
        self.lifecycle.update(resource, holder, {**holder, "spec": {"finalizers": []}})

    def _delete(self, storage: StorageKey, obj: Object, propagation: str) -> None:
        resource = self.registry.of_storage(storage)
        if resource is not None and not _is_marked(obj):
            with contextlib.suppress(StatusError):  # a webhook that refuses keeps the object, as in reality
                self.lifecycle.delete(resource, obj, DeleteOptions(propagation=propagation))


def _is_marked(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))
