"""Creating, updating and deleting: what an API server does between a request and the store."""

from __future__ import annotations

import copy
import random
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api import plugins, validation
from clusterctl.sandbox.kube.api.defaults import fill_defaults
from clusterctl.sandbox.kube.api.errors import (
    already_exists,
    bad_request,
    forbidden,
    invalid,
    modified,
    not_found,
    precondition_failed,
    required,
)
from clusterctl.sandbox.kube.api.options import DeleteOptions, WriteOptions
from clusterctl.sandbox.kube.api.patching.apply import Manager, managed_after
from clusterctl.sandbox.kube.api.patching.structure import structure_of
from clusterctl.sandbox.kube.api.resources import NAMESPACES, PODS
from clusterctl.sandbox.kube.api.schema import settle, violations

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from clusterctl.sandbox.kube.api.admission import Admission
    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Registry, Resource
    from clusterctl.sandbox.kube.api.store import Store

_GENERATED = "bcdfghjklmnpqrstvwxz2456789"  # apimachinery's alphabet: no vowels, no words
_SYSTEM_METADATA = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "name", "namespace",
    "resourceVersion", "uid",
)  # fmt: skip
_FINISHED = frozenset(["Failed", "Succeeded"])
_NULLS_MATTER = frozenset(["ControllerRevision", "CustomResourceDefinition"])
_STATUS_WITH_METADATA = frozenset(["Node", "Pod"])
FOREGROUND = "foregroundDeletion"


def rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Deletion:
    """The object as it was or is, and whether it is gone."""

    object: Object
    gone: bool


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The writes; reads go to the store directly."""

    registry: Registry
    store: Store
    admission: Admission
    now: Callable[[], datetime]

    def create(
        self, resource: Resource, namespace: str | None, given: Object, options: WriteOptions | None = None
    ) -> Object:
        """Raises StatusError: 404 no namespace, 403 terminating, 409 exists, 422 invalid, 500 webhook."""
        options = options or WriteOptions()
        obj = copy.deepcopy(given)
        self._identify(resource, namespace, obj)
        metadata = obj["metadata"]
        if self.store.find(resource.storage, metadata.get("namespace"), metadata["name"]) is not None:
            raise already_exists(resource, metadata["name"])
        if resource.counts_generations:
            metadata["generation"] = 1
        if "status" in resource.subresources and resource.kind != "Node":
            obj.pop("status", None)
        obj = self._settled(resource, obj, None)
        self._track(resource, None, obj, options)
        self.admission.check("CREATE", resource, obj)
        if not options.dry_run:
            self.store.commit(resource.storage, None, obj)
        return obj

    def update(self, resource: Resource, old: Object, given: Object, options: WriteOptions | None = None) -> Object:
        """Put `given` in the place of `old`; the same object comes back when nothing changes."""
        options = options or WriteOptions()
        new = _carried_over(resource, old, copy.deepcopy(given), options.subresource)
        new = self._settled(resource, new, old)
        self._track(resource, old, new, options)
        if "generation" in old["metadata"] and _desired(resource, old) != _desired(resource, new):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        if new == old:
            return old
        self.admission.check("UPDATE", resource, new, options.subresource)
        if not options.dry_run:
            self._store_or_finish(resource, old, new)
        return new

    def delete(self, resource: Resource, obj: Object, options: DeleteOptions | None = None) -> Deletion:
        """Remove, or mark for deletion where finalizers, a kubelet or a namespace's contents stand before it."""
        options = options or DeleteOptions()
        self._check_preconditions(resource, obj, options)
        self.admission.check("DELETE", resource, obj)
        if options.dry_run:
            return Deletion(obj, gone=True)
        if options.propagation == "Orphan":
            self._orphan_dependents(obj)
        grace = _grace(resource, obj, options)
        held = bool(obj["metadata"].get("finalizers")) or bool((obj.get("spec") or {}).get("finalizers"))
        foreground = options.propagation == "Foreground" and bool(self.store.dependents(obj["metadata"]["uid"]))
        if not (grace or held or foreground):
            self.store.commit(resource.storage, obj, None)
            return Deletion(obj, gone=True)
        marked = self._marked(obj, grace, foreground=foreground)
        if marked != obj:
            self.store.commit(resource.storage, obj, marked)
        return Deletion(marked, gone=False)

    def timestamp(self) -> str:
        return rfc3339(self.now())

    def _identify(self, resource: Resource, namespace: str | None, obj: Object) -> None:
        metadata = obj.setdefault("metadata", {})
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(random.choices(_GENERATED, k=5))  # noqa: S311
        name = metadata.get("name")
        if not name:
            raise invalid(resource, "", [required("metadata.name", "name or generateName is required")])
        self._place(resource, namespace, metadata)
        if problems := validation.name_problems(resource, name):
            raise invalid(resource, name, problems)
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generation"):
            metadata.pop(field, None)
        metadata.update(uid=str(uuid.uuid4()), creationTimestamp=self.timestamp())
        obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind

    def _place(self, resource: Resource, namespace: str | None, metadata: Object) -> None:
        if not resource.namespaced:
            metadata.pop("namespace", None)
            return
        if (metadata.get("namespace") or namespace) != namespace or not namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = namespace
        holder = self.store.find(NAMESPACES, None, namespace)
        if holder is None:
            raise not_found(self.registry.builtin_kind("namespaces"), namespace)
        if holder["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(resource, metadata["name"], why)

    def _settled(self, resource: Resource, obj: Object, old: Object | None) -> Object:
        """Defaults and validation. Raises 422 with every field that is wrong."""
        name = obj["metadata"]["name"]
        if resource.definition is not None:
            obj = settle(obj, resource.schema)
            problems = violations(obj, resource.schema)
        else:
            obj = obj if resource.kind in _NULLS_MATTER else _without_nulls(obj)
            plugins.before_defaults(self.store, resource, obj, old)
            fill_defaults(resource.kind, obj)
            problems = validation.problems(resource, obj)
            problems += validation.change_problems(resource.kind, old, obj) if old else []
        if problems:
            raise invalid(resource, name, problems)
        return obj

    def _track(self, resource: Resource, old: Object | None, new: Object, options: WriteOptions) -> None:
        if options.applies:
            return
        manager = Manager(options.manager, "Update", resource.api_version, options.subresource)
        fields = managed_after(old, new, structure_of(resource), manager, self.timestamp())
        new["metadata"]["managedFields"] = fields

    def _store_or_finish(self, resource: Resource, old: Object, new: Object) -> None:
        """The last finalizer of a deleted object takes the object with it."""
        metadata = new["metadata"]
        waits = metadata.get("deletionGracePeriodSeconds") or (new.get("spec") or {}).get("finalizers")
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers") and not waits:
            self.store.commit(resource.storage, old, None)
        else:
            self.store.commit(resource.storage, old, new)

    def _check_preconditions(self, resource: Resource, obj: Object, options: DeleteOptions) -> None:
        metadata = obj["metadata"]
        if options.uid and options.uid != metadata["uid"]:
            raise precondition_failed(resource, metadata["name"], options.uid, metadata["uid"])
        if options.resource_version and options.resource_version != metadata["resourceVersion"]:
            raise modified(resource, metadata["name"])

    def _marked(self, obj: Object, grace: int, *, foreground: bool) -> Object:
        metadata = dict(obj["metadata"])
        if foreground and FOREGROUND not in (metadata.get("finalizers") or []):
            metadata["finalizers"] = [*(metadata.get("finalizers") or []), FOREGROUND]
        if grace < metadata.get("deletionGracePeriodSeconds", grace + 1):
            metadata["deletionTimestamp"] = rfc3339(self.now() + timedelta(seconds=grace))
            metadata["deletionGracePeriodSeconds"] = grace
        phase = {"status": {**(obj.get("status") or {}), "phase": "Terminating"}} if obj["kind"] == "Namespace" else {}
        return {**obj, "metadata": metadata, **phase}

    def _orphan_dependents(self, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for storage, dependent in self.store.dependents(uid):
            references = [r for r in dependent["metadata"]["ownerReferences"] if r.get("uid") != uid]
            metadata = {**dependent["metadata"], "ownerReferences": references}
            self.store.commit(storage, dependent, {**dependent, "metadata": metadata})


def _carried_over(resource: Resource, old: Object, new: Object, subresource: str) -> Object:
    """What a write cannot change: identity, and status or everything else, by the subresource written to."""
    before, metadata = old["metadata"], new.setdefault("metadata", {})
    if metadata.get("resourceVersion") not in (None, "", before["resourceVersion"]):
        raise modified(resource, before["name"])
    if metadata.get("uid") not in (None, before["uid"]):
        raise precondition_failed(resource, before["name"], metadata["uid"], before["uid"])
    metadata = {name: value for name, value in metadata.items() if name not in _SYSTEM_METADATA}
    metadata |= {name: before[name] for name in _SYSTEM_METADATA if name in before}
    new |= {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    if subresource == "status":
        return _with_status(resource, old, new)
    if "status" in resource.subresources:
        new.pop("status", None)
        return {**new, "status": old["status"]} if "status" in old else new
    return new


def _with_status(resource: Resource, old: Object, new: Object) -> Object:
    managed = new["metadata"].get("managedFields", old["metadata"].get("managedFields"))
    metadata = new["metadata"] if resource.kind in _STATUS_WITH_METADATA else dict(old["metadata"])
    if managed is not None:
        metadata["managedFields"] = managed
    kept = {name: value for name, value in old.items() if name != "status"}
    status = {"status": new["status"]} if "status" in new else {}
    return copy.deepcopy({**kept, "metadata": metadata, **status})


def _desired(resource: Resource, obj: Object) -> Object:
    """What a generation counts: all but metadata, and status where it has its own endpoint."""
    ignored = {"metadata", "apiVersion"} | ({"status"} if "status" in resource.subresources else set())
    return {name: value for name, value in obj.items() if name not in ignored}


def _grace(resource: Resource, obj: Object, options: DeleteOptions) -> int:
    """Seconds a kubelet has; 0 for what has none."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if resource.storage != PODS or not spec.get("nodeName") or status.get("phase") in _FINISHED:
        return 0
    if options.grace_period_s is not None:
        return options.grace_period_s
    period = spec.get("terminationGracePeriodSeconds")
    return 30 if period is None else int(period)


def _without_nulls(value: Any) -> Any:
    """Built-in types have no null: it means that the field is absent."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
