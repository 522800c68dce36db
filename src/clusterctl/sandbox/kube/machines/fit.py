"""Does a pod fit a node? The scheduler's filters and the DaemonSet controller's, with the scheduler's words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import affinity, resources, taints
from clusterctl.sandbox.kube.machines.kinds import labels_of, selects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clusterctl.sandbox.kube.machines.kinds import Obj

NO_NODES = "no nodes available to schedule pods"
AFFINITY_REASON = "node(s) didn't match Pod's node affinity/selector"


def daemon_fits(pod_spec: Obj, node: Obj) -> bool:
    """Whether a DaemonSet wants a pod on this node; resources do not matter for the wish."""
    if pod_spec.get("nodeName") not in (None, "", node["metadata"]["name"]):
        return False
    held = taints.daemon_tolerations(pod_spec)
    return affinity.matches_node(pod_spec, node) and not taints.untolerated(node_taints(node), held)


def node_taints(node: Obj) -> list[Obj]:
    return (node.get("spec") or {}).get("taints") or []


def reasons_against(pod: Obj, node: Obj, free: resources.Amounts) -> list[str]:
    """Why the pod cannot run on the node, by the first filter that refuses; empty when it fits."""
    spec, tolerations = pod["spec"], pod["spec"].get("tolerations") or []
    cordoned = (node.get("spec") or {}).get("unschedulable")
    if cordoned and taints.untolerated([taints.UNSCHEDULABLE], tolerations):
        return ["node(s) were unschedulable"]
    taint = taints.untolerated(node_taints(node), tolerations)
    if taint:
        value = f": {taint['value']}" if taint.get("value") else ": "
        return [f"node(s) had untolerated taint {{{taint['key']}{value}}}"]
    if not affinity.matches_node(spec, node):
        return [AFFINITY_REASON]
    return resources.shortages(resources.pod_requests(pod), free)


def explain(refusals: Sequence[Sequence[str]]) -> str:
    """One line over all nodes, in the scheduler's form: counts of each reason, sorted as text."""
    if not refusals:
        return NO_NODES
    counts = Counter(reason for reasons in refusals for reason in reasons)
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    nodes = len(refusals)
    starved = sum(all(one.startswith(("Insufficient", "Too many")) for one in reasons) for reasons in refusals)
    victims = f"{starved} No preemption victims found for incoming pod"
    hopeless = f"{nodes - starved} Preemption is not helpful for scheduling"
    verdicts = ", ".join([victims] * (starved > 0) + [hopeless] * (nodes > starved))
    return f"0/{nodes} nodes are available: {listed}. preemption: 0/{nodes} nodes are available: {verdicts}."


def anti_affinity_refuses(pod: Obj, neighbours: Iterable[Obj]) -> bool:
    """Whether the pod's required anti-affinity by hostname forbids a node that runs these pods."""
    wanted = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    terms = wanted.get("requiredDuringSchedulingIgnoredDuringExecution") or []
    namespace = pod["metadata"].get("namespace")
    near = [labels_of(one) for one in neighbours if one["metadata"].get("namespace") == namespace]
    by_host = [term for term in terms if term.get("topologyKey") == "kubernetes.io/hostname"]
    return any(selects(term.get("labelSelector"), labels) for term in by_host for labels in near)


def best_node(
    names: Sequence[str], load: Mapping[str, int], siblings: Mapping[str, int], prefer: Callable[[str], float]
) -> str:
    """The node to take: most preferred, then fewest pods of the same owner, fewest pods at all, then by name."""
    return min(names, key=lambda name: (-prefer(name), siblings.get(name, 0), load.get(name, 0), name))
