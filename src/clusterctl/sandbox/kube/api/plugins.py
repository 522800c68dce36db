"""The admission plugins of a kube-apiserver that change or refuse built-in objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.errors import forbidden
from clusterctl.sandbox.kube.api.resources import PODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.resources import Resource
    from clusterctl.sandbox.kube.api.store import Store

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_HEADLESS = "None"


def before_defaults(store: Store, resource: Resource, obj: Object, old: Object | None) -> None:
    """Fill in what depends on other objects, in place. Raises 403 where an object it needs is missing."""
    if resource.kind == "Service":
        _allocate(store, obj, old)
    elif resource.kind == "PersistentVolumeClaim" and old is None:
        _default_storage_class(store, obj)
    elif resource.storage == PODS and old is None:
        _service_account(store, resource, obj)
        _priority(store, resource, obj)


def _allocate(store: Store, service: Object, old: Object | None) -> None:
    """Cluster IPs from EKS's 10.100.0.0/16, node ports from 30000; an update keeps what it does not name."""
    spec = service.setdefault("spec", {})
    before = (old or {}).get("spec") or {}
    if spec.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP"):
        spec["clusterIP"] = before.get("clusterIP") or _free_address(store)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec.get("type") in {"NodePort", "LoadBalancer"}:
        _node_ports(store, spec, before)


def _free_address(store: Store) -> str:
    taken = {(s.get("spec") or {}).get("clusterIP") for s in store.select(("", "services"))}
    return next(ip for ip in _addresses() if ip not in taken)


def _addresses() -> Iterator[str]:
    for third in range(256):
        for last in range(1, 255):
            yield f"10.100.{third}.{last}"


def _node_ports(store: Store, spec: Object, before: Object) -> None:
    kept = {port.get("port"): port.get("nodePort") for port in before.get("ports") or []}
    services = store.select(("", "services"))
    taken = {p.get("nodePort") for s in services for p in (s.get("spec") or {}).get("ports") or []}
    free = (number for number in range(30000, 32768) if number not in taken)
    for port in spec.get("ports") or []:
        if not port.get("nodePort"):
            port["nodePort"] = kept.get(port.get("port")) or next(free)


def _default_storage_class(store: Store, claim: Object) -> None:
    spec = claim.setdefault("spec", {})
    if "storageClassName" in spec:
        return
    for one in store.select(("storage.k8s.io", "storageclasses")):
        if (one["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
            spec["storageClassName"] = one["metadata"]["name"]


def _service_account(store: Store, resource: Resource, pod: Object) -> None:
    spec, metadata = pod.get("spec") or {}, pod["metadata"]
    account = spec.get("serviceAccountName") or "default"
    if store.find(("", "serviceaccounts"), metadata["namespace"], account) is None:
        where = f"{metadata['namespace']}/{account}"
        why = f'error looking up service account {where}: serviceaccount "{account}" not found'
        raise forbidden(resource, metadata["name"], why)


def _priority(store: Store, resource: Resource, pod: Object) -> None:
    spec = pod.setdefault("spec", {})
    if not (name := spec.get("priorityClassName")):
        return
    found = store.find(("scheduling.k8s.io", "priorityclasses"), None, name)
    if found is None:
        why = f"no PriorityClass with name {name} was found"
        raise forbidden(resource, pod["metadata"]["name"], why)
    spec["priority"] = found["value"]
    spec.setdefault("preemptionPolicy", found.get("preemptionPolicy", "PreemptLowerPriority"))
