"""The kinds that simulated machines read and write, and what they all have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
Key = tuple[str, str]  # namespace ("" for cluster-scoped) and name


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of the Kubernetes API, with the path it is served at."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)


NODE = Kind("", "v1", "nodes", "Node", namespaced=False)
NAMESPACE = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
POD = Kind("", "v1", "pods", "Pod")
SERVICE = Kind("", "v1", "services", "Service")
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap")
SECRET = Kind("", "v1", "secrets", "Secret")
ENDPOINTS = Kind("", "v1", "endpoints", "Endpoints")
EVENT = Kind("", "v1", "events", "Event")
PVC = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PV = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment")
REPLICA_SET = Kind("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SET = Kind("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SET = Kind("apps", "v1", "daemonsets", "DaemonSet")
JOB = Kind("batch", "v1", "jobs", "Job")
ENDPOINT_SLICE = Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
STORAGE_CLASS = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CSI_DRIVER = Kind("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False)
VALIDATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration",
    namespaced=False,
)  # fmt: skip
MUTATING_WEBHOOKS = Kind(
    "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration",
    namespaced=False,
)  # fmt: skip
CUSTOM_RESOURCE = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


def key_of(obj: Obj) -> Key:
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def labels_of(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def is_deleting(obj: Obj) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def controller_of(obj: Obj) -> Obj | None:
    """The owner that controls an object, as its owner references say."""
    refs = obj["metadata"].get("ownerReferences") or []
    return next((ref for ref in refs if ref.get("controller")), None)


def owner_reference(owner: Obj) -> Obj:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition(kind: str, status: str, reason: str, message: str, at: str) -> Obj:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def set_condition(conditions: list[Obj], fresh: Obj) -> list[Obj]:
    """Replace the condition of the same type; its transition time moves only when its status does."""
    old = next((one for one in conditions if one["type"] == fresh["type"]), None)
    if old and old["status"] == fresh["status"]:
        kept = {"lastTransitionTime": old.get("lastTransitionTime", fresh["lastTransitionTime"])}
        fresh = {**fresh, **kept}
        if {**old, "lastUpdateTime": None} == {**fresh, "lastUpdateTime": None}:
            fresh = old
    if old is None:
        return [*conditions, fresh]
    return [fresh if one is old else one for one in conditions]


def condition_is(obj: Obj, kind: str, status: str = "True") -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(one["type"] == kind and one["status"] == status for one in conditions)


def is_ready(pod: Obj) -> bool:
    return condition_is(pod, "Ready") and not is_deleting(pod)


def is_finished(pod: Obj) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def selects(selector: Obj | None, labels: dict[str, str]) -> bool:
    """Whether a label selector (matchLabels, matchExpressions) picks these labels; none picks nothing."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression_holds(one, labels) for one in selector.get("matchExpressions") or [])


def _expression_holds(expression: Obj, labels: dict[str, str]) -> bool:
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    return bool((key in labels) == (operator == "Exists"))
