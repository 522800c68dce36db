"""Taints and tolerations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterctl.sandbox.kube.machines.kinds import Obj

NOT_READY: Obj = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
UNSCHEDULABLE: Obj = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
KEEPS_AWAY = ("NoSchedule", "NoExecute")

_DAEMON_EFFECTS = {
    "node.kubernetes.io/not-ready": "NoExecute",
    "node.kubernetes.io/unreachable": "NoExecute",
    "node.kubernetes.io/disk-pressure": "NoSchedule",
    "node.kubernetes.io/memory-pressure": "NoSchedule",
    "node.kubernetes.io/pid-pressure": "NoSchedule",
    "node.kubernetes.io/unschedulable": "NoSchedule",
}


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Whether one toleration covers one taint; no key with Exists covers all, no effect covers every effect."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    exists = bool(toleration.get("operator", "Equal") == "Exists")
    if not toleration.get("key"):
        return exists
    if toleration["key"] != taint["key"]:
        return False
    return exists or str(toleration.get("value") or "") == str(taint.get("value") or "")


def untolerated(taints: Iterable[Obj], tolerations: Iterable[Obj]) -> Obj | None:
    """The first taint that keeps a pod with these tolerations off a node."""
    held = list(tolerations)
    for taint in taints:
        if taint["effect"] in KEEPS_AWAY and not any(tolerates(one, taint) for one in held):
            return taint
    return None


def daemon_tolerations(pod_spec: Obj) -> list[Obj]:
    """A DaemonSet pod's own tolerations and those its controller adds."""
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _DAEMON_EFFECTS.items()]
    if pod_spec.get("hostNetwork"):
        key = "node.kubernetes.io/network-unavailable"
        added.append({"key": key, "operator": "Exists", "effect": "NoSchedule"})
    return [*(pod_spec.get("tolerations") or []), *added]
