"""The default scheduler: binds pending pods to nodes, or says in the real one's words why it cannot."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import affinity, fit, resources
from clusterctl.sandbox.kube.machines.claims import SELECTED_NODE, claims_of, waits_for_consumer
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    NODE,
    POD,
    PV,
    PVC,
    STORAGE_CLASS,
    annotations_of,
    condition,
    controller_of,
    is_deleting,
    is_finished,
    set_condition,
)

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

_PASS: Key = ("", "pass")
_REST_S = 0.05  # real seconds between two passes
NAME = "default-scheduler"


class Scheduler(Controller):
    """Looks at all pending pods in one pass, the most important and oldest first."""

    kind = POD
    reads = (NODE, PVC, PV, STORAGE_CLASS)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._assumed: dict[str, str] = {}
        self._requests: dict[str, resources.Amounts] = {}

    def subscribe(self) -> None:
        for kind in (POD, *self.reads):
            self.listen(kind, self._changed)

    def _changed(self, obj: Obj, old: Obj | None) -> None:
        if old is not None and obj["kind"] == "Node" and _as_target(old) == _as_target(obj) and obj is not old:
            return
        if obj["kind"] == "Pod" and obj is not old and _is_settled(obj):
            return
        self._arm(_PASS, _REST_S)

    async def reconcile(self, key: Key) -> float | None:
        state = _State(self._nodes())
        for pod in self.cluster.informer(POD):
            self._account(pod, state)
        waiting = [pod for pod in self.cluster.informer(POD) if self._is_mine(pod)]
        for pod in sorted(waiting, key=_urgency):
            await self._place(pod, state)
        return None

    def _nodes(self) -> list[Obj]:
        nodes = [node for node in self.cluster.informer(NODE) if not is_deleting(node)]
        return sorted(nodes, key=lambda node: str(node["metadata"]["name"]))

    def _account(self, pod: Obj, state: _State) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        if node or is_finished(pod):
            self._assumed.pop(uid, None)
        node = node or self._assumed.get(uid)
        if node and not is_finished(pod):
            state.take(node, pod, self._requests_of(pod))

    def _requests_of(self, pod: Obj) -> resources.Amounts:
        uid = pod["metadata"]["uid"]
        if uid not in self._requests:
            self._requests[uid] = resources.pod_requests(pod)
        return self._requests[uid]

    def _is_mine(self, pod: Obj) -> bool:
        spec = pod["spec"]
        if spec.get("nodeName") or is_deleting(pod) or is_finished(pod) or spec.get("schedulingGates"):
            return False
        return spec.get("schedulerName", NAME) == NAME and pod["metadata"]["uid"] not in self._assumed

    async def _place(self, pod: Obj, state: _State) -> None:
        problem = self._claim_problem(pod)
        if problem:
            reasons = f"0/{len(state.nodes)} nodes are available: {problem}."
            await self._refuse(pod, reasons if state.nodes else fit.NO_NODES)
            return
        refusals = {node["metadata"]["name"]: self._reasons(pod, node, state) for node in state.nodes}
        fitting = [name for name, reasons in refusals.items() if not reasons]
        if not fitting:
            await self._refuse(pod, fit.explain(list(refusals.values())))
            return
        chosen = state.best(pod, fitting)
        if await self._claims_ready(pod, chosen):
            await self._bind(pod, chosen, state)

    def _reasons(self, pod: Obj, node: Obj, state: _State) -> list[str]:
        name = node["metadata"]["name"]
        reasons = fit.reasons_against(pod, node, state.free[name])
        if not reasons and not all(affinity.volume_allows(one, node) for one in self._volumes(pod)):
            return ["node(s) didn't match PersistentVolume's node affinity"]
        if not reasons and fit.anti_affinity_refuses(pod, state.pods[name]):
            return ["node(s) didn't match pod anti-affinity rules"]
        return reasons

    def _volumes(self, pod: Obj) -> list[Obj]:
        namespace = pod["metadata"]["namespace"]
        claims = [self.cluster.informer(PVC).get(namespace, name) for name in claims_of(pod)]
        names = [claim["spec"].get("volumeName") for claim in claims if claim]
        volumes = [self.cluster.informer(PV).get("", name) for name in names if name]
        return [volume for volume in volumes if volume]

    def _claim_problem(self, pod: Obj) -> str:
        """Why the pod's claims keep it from every node; empty when they do not."""
        for name in claims_of(pod):
            claim = self.cluster.informer(PVC).get(pod["metadata"]["namespace"], name)
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if not _is_bound(claim) and not self._deferred(claim):
                return "pod has unbound immediate PersistentVolumeClaims"
        return ""

    def _deferred(self, claim: Obj) -> bool:
        return waits_for_consumer(self.cluster.informer(STORAGE_CLASS), claim)

    async def _claims_ready(self, pod: Obj, node: str) -> bool:
        """Tell the volume controller where the pod goes; true once all its claims are bound."""
        ready = True
        for name in claims_of(pod):
            claim = self.cluster.informer(PVC).get(pod["metadata"]["namespace"], name)
            if claim and not _is_bound(claim):
                ready = False
                if SELECTED_NODE not in annotations_of(claim):
                    await self.cluster.modify(PVC, claim, lambda fresh: _select(fresh, node))
        return ready

    async def _bind(self, pod: Obj, node: str, state: _State) -> None:
        meta = pod["metadata"]
        self._assumed[meta["uid"]] = node
        state.take(node, pod, self._requests_of(pod))
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self.cluster.client.create(POD, binding, "binding")
        except Exception:
            self._assumed.pop(meta["uid"], None)
            raise
        message = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
        await self.cluster.event(pod, "Scheduled", message)

    async def _refuse(self, pod: Obj, message: str) -> None:
        when = self.cluster.timestamp()
        fresh = condition("PodScheduled", "False", "Unschedulable", message, when)
        conditions = (pod.get("status") or {}).get("conditions") or []
        if set_condition(conditions, fresh) == conditions:
            return
        status = {"phase": "Pending", "conditions": set_condition(conditions, fresh)}
        await self.cluster.set_status(POD, pod, status)
        await self.cluster.event(pod, "FailedScheduling", message, "Warning")


class _State:
    """Free resources and pods of each node during one pass."""

    def __init__(self, nodes: list[Obj]) -> None:
        self.nodes = nodes
        self.free = {node["metadata"]["name"]: resources.allocatable(node) for node in nodes}
        self.pods: dict[str, list[Obj]] = defaultdict(list)

    def take(self, node: str, pod: Obj, requests: resources.Amounts) -> None:
        self.pods[node].append(pod)
        if node in self.free:
            self.free[node] = resources.subtract(self.free[node], requests)

    def best(self, pod: Obj, names: list[str]) -> str:
        owner = (controller_of(pod) or {}).get("uid")
        load = {name: len(self.pods[name]) for name in names}
        siblings = Counter(
            name
            for name in names
            for one in self.pods[name]
            if owner and (controller_of(one) or {}).get("uid") == owner
        )
        by_name = {node["metadata"]["name"]: node for node in self.nodes}
        return fit.best_node(names, load, siblings, lambda name: affinity.preference(pod["spec"], by_name[name]))


def _urgency(pod: Obj) -> tuple[int, str, str]:
    meta = pod["metadata"]
    return -pod["spec"].get("priority", 0), meta.get("creationTimestamp", ""), meta["name"]


def _is_bound(claim: Obj) -> bool:
    return (claim.get("status") or {}).get("phase") == "Bound"


def _is_settled(pod: Obj) -> bool:
    """Bound and not ended: nothing changes for the scheduler."""
    return bool(pod["spec"].get("nodeName")) and not is_finished(pod)


def _as_target(node: Obj) -> tuple[object, ...]:
    """What of a node matters to where pods can go."""
    status = node.get("status") or {}
    return node.get("spec"), node["metadata"].get("labels"), status.get("allocatable")


def _select(claim: Obj, node: str) -> None:
    claim["metadata"]["annotations"] = {**annotations_of(claim), SELECTED_NODE: node}
