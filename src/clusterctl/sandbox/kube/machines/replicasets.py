"""ReplicaSets: as many pods as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import POD, REPLICA_SET, is_deleting, is_ready
from clusterctl.sandbox.kube.machines.templates import PodNames, active, pod_from

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj


class ReplicaSets(Controller):
    """Creates and deletes pods until there are `spec.replicas` of them."""

    kind = REPLICA_SET
    owns = (POD,)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._names = PodNames()

    async def reconcile(self, key: Key) -> float | None:
        replica_set = self.cluster.informer(REPLICA_SET).get(*key)
        if replica_set is None or is_deleting(replica_set):
            return None
        pods = active(self.cluster.informer(POD).owned_by(replica_set))
        missing = replica_set["spec"].get("replicas", 1) - len(pods)
        for _ in range(missing):
            await self._create(replica_set)
        for pod in sorted(pods, key=_last_needed)[: max(-missing, 0)]:
            await self.cluster.delete(POD, pod)
        await self._report(replica_set)
        return None

    async def _create(self, replica_set: Obj) -> None:
        name = self._names.next(replica_set, replica_set["metadata"]["name"])
        while (replica_set["metadata"]["namespace"], name) in self.cluster.informer(POD):
            name = self._names.next(replica_set, replica_set["metadata"]["name"])
        pod = pod_from(replica_set, replica_set["spec"]["template"], name, {})
        await self.cluster.create(POD, pod)

    async def _report(self, replica_set: Obj) -> None:
        pods = active(self.cluster.informer(POD).owned_by(replica_set))
        ready = sum(is_ready(pod) for pod in pods)
        status = {
            "replicas": len(pods),
            "fullyLabeledReplicas": len(pods),
            "readyReplicas": ready or None,
            "availableReplicas": ready or None,
            "observedGeneration": replica_set["metadata"].get("generation", 1),
        }
        await self.cluster.set_status(REPLICA_SET, replica_set, status)


def _last_needed(pod: Obj) -> tuple[bool, bool, str]:
    """Pods without a node go first, then those not ready, then by name."""
    return bool(pod["spec"].get("nodeName")), is_ready(pod), pod["metadata"]["name"]
