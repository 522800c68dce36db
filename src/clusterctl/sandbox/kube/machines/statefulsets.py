"""StatefulSets: numbered pods with claims of their own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    POD,
    PVC,
    STATEFUL_SET,
    is_deleting,
    is_finished,
    is_ready,
    labels_of,
)
from clusterctl.sandbox.kube.machines.templates import REVISION_LABEL, pod_from, revision_of

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj


class StatefulSets(Controller):
    """Creates pods in order (or at once), replaces outdated ones from the highest number down."""

    kind = STATEFUL_SET
    owns = (POD,)
    reads = (PVC,)

    async def reconcile(self, key: Key) -> float | None:
        wanted = self.cluster.informer(STATEFUL_SET).get(*key)
        if wanted is None or is_deleting(wanted):
            return None
        await self._step(wanted)
        await self._report(wanted)
        return None

    async def _step(self, wanted: Obj) -> None:
        """One move: the next missing pod, else one surplus pod, else one outdated pod."""
        pods = {_ordinal(pod): pod for pod in self.cluster.informer(POD).owned_by(wanted)}
        numbers, parallel = _numbers(wanted), wanted["spec"].get("podManagementPolicy") == "Parallel"
        for number in numbers:
            if number not in pods:
                await self._create(wanted, number)
            elif is_finished(pods[number]) and not is_deleting(pods[number]):
                await self.cluster.delete(POD, pods[number])
            if not parallel and not (number in pods and is_ready(pods[number])):
                return
        surplus = sorted(set(pods) - set(numbers), reverse=True)
        for number in surplus if parallel else surplus[:1]:
            if not is_deleting(pods[number]):
                await self.cluster.delete(POD, pods[number])
        if not surplus:
            await self._replace_outdated(wanted, pods)

    async def _replace_outdated(self, wanted: Obj, pods: dict[int, Obj]) -> None:
        strategy = wanted["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete" or any(not is_ready(pod) for pod in pods.values()):
            return
        first = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        revision = _revision(wanted)
        for number in sorted(pods, reverse=True):
            if number >= first and labels_of(pods[number]).get(REVISION_LABEL) != revision:
                await self.cluster.delete(POD, pods[number])
                return

    async def _create(self, wanted: Obj, number: int) -> None:
        meta, spec = wanted["metadata"], wanted["spec"]
        name = f"{meta['name']}-{number}"
        labels = {
            REVISION_LABEL: _revision(wanted),
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(number),
        }
        pod = pod_from(wanted, spec["template"], name, labels)
        pod["spec"] |= {"hostname": name, "subdomain": spec.get("serviceName", "")}
        claims = []
        for template in spec.get("volumeClaimTemplates") or []:
            claim = f"{template['metadata']['name']}-{name}"
            await self._claim(wanted, template, claim)
            source = {"persistentVolumeClaim": {"claimName": claim}}
            claims.append({"name": template["metadata"]["name"], **source})
        if claims:
            pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or []), *claims]
        await self.cluster.create(POD, pod)

    async def _claim(self, wanted: Obj, template: Obj, name: str) -> None:
        namespace = wanted["metadata"]["namespace"]
        if (namespace, name) in self.cluster.informer(PVC):
            return
        labels = {**labels_of(template), **((wanted["spec"].get("selector") or {}).get("matchLabels") or {})}
        meta = {"name": name, "namespace": namespace, "labels": labels}
        await self.cluster.create(PVC, {"metadata": meta, "spec": copy.deepcopy(template["spec"])})

    async def _report(self, wanted: Obj) -> None:
        pods = [pod for pod in self.cluster.informer(POD).owned_by(wanted) if not is_deleting(pod)]
        ready, revision = sum(is_ready(pod) for pod in pods), _revision(wanted)
        updated = sum(labels_of(pod).get(REVISION_LABEL) == revision for pod in pods)
        done = updated == len(pods) == wanted["spec"].get("replicas", 1) == ready
        previous = (wanted.get("status") or {}).get("currentRevision") or revision
        status = {
            "replicas": len(pods),
            "readyReplicas": ready or None,
            "availableReplicas": ready,
            "updatedReplicas": updated or None,
            "currentReplicas": (updated if done or previous == revision else len(pods) - updated) or None,
            "currentRevision": revision if done else previous,
            "updateRevision": revision,
            "observedGeneration": wanted["metadata"].get("generation", 1),
            "collisionCount": 0,
        }
        await self.cluster.set_status(STATEFUL_SET, wanted, status)


def _numbers(wanted: Obj) -> range:
    start = (wanted["spec"].get("ordinals") or {}).get("start", 0)
    return range(start, start + wanted["spec"].get("replicas", 1))


def _ordinal(pod: Obj) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def _revision(wanted: Obj) -> str:
    return f"{wanted['metadata']['name']}-{revision_of(wanted['spec']['template'])}"
