"""What the API server fills in on built-in kinds."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.sandbox.kube.api.objects import Object

    Fill = Callable[[Object], None]

_ROLLING = {"type": "RollingUpdate"}


def fill_defaults(kind: str, obj: Object) -> None:
    """Fill in defaults in place; the object is the caller's own copy."""
    if (fill := _FILLERS.get(kind)) is not None:
        fill(obj)
    if (pod := pod_spec(kind, obj)) is not None:
        _pod(pod, restart="Always" if kind != "Job" else None)


def pod_spec(kind: str, obj: Object) -> Object | None:
    """The pod specification in a pod or in the template of a workload."""
    spec = obj.get("spec")
    if kind != "Pod" and isinstance(spec, dict):
        if kind == "CronJob":
            spec = (spec.get("jobTemplate") or {}).get("spec") or {}
        spec = (spec.get("template") or {}).get("spec")
    return spec if isinstance(spec, dict) and isinstance(spec.get("containers"), list) else None


def _set(target: Object, **values: Any) -> None:
    for name, value in values.items():
        target.setdefault(name, value)


def _namespace(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    obj.setdefault("status", {}).setdefault("phase", "Active")
    labels = obj["metadata"].get("labels") or {}
    obj["metadata"]["labels"] = {"kubernetes.io/metadata.name": obj["metadata"]["name"], **labels}


def _secret(obj: Object) -> None:
    plain = obj.pop("stringData", None) or {}
    if plain:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    _set(obj, type="Opaque")


def _service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        _set(spec, internalTrafficPolicy="Cluster", ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    if spec["type"] in {"LoadBalancer", "NodePort"}:
        _set(spec, externalTrafficPolicy="Cluster")
    for port in spec.get("ports") or []:
        _set(port, protocol="TCP", targetPort=port.get("port"))
    obj.setdefault("status", {}).setdefault("loadBalancer", {})


def _deployment(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", dict(_ROLLING))
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        _set(rolling, maxSurge="25%", maxUnavailable="25%")


def _replica_set(obj: Object) -> None:
    _set(obj.setdefault("spec", {}), replicas=1)


def _daemon_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, revisionHistoryLimit=10)
    strategy = spec.setdefault("updateStrategy", dict(_ROLLING))
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), maxSurge=0, maxUnavailable=1)


def _stateful_set(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    strategy = spec.setdefault("updateStrategy", dict(_ROLLING))
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        _set(strategy.setdefault("rollingUpdate", {}), partition=0)
    _set(spec, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"})


def _job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        _set(spec, completions=1)
    _set(spec, parallelism=1, backoffLimit=6, completionMode="NonIndexed", suspend=False)
    _set(spec, podReplacementPolicy="TerminatingOrFailed")
    uid, name = obj["metadata"].get("uid"), obj["metadata"].get("name")
    if uid and not spec.get("manualSelector"):
        _set(spec, selector={"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
        metadata = spec.setdefault("template", {}).setdefault("metadata", {})
        names = {"controller-uid": uid, "job-name": name}
        owned = {f"batch.kubernetes.io/{key}": value for key, value in names.items()}
        metadata["labels"] = {**(metadata.get("labels") or {}), **names, **owned}


def _cron_job(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    _set(spec, concurrencyPolicy="Allow", suspend=False)
    _set(spec, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)


def _pod_object(obj: Object) -> None:
    obj.setdefault("status", {}).setdefault("phase", "Pending")
    spec = obj.setdefault("spec", {})
    _set(spec, preemptionPolicy="PreemptLowerPriority", priority=0, enableServiceLinks=True)
    account = spec.setdefault("serviceAccountName", "default")
    _set(spec, serviceAccount=account)
    _set(spec, tolerations=[])
    held = {toleration.get("key") for toleration in spec["tolerations"]}
    for condition in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{condition}"
        if key not in held and not any(t.get("operator") == "Exists" and not t.get("key") for t in spec["tolerations"]):
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            spec["tolerations"] = [*spec["tolerations"], toleration]


def _claim(obj: Object) -> None:
    _set(obj.setdefault("spec", {}), volumeMode="Filesystem")
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _storage_class(obj: Object) -> None:
    _set(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _webhooks(obj: Object) -> None:
    for webhook in obj.get("webhooks") or []:
        _set(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
        _set(webhook, namespaceSelector={}, objectSelector={})
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            _set(service, port=443)


def _definition(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    names = spec.get("names") or {}
    if names.get("kind"):
        _set(names, singular=names["kind"].lower(), listKind=f"{names['kind']}List")
    _set(spec, conversion={"strategy": "None"})


_FILLERS: dict[str, Fill] = {
    "CronJob": _cron_job,
    "CustomResourceDefinition": _definition,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Job": _job,
    "MutatingWebhookConfiguration": _webhooks,
    "Namespace": _namespace,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod_object,
    "ReplicaSet": _replica_set,
    "Secret": _secret,
    "Service": _service,
    "StatefulSet": _stateful_set,
    "StorageClass": _storage_class,
    "ValidatingWebhookConfiguration": _webhooks,
}


def _pod(spec: Object, *, restart: str | None) -> None:
    if restart:
        _set(spec, restartPolicy=restart)
    _set(spec, dnsPolicy="ClusterFirst", schedulerName="default-scheduler", securityContext={})
    _set(spec, terminationGracePeriodSeconds=30)
    for container in [*spec["containers"], *(spec.get("initContainers") or [])]:
        if isinstance(container, dict):
            _container(container)


def _container(container: Object) -> None:
    image = container.get("image") or ""
    tag = image.rpartition("/")[2].partition(":")[2]
    pinned = "@" in image or tag not in {"", "latest"}
    _set(container, imagePullPolicy="IfNotPresent" if pinned else "Always", resources={})
    _set(container, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
    _requests(container)
    for port in container.get("ports") or []:
        _set(port, protocol="TCP")


def _requests(container: Object) -> None:
    """A limit without a request is a request as well."""
    limits = (container.get("resources") or {}).get("limits") or {}
    if limits:
        container["resources"]["requests"] = {**limits, **(container["resources"].get("requests") or {})}
