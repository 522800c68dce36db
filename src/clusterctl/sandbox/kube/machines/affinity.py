"""nodeSelector and required node affinity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.kinds import labels_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.kube.machines.kinds import Obj


def matches_node(pod_spec: Obj, node: Obj) -> bool:
    """Whether a node satisfies both the nodeSelector and the required node affinity (terms are ORed)."""
    labels = labels_of(node)
    if any(labels.get(key) != value for key, value in (pod_spec.get("nodeSelector") or {}).items()):
        return False
    required = required_terms(pod_spec)
    return required is None or any(_term_matches(term, node) for term in required)


def required_terms(pod_spec: Obj) -> list[Obj] | None:
    """The ORed terms of the required node affinity; None when there is none."""
    node_affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else required.get("nodeSelectorTerms") or []


def _term_matches(term: Obj, node: Obj) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False  # an empty term matches nothing
    by_field = {"metadata.name": node["metadata"]["name"]}
    return all(_holds(one, labels_of(node)) for one in expressions) and all(_holds(one, by_field) for one in fields)


def _holds(requirement: Obj, labels: Mapping[str, str]) -> bool:
    key, operator, values = requirement["key"], requirement["operator"], requirement.get("values") or []
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists" | "DoesNotExist":
            return bool((key in labels) == (operator == "Exists"))
        case "Gt" | "Lt":
            return _compares(operator, labels.get(key), values)
    return False


def _compares(operator: str, label: str | None, values: list[str]) -> bool:
    try:
        have, bound = int(label or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return have > bound if operator == "Gt" else have < bound


def pinned_to(pod_spec: Obj, node_name: str) -> Obj:
    """The affinity of a DaemonSet's pod for one node: its own terms, each with the node's name."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    affinity = dict(pod_spec.get("affinity") or {})
    terms = [{**term, "matchFields": [field]} for term in required_terms(pod_spec) or [{}]]
    node_affinity = dict(affinity.get("nodeAffinity") or {})
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return {**affinity, "nodeAffinity": node_affinity}


def preference(pod_spec: Obj, node: Obj) -> int:
    """The weight of the preferred node affinity terms that a node satisfies."""
    node_affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    preferred = node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    return sum(int(one["weight"]) for one in preferred if _term_matches(one["preference"], node))


def volume_allows(volume: Obj, node: Obj) -> bool:
    """Whether a persistent volume's node affinity lets it be used on a node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or any(_term_matches(term, node) for term in required.get("nodeSelectorTerms") or [])
