"""The columns that `kubectl get` shows for built-in kinds, in kube-apiserver's names and words."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from clusterctl.sandbox.kube.api.jsonpath import values_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.sandbox.kube.api.objects import Object

NONE = "<none>"


class Columns(NamedTuple):
    """Names (a leading + is shown with -o wide only) and the cells of one object at a moment."""

    names: str
    cells: Callable[[Object, datetime], list[Any]]
    named: bool = True  # events go by what they are about, not by their names


def age(timestamp: str | None, now: datetime) -> str:
    """A duration as kubectl shows it: 90s, 5m30s, 3h, 12d."""
    if not timestamp:
        return "<unknown>"
    seconds = max(int((now - datetime.fromisoformat(timestamp)).total_seconds()), 0)
    if seconds < 120:
        return f"{seconds}s"
    if seconds < 600:
        return f"{seconds // 60}m" + (f"{seconds % 60}s" if seconds % 60 else "")
    if seconds < 10_800:
        return f"{seconds // 60}m"
    if seconds < 172_800:
        return f"{seconds // 3600}h"
    return f"{seconds // 86_400}d"


def _first(obj: Object, path: str, default: Any = 0) -> Any:
    found = values_at(obj, path)
    return found[0] if found else default


def _age(obj: Object, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _pairs(mapping: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in (mapping or {}).items()) or NONE


def _selector(obj: Object) -> str:
    return _pairs(_first(obj, ".spec.selector.matchLabels", {}))


def _images(obj: Object) -> list[str]:
    containers = _first(obj, ".spec.template.spec.containers", [])
    return [",".join(c.get("name", "") for c in containers), ",".join(c.get("image", "") for c in containers)]


def _node(obj: Object, now: datetime) -> list[Any]:
    ready = _first(obj, '.status.conditions[?(@.type=="Ready")].status', "Unknown")
    status = {"True": "Ready", "Unknown": "Unknown"}.get(ready, "NotReady")
    if (obj.get("spec") or {}).get("unschedulable"):
        status += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = ",".join(sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix)))
    info = _first(obj, ".status.nodeInfo", {})
    addresses = [
        _first(obj, f'.status.addresses[?(@.type=="{kind}")].address', NONE) for kind in ("InternalIP", "ExternalIP")
    ]
    software = [info.get(name, "<unknown>") for name in ("osImage", "kernelVersion", "containerRuntimeVersion")]
    return [status, roles or NONE, _age(obj, now), info.get("kubeletVersion", ""), *addresses, *software]


def _pod(obj: Object, now: datetime) -> list[Any]:
    statuses = _first(obj, ".status.containerStatuses", [])
    total = len(_first(obj, ".spec.containers", []))
    restarts = sum(status.get("restartCount", 0) for status in statuses)
    ready = sum(bool(status.get("ready")) for status in statuses)
    place = [_first(obj, ".status.podIP", NONE), _first(obj, ".spec.nodeName", NONE)]
    return [f"{ready}/{total}", _pod_status(obj), str(restarts), _age(obj, now), *place, NONE, NONE]


def _pod_status(obj: Object) -> str:
    """The reason of the first container that is not well, else the phase."""
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for field, prefix in (("initContainerStatuses", "Init:"), ("containerStatuses", "")):
        reasons = values_at(obj, f".status.{field}[*].state.waiting.reason")
        reasons += values_at(obj, f".status.{field}[*].state.terminated.reason")
        unwell = [reason for reason in reasons if not prefix or reason not in {"Completed", "PodInitializing"}]
        if unwell:
            return f"{prefix}{unwell[0]}"
    status = obj.get("status") or {}
    phase = status.get("reason") or status.get("phase") or "Pending"
    return "Completed" if phase == "Succeeded" else str(phase)


def _deployment(obj: Object, now: datetime) -> list[Any]:
    ready = f"{_first(obj, '.status.readyReplicas')}/{_first(obj, '.spec.replicas', 1)}"
    counts = [_first(obj, ".status.updatedReplicas"), _first(obj, ".status.availableReplicas")]
    return [ready, *counts, _age(obj, now), *_images(obj), _selector(obj)]


def _stateful_set(obj: Object, now: datetime) -> list[Any]:
    ready = f"{_first(obj, '.status.readyReplicas')}/{_first(obj, '.spec.replicas', 1)}"
    return [ready, _age(obj, now), *_images(obj)]


def _replica_set(obj: Object, now: datetime) -> list[Any]:
    counts = [_first(obj, path) for path in (".spec.replicas", ".status.replicas", ".status.readyReplicas")]
    return [*counts, _age(obj, now), *_images(obj), _selector(obj)]


def _daemon_set(obj: Object, now: datetime) -> list[Any]:
    fields = (
        "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
        "numberAvailable",
    )  # fmt: skip
    counts = [_first(obj, f".status.{name}") for name in fields]
    nodes = _pairs(_first(obj, ".spec.template.spec.nodeSelector", {}))
    return [*counts, nodes, _age(obj, now), *_images(obj), _selector(obj)]


def _job(obj: Object, now: datetime) -> list[Any]:
    conditions = _first(obj, ".status.conditions", [])
    done = next((c["type"] for c in conditions if c["status"] == "True"), "Running")
    start, end = _first(obj, ".status.startTime", None), _first(obj, ".status.completionTime", None)
    lasted = age(start, datetime.fromisoformat(end) if end else now) if start else ""
    completions = f"{_first(obj, '.status.succeeded')}/{_first(obj, '.spec.completions', 1)}"
    return [done, completions, lasted, _age(obj, now), *_images(obj), _selector(obj)]


def _service(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    outside = values_at(obj, ".status.loadBalancer.ingress[*].hostname")
    pending = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    ports = ",".join(map(_port, spec.get("ports") or [])) or NONE
    address = spec.get("clusterIP", NONE)
    selector = _pairs(spec.get("selector"))
    return [spec.get("type", ""), address, ",".join(outside) or pending, ports, _age(obj, now), selector]


def _port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _event(obj: Object, now: datetime) -> list[Any]:
    seen = obj.get("lastTimestamp") or obj.get("eventTime") or obj["metadata"].get("creationTimestamp")
    about = obj.get("involvedObject") or {}
    subject = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
    return [age(seen, now), obj.get("type", ""), obj.get("reason", ""), subject, obj.get("message", "")]


def _claim(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    modes = ",".join({"ReadWriteOnce": "RWO", "ReadWriteMany": "RWX"}.get(m, m) for m in spec.get("accessModes") or [])
    size = (status.get("capacity") or {}).get("storage", "")
    storage_class = spec.get("storageClassName", "")
    phase = status.get("phase", "")
    return [
        phase,
        spec.get("volumeName", ""),
        size,
        modes,
        storage_class,
        "<unset>",
        _age(obj, now),
        spec.get("volumeMode"),
    ]


def _storage_class(obj: Object, now: datetime) -> list[Any]:
    policy = [obj.get("provisioner"), obj.get("reclaimPolicy"), obj.get("volumeBindingMode")]
    return [*policy, bool(obj.get("allowVolumeExpansion")), _age(obj, now)]


def _count(obj: Object, *fields: str) -> int:
    return sum(len(obj.get(field) or {}) for field in fields)


PLAIN = Columns("Age", lambda obj, now: [_age(obj, now)])
_TEMPLATE = "+Containers,+Images"
COLUMNS = {
    "Node": Columns(
        "Status,Roles,Age,Version,+Internal-IP,+External-IP,+OS-Image,+Kernel-Version,+Container-Runtime", _node
    ),
    "Pod": Columns("Ready,Status,Restarts,Age,+IP,+Node,+Nominated Node,+Readiness Gates", _pod),
    "Deployment": Columns(f"Ready,Up-to-date,Available,Age,{_TEMPLATE},+Selector", _deployment),
    "StatefulSet": Columns(f"Ready,Age,{_TEMPLATE}", _stateful_set),
    "ReplicaSet": Columns(f"Desired,Current,Ready,Age,{_TEMPLATE},+Selector", _replica_set),
    "DaemonSet": Columns(
        f"Desired,Current,Ready,Up-to-date,Available,Node Selector,Age,{_TEMPLATE},+Selector", _daemon_set
    ),
    "Job": Columns(f"Status,Completions,Duration,Age,{_TEMPLATE},+Selector", _job),
    "Service": Columns("Type,Cluster-IP,External-IP,Port(s),Age,+Selector", _service),
    "Namespace": Columns("Status,Age", lambda o, now: [_first(o, ".status.phase", ""), _age(o, now)]),
    "ConfigMap": Columns("Data,Age", lambda o, now: [_count(o, "data", "binaryData"), _age(o, now)]),
    "Secret": Columns("Type,Data,Age", lambda o, now: [o.get("type", ""), _count(o, "data"), _age(o, now)]),
    "Event": Columns("Last Seen,Type,Reason,Object,Message", _event, named=False),
    "PersistentVolumeClaim": Columns(
        "Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,+VolumeMode", _claim
    ),
    "StorageClass": Columns("Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age", _storage_class),
    "CustomResourceDefinition": Columns("Created At", lambda o, _: [o["metadata"].get("creationTimestamp")]),
}
