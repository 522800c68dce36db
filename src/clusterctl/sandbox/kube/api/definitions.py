"""CustomResourceDefinitions: refused, established after a moment, and removed after their last object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.resources import CRDS

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.api.garbage import Later
    from clusterctl.sandbox.kube.api.lifecycle import Lifecycle
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Registry
    from clusterctl.sandbox.kube.api.store import Change, Store

ESTABLISHED_AFTER_S = 0.15  # real seconds: a client that does not wait for Established must meet the 404
_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class Definitions:
    """Listens to the store; serves what is established."""

    registry: Registry
    store: Store
    lifecycle: Lifecycle
    later: Later

    def on_change(self, change: Change) -> None:
        if change.storage == CRDS:
            self._on_definition(change)
        elif change.new is None:
            self.later(0, lambda: self._finish_for(change.storage))

    def _on_definition(self, change: Change) -> None:
        name = change.subject["metadata"]["name"]
        if change.new is None:
            self.registry.stop_serving(change.subject)
        elif change.old is None:
            self.later(ESTABLISHED_AFTER_S, lambda: self._establish(name))
        elif change.new["metadata"].get("deletionTimestamp"):
            self.later(0, lambda: self._remove(name))
        elif change.new["spec"] != change.old["spec"] and _is_established(change.new):
            self.registry.serve(change.new)
            self.later(0, lambda: self._establish(name))

    def _establish(self, name: str) -> None:
        crd = self.store.find(CRDS, None, name)
        if crd is None or crd["metadata"].get("deletionTimestamp"):
            return
        finalizers = crd["metadata"].get("finalizers") or []
        metadata = {**crd["metadata"], "finalizers": list(dict.fromkeys([*finalizers, _CLEANUP]))}
        established = {**crd, "metadata": metadata, "status": self._status(crd)}
        self.registry.serve(established)
        if established != crd:
            self.store.commit(CRDS, crd, established)

    def _status(self, crd: Object) -> Object:
        spec, before = crd["spec"], crd.get("status") or {}
        now = self.lifecycle.timestamp()
        wanted = (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
        conditions = [
            {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
            for kind, reason, message in wanted
        ]
        return {
            "acceptedNames": spec["names"],
            "storedVersions": [v["name"] for v in spec["versions"] if v.get("storage")],
            "conditions": before.get("conditions") or conditions,
        }

    def _remove(self, name: str) -> None:
        """Delete the objects first; those with finalizers hold the definition up, as they do in reality."""
        crd = self.store.find(CRDS, None, name)
        if crd is None:
            return
        storage = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        resource = self.registry.of_storage(storage)
        for obj in self.store.select(storage):
            if resource is not None and not obj["metadata"].get("deletionTimestamp"):
                self.lifecycle.delete(resource, obj)
        self._finish(crd)

    def _finish_for(self, storage: tuple[str, str]) -> None:
        crd = self.store.find(CRDS, None, f"{storage[1]}.{storage[0]}")
        if crd is not None and crd["metadata"].get("deletionTimestamp"):
            self._finish(crd)

    def _finish(self, crd: Object) -> None:
        storage = (crd["spec"]["group"], crd["spec"]["names"]["plural"])
        finalizers = crd["metadata"].get("finalizers") or []
        if self.store.select(storage) or _CLEANUP not in finalizers:
            return
        metadata = {**crd["metadata"], "finalizers": [f for f in finalizers if f != _CLEANUP]}
        resource = self.registry.builtin_kind("customresourcedefinitions", CRDS[0])
        self.lifecycle.update(resource, crd, {**crd, "metadata": metadata})


def _is_established(crd: Object) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
