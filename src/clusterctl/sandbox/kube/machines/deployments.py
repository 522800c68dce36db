"""Deployments: ReplicaSets, one for each revision of the template."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.cluster import digest
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    DEPLOYMENT,
    POD,
    REPLICA_SET,
    annotations_of,
    condition,
    is_deleting,
    labels_of,
    owner_reference,
    set_condition,
)
from clusterctl.sandbox.kube.machines.rollout import Bounds, Size, recreate, rolling

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_OWN_ANNOTATIONS = (REVISION, "kubectl.kubernetes.io/last-applied-configuration")


class Deployments(Controller):
    """Rolls a Deployment's pods over to its newest template and says how far it is."""

    kind = DEPLOYMENT
    owns = (REPLICA_SET,)
    reads = (POD,)

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._progress: dict[str, tuple[object, float]] = {}

    async def reconcile(self, key: Key) -> float | None:
        deployment = self.cluster.informer(DEPLOYMENT).get(*key)
        if deployment is None or is_deleting(deployment):
            return None
        sets = self.cluster.informer(REPLICA_SET).owned_by(deployment)
        newest = await self._newest(deployment, sets)
        if newest is None:
            return 1.0
        old = [one for one in sets if one["metadata"]["uid"] != newest["metadata"]["uid"]]
        if not deployment["spec"].get("paused"):
            await self._resize(deployment, newest, old)
        await self._clean(deployment, old)
        return await self._report(key, newest)

    async def _newest(self, deployment: Obj, sets: list[Obj]) -> Obj | None:
        """The ReplicaSet of the present template, made if needed, with the highest revision."""
        template = deployment["spec"]["template"]
        found = next((one for one in sets if _same_template(one, template)), None)
        revision = max((_revision(one) for one in sets if one is not found), default=0) + 1
        if found is None:
            found = await self.cluster.create(REPLICA_SET, _replica_set(deployment, revision))
        elif _revision(found) < revision:
            found = await self.cluster.modify(REPLICA_SET, found, lambda fresh: _annotate(fresh, revision))
        if found is not None:
            number = _revision(found)
            await self.cluster.modify(DEPLOYMENT, deployment, lambda fresh: _annotate(fresh, number))
        return found

    async def _resize(self, deployment: Obj, newest: Obj, old: list[Obj]) -> None:
        spec = deployment["spec"]
        wished, new, others = spec.get("replicas", 1), _size(newest), [_size(one) for one in old]
        if (spec.get("strategy") or {}).get("type") == "Recreate":
            pods = sum(len(self.cluster.informer(POD).owned_by(one)) for one in old)
            sizes = recreate(wished, new, others, pods)
        else:
            sizes = rolling(wished, Bounds.of(spec), new, [one for one in others if one.replicas])
        for replica_set in (newest, *old):
            size = sizes.get(replica_set["metadata"]["name"])
            if size is not None and size != replica_set["spec"].get("replicas", 1):
                await self.cluster.modify(REPLICA_SET, replica_set, partial(_set_size, size=size))

    async def _clean(self, deployment: Obj, old: list[Obj]) -> None:
        """Drop the oldest empty ReplicaSets beyond the history limit."""
        empty = [one for one in old if not _size(one).replicas and not (one.get("status") or {}).get("replicas")]
        surplus = len(empty) - deployment["spec"].get("revisionHistoryLimit", 10)
        for replica_set in sorted(empty, key=_revision)[: max(surplus, 0)]:
            await self.cluster.delete(REPLICA_SET, replica_set)

    async def _report(self, key: Key, newest: Obj) -> float | None:
        deployment = self.cluster.informer(DEPLOYMENT).get(*key)
        if deployment is None:
            return None
        sets = self.cluster.informer(REPLICA_SET).owned_by(deployment)
        newest = next((one for one in sets if one["metadata"]["uid"] == newest["metadata"]["uid"]), newest)
        numbers = _numbers(deployment, newest, sets)
        overdue, again = self._overdue(deployment, numbers)
        conditions = self._conditions(deployment, newest, numbers, overdue)
        await self.cluster.set_status(DEPLOYMENT, deployment, {**numbers, "conditions": conditions})
        return again

    def _overdue(self, deployment: Obj, numbers: Obj) -> tuple[str, float | None]:
        """Whether the rollout stands still for longer than its deadline, and when to look again."""
        uid, now = deployment["metadata"]["uid"], self.cluster.clock.timestamp()
        seen, since = self._progress.get(uid, (None, now))
        if seen != numbers:
            seen, since = self._progress[uid] = (numbers, now)
        if _complete(deployment, numbers):
            return "", None
        left = since + deployment["spec"].get("progressDeadlineSeconds", 600) - now
        return ("ProgressDeadlineExceeded", None) if left <= 0 else ("", left)

    def _conditions(self, deployment: Obj, newest: Obj, numbers: Obj, overdue: str) -> list[Obj]:
        when, name = self.cluster.timestamp(), newest["metadata"]["name"]
        wished = deployment["spec"].get("replicas", 1)
        enough = (numbers["availableReplicas"] or 0) >= wished - Bounds.of(deployment["spec"]).unavailable
        if enough:
            available = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        else:
            available = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        if _complete(deployment, numbers):
            text = f'ReplicaSet "{name}" has successfully progressed.'
            progress = ("True", "NewReplicaSetAvailable", text)
        elif overdue:
            progress = ("False", overdue, f'ReplicaSet "{name}" has timed out progressing.')
        else:
            progress = ("True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
        conditions = (deployment.get("status") or {}).get("conditions") or []
        for kind, words in (("Available", available), ("Progressing", progress)):
            fresh = {**condition(kind, *words, when), "lastUpdateTime": when}
            conditions = set_condition(conditions, fresh)
        return conditions


def _replica_set(deployment: Obj, revision: int) -> Obj:
    meta, spec = deployment["metadata"], deployment["spec"]
    label = {HASH: digest(spec["template"], 10)}
    template = copy.deepcopy(spec["template"])
    template.setdefault("metadata", {})["labels"] = {**(template["metadata"].get("labels") or {}), **label}
    selector = copy.deepcopy(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **label}
    inherited = {key: value for key, value in annotations_of(deployment).items() if key not in _OWN_ANNOTATIONS}
    return {
        "metadata": {
            "name": f"{meta['name']}-{label[HASH]}",
            "namespace": meta["namespace"],
            "labels": template["metadata"]["labels"],
            "annotations": {**inherited, REVISION: str(revision)},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    }


def _same_template(replica_set: Obj, template: Obj) -> bool:
    if labels_of(replica_set).get(HASH) == digest(template, 10):
        return True
    own = copy.deepcopy(replica_set["spec"]["template"])
    (own.get("metadata", {}).get("labels") or {}).pop(HASH, None)
    return bool(own == template)


def _annotate(obj: Obj, revision: int) -> None:
    obj["metadata"]["annotations"] = {**annotations_of(obj), REVISION: str(revision)}


def _set_size(replica_set: Obj, size: int) -> None:
    replica_set["spec"]["replicas"] = size


def _revision(obj: Obj) -> int:
    return int(annotations_of(obj).get(REVISION, "0"))


def _size(replica_set: Obj) -> Size:
    available = (replica_set.get("status") or {}).get("availableReplicas") or 0
    return Size(replica_set["metadata"]["name"], replica_set["spec"].get("replicas", 1), available)


def _numbers(deployment: Obj, newest: Obj, sets: list[Obj]) -> Obj:
    def total(field: str) -> int:
        return sum((one.get("status") or {}).get(field) or 0 for one in sets)

    available = total("availableReplicas")
    missing = max(deployment["spec"].get("replicas", 1), total("replicas")) - available
    return {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": total("replicas") or None,
        "updatedReplicas": (newest.get("status") or {}).get("replicas") or None,
        "readyReplicas": total("readyReplicas") or None,
        "availableReplicas": available or None,
        "unavailableReplicas": missing if missing > 0 else None,
    }


def _complete(deployment: Obj, numbers: Obj) -> bool:
    wished = deployment["spec"].get("replicas", 1)
    fields = ("replicas", "updatedReplicas", "availableReplicas")
    return all((numbers[field] or 0) == wished for field in fields)
