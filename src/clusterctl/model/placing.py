"""Whether a pod may land on a node, as the scheduler and the DaemonSet controller decide it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from clusterctl.model.verification import NodeFacts

_GIVEN_TO_DAEMONSETS = "node.kubernetes.io/"  # not-ready, unschedulable, memory-pressure …: always tolerated by them


class Misfit(Enum):
    """What keeps a pod away from a node."""

    LABEL = "label"
    TAINT = "taint"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why a pod does not fit: the label or taint by its key, and what was wanted of it."""

    misfit: Misfit
    key: str
    message: str


def obstacles(pod_spec: Mapping[str, Any], node: NodeFacts) -> tuple[Obstacle, ...]:
    """All that keeps a DaemonSet's pod away from a node; empty where it fits."""
    return (
        *_by_selector(pod_spec.get("nodeSelector") or {}, node),
        *_by_affinity(pod_spec.get("affinity") or {}, node),
        *_by_taints(pod_spec.get("tolerations") or (), node),
    )


def _by_selector(selector: Mapping[str, str], node: NodeFacts) -> Iterable[Obstacle]:
    for key, value in selector.items():
        if node.labels.get(key) != value:
            yield Obstacle(Misfit.LABEL, key, f"label {key}={value}")


def _by_affinity(affinity: Mapping[str, Any], node: NodeFacts) -> Iterable[Obstacle]:
    required = (affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or ()
    failing = [[one for one in term.get("matchExpressions") or () if not _holds(one, node)] for term in terms]
    if failing and all(failing):
        yield from (Obstacle(Misfit.LABEL, one["key"], _wanted(one)) for term in failing for one in term)


def _holds(expression: Mapping[str, Any], node: NodeFacts) -> bool:
    key, operator, values = expression["key"], expression["operator"], list(expression.get("values") or ())
    have = node.labels.get(key)
    match operator:
        case "In":
            return have in values
        case "NotIn":
            return have not in values
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
    if have is None or not have.lstrip("-").isdecimal():
        return False
    return int(have) > int(values[0]) if operator == "Gt" else int(have) < int(values[0])


def _wanted(expression: Mapping[str, Any]) -> str:
    values = list(expression.get("values") or ())
    listed = ", ".join(values[:3]) + (f" and {len(values) - 3} more" if len(values) > 3 else "")
    return f"label {expression['key']} {expression['operator']} {listed}".rstrip()


def _by_taints(tolerations: Iterable[Mapping[str, Any]], node: NodeFacts) -> Iterable[Obstacle]:
    given = tuple(tolerations)
    for key, value, effect in node.taints:
        harmless = effect == "PreferNoSchedule" or key.startswith(_GIVEN_TO_DAEMONSETS)
        if not harmless and not any(_tolerates(one, key, value, effect) for one in given):
            yield Obstacle(Misfit.TAINT, key, f"taint {key}={value}:{effect}")


def _tolerates(toleration: Mapping[str, Any], key: str, value: str, effect: str) -> bool:
    if toleration.get("effect") not in (None, "", effect):
        return False
    exists = bool(toleration.get("operator", "Equal") == "Exists")
    if not toleration.get("key"):
        return exists
    matches = exists or (toleration.get("value") or "") == value
    return bool(toleration["key"] == key) and matches
