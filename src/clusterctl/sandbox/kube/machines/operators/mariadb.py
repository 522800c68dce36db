"""mariadb-operator: one image, three Deployments. One makes databases, one is called, one lets it be called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Key,
    Kind,
    Obj,
    is_deleting,
    key_of,
    owner_reference,
)
from clusterctl.sandbox.kube.machines.operators import certificates

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster

MARIADB = Kind("k8s.mariadb.com", "v1alpha1", "mariadbs", "MariaDB")
_PORT = 3306


def program(cluster: Cluster, deployment: Obj) -> list[Controller]:
    """What the process of this Deployment does, as its name says."""
    namespace, name = key_of(deployment)
    if name.endswith("-cert-controller"):
        return certificates.servers(cluster, namespace)
    return [] if name.endswith("-webhook") else [Databases(cluster)]


class Databases(Controller):
    """A StatefulSet, a Service and generated passwords for every MariaDB; Ready when its pod is."""

    kind = MARIADB
    owns = (STATEFUL_SET,)

    async def reconcile(self, key: Key) -> float | None:
        wanted = self.cluster.informer(MARIADB).get(*key)
        if wanted is None or is_deleting(wanted):
            return None
        for reference in ("rootPasswordSecretKeyRef", "passwordSecretKeyRef"):
            await self._password(wanted, wanted["spec"].get(reference) or {})
        meta = {"name": key[1], "namespace": key[0], "ownerReferences": [owner_reference(wanted)]}
        labels = {"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": key[1]}
        ports = [{"name": "mariadb", "port": _PORT, "targetPort": _PORT}]
        await self.cluster.create(SERVICE, {"metadata": meta, "spec": {"selector": labels, "ports": ports}})
        await self.cluster.create(STATEFUL_SET, {"metadata": meta, "spec": _stateful_set(wanted, labels)})
        await self._report(wanted)
        return None

    async def _password(self, wanted: Obj, reference: Obj) -> None:
        if not reference.get("generate"):
            return
        meta = {"name": reference["name"], "namespace": wanted["metadata"]["namespace"]}
        await self.cluster.create(
            SECRET, {"metadata": meta, "type": "Opaque", "stringData": {reference["key"]: "made-by-the-sandbox"}}
        )

    async def _report(self, wanted: Obj) -> None:
        made = self.cluster.informer(STATEFUL_SET).get(*key_of(wanted))
        ready = bool(made) and ((made or {}).get("status") or {}).get("readyReplicas", 0) > 0
        words = ("True", "StatefulSetReady", "Running") if ready else ("False", "StatefulSetNotReady", "Not ready")
        await self.cluster.set_condition(MARIADB, wanted, "Ready", words)


def _stateful_set(wanted: Obj, labels: dict[str, str]) -> Obj:
    spec, storage = wanted["spec"], wanted["spec"].get("storage") or {}
    claim = {
        "metadata": {"name": "storage"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage.get("storageClassName"),
            "resources": {"requests": {"storage": storage.get("size", "1Gi")}},
        },
    }
    container = {
        "name": "mariadb",
        "image": spec.get("image", "docker-registry1.mariadb.com/library/mariadb:11.8.5"),
        "ports": [{"name": "mariadb", "containerPort": _PORT}],
        "readinessProbe": {"tcpSocket": {"port": _PORT}},
        "volumeMounts": [{"name": "storage", "mountPath": "/var/lib/mysql"}],
    }
    pod = {"containers": [container], **{key: spec[key] for key in ("nodeSelector", "tolerations") if key in spec}}
    return {
        "replicas": 1,
        "serviceName": f"{wanted['metadata']['name']}-internal",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        "volumeClaimTemplates": [claim],
    }
