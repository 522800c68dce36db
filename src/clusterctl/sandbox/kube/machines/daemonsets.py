"""DaemonSets: one pod on each node that fits, and none, silently, where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import affinity, fit, taints
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    DAEMON_SET,
    NODE,
    POD,
    is_deleting,
    is_finished,
    is_ready,
    labels_of,
)
from clusterctl.sandbox.kube.machines.templates import REVISION_LABEL, PodNames, pod_from, revision_of, share

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.faults import FaultBook
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

_LOOK_AGAIN_S = 60.0


class DaemonSets(Controller):
    """Keeps the pods of a DaemonSet in step with the nodes that its affinity and tolerations allow."""

    kind = DAEMON_SET
    owns = (POD,)
    reads = (NODE,)

    def __init__(self, cluster: Cluster, faults: FaultBook) -> None:
        super().__init__(cluster)
        self._faults = faults
        self._names = PodNames()

    def subscribe(self) -> None:
        super().subscribe()
        self.listen(NODE, self._node_changed)

    def _node_changed(self, node: Obj, old: Obj | None) -> None:
        gone = (node["metadata"].get("namespace", ""), node["metadata"]["name"]) not in self.cluster.informer(NODE)
        if old is None or gone or _eligibility(old) != _eligibility(node):
            self.add_all()

    async def reconcile(self, key: Key) -> float | None:
        daemon_set = self.cluster.informer(DAEMON_SET).get(*key)
        if daemon_set is None or is_deleting(daemon_set):
            return None
        never = await self._faults.outcome(daemon_set) == "never-scheduled"
        nodes = [] if never else self._nodes_for(daemon_set)
        by_node = self._pods_by_node(daemon_set)
        await self._remove(daemon_set, by_node, nodes)
        for name in nodes:
            if name not in by_node:
                await self._create(daemon_set, name)
        await self._report(daemon_set, nodes)
        return _LOOK_AGAIN_S if never else None

    def _nodes_for(self, daemon_set: Obj) -> list[str]:
        spec = daemon_set["spec"]["template"]["spec"]
        nodes = [node for node in self.cluster.informer(NODE) if not is_deleting(node)]
        return sorted(node["metadata"]["name"] for node in nodes if fit.daemon_fits(spec, node))

    def _pods_by_node(self, daemon_set: Obj) -> dict[str, Obj]:
        return {target_of(pod): pod for pod in self.cluster.informer(POD).owned_by(daemon_set)}

    async def _remove(self, daemon_set: Obj, by_node: dict[str, Obj], nodes: list[str]) -> None:
        """Delete pods of other nodes, ended ones, and as many outdated ones as the update strategy allows."""
        living = {name: pod for name, pod in by_node.items() if not is_deleting(pod)}
        for name, pod in living.items():
            if name not in nodes or is_finished(pod):
                await self.cluster.delete(POD, pod)
        strategy = daemon_set["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        allowed = share((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(nodes), up=True)
        revision = revision_of(daemon_set["spec"]["template"])
        outdated = [living[name] for name in nodes if name in living and _revision(living[name]) != revision]
        budget = allowed - sum(1 for name in nodes if name not in by_node or not is_ready(by_node[name]))
        for pod in sorted(outdated, key=is_ready):
            if not is_ready(pod) or budget > 0:
                budget -= is_ready(pod)
                await self.cluster.delete(POD, pod)

    async def _create(self, daemon_set: Obj, node: str) -> None:
        template = daemon_set["spec"]["template"]
        labels = {
            REVISION_LABEL: revision_of(template),
            "pod-template-generation": str(daemon_set["metadata"].get("generation", 1)),
        }
        pod = pod_from(daemon_set, template, self._names.next(daemon_set, daemon_set["metadata"]["name"]), labels)
        pod["spec"]["affinity"] = affinity.pinned_to(template["spec"], node)
        pod["spec"]["tolerations"] = taints.daemon_tolerations(template["spec"])
        await self.cluster.create(POD, pod)

    async def _report(self, daemon_set: Obj, nodes: list[str]) -> None:
        by_node = self._pods_by_node(daemon_set)
        revision = revision_of(daemon_set["spec"]["template"])
        placed = [by_node[name] for name in nodes if name in by_node and not is_deleting(by_node[name])]
        updated = sum(_revision(pod) == revision for pod in placed)
        ready = sum(is_ready(pod) for pod in placed)
        status = {
            "desiredNumberScheduled": len(nodes),
            "currentNumberScheduled": len(placed),
            "updatedNumberScheduled": updated or None,
            "numberReady": ready,
            "numberAvailable": ready or None,
            "numberUnavailable": len(nodes) - ready or None,
            "numberMisscheduled": sum(
                bool(by_node[name]["spec"].get("nodeName")) for name in set(by_node) - set(nodes)
            ),
            "observedGeneration": daemon_set["metadata"].get("generation", 1),
        }
        await self.cluster.set_status(DAEMON_SET, daemon_set, status)


def target_of(pod: Obj) -> str:
    """The node a DaemonSet's pod is for: where it runs, or where its affinity pins it."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    fields = (one for term in affinity.required_terms(pod["spec"]) or [] for one in term.get("matchFields") or [])
    return next((str(one["values"][0]) for one in fields), "")


def _revision(pod: Obj) -> str:
    return labels_of(pod).get(REVISION_LABEL, "")


def _eligibility(node: Obj) -> tuple[object, ...]:
    spec = node.get("spec") or {}
    return labels_of(node), spec.get("taints") or [], is_deleting(node)
