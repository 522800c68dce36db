"""The Slinky operator: the daemons of a Slurm cluster, and a slurmd on every node that a NodeSet asks for."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    DEPLOYMENT,
    POD,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Key,
    Kind,
    Obj,
    is_deleting,
    is_finished,
    is_ready,
    key_of,
    labels_of,
    owner_reference,
)
from clusterctl.sandbox.kube.machines.operators import slurm

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster

GROUP, VERSION = "slinky.slurm.net", "v1beta1"
CONTROLLER = Kind(GROUP, VERSION, "controllers", "Controller")
ACCOUNTING = Kind(GROUP, VERSION, "accountings", "Accounting")
REST_API = Kind(GROUP, VERSION, "restapis", "RestApi")
LOGIN_SET = Kind(GROUP, VERSION, "loginsets", "LoginSet")
NODE_SET = Kind(GROUP, VERSION, "nodesets", "NodeSet")
_NAME, _INSTANCE = "app.kubernetes.io/name", "app.kubernetes.io/instance"
_SLURMD_ALONE = {  # one slurmd on a node
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {_NAME: "slurmd"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


def controllers(cluster: Cluster) -> list[Controller]:
    return [Controllers(cluster), Accountings(cluster), RestApis(cluster), LoginSets(cluster), NodeSets(cluster)]


class _Daemon(Controller):
    """One workload and its service for each resource. `field` holds the container, and names it."""

    daemon: str
    suffix: str
    port: int
    workload: Kind
    reads = (SECRET,)

    def subscribe(self) -> None:
        super().subscribe()
        self.listen(SECRET, lambda _, __: self.add_all())

    async def reconcile(self, key: Key) -> float | None:
        wanted = self.cluster.informer(self.kind).get(*key)
        if wanted is None or is_deleting(wanted):
            return None
        missing = [one for one in self.secrets(wanted) if (key[0], one) not in self.cluster.informer(SECRET)]
        if missing:
            await self.cluster.event(wanted, "SecretMissing", f'Secret "{missing[0]}" not found', "Warning")
            return None
        name = f"{key[1]}{self.suffix}"
        labels = {_NAME: self.daemon, _INSTANCE: key[1]}
        meta = {"name": name, "namespace": key[0], "labels": labels, "ownerReferences": [owner_reference(wanted)]}
        service = (wanted["spec"].get("service") or {}).get("spec") or {}
        ports = [{"name": self.daemon, "port": self.port, "targetPort": self.port}]
        await self.cluster.create(SERVICE, {"metadata": meta, "spec": {**service, "selector": labels, "ports": ports}})
        await self._apply({"metadata": meta, "spec": self._spec(wanted, labels)})
        await self._report(wanted, name)
        return None

    def secrets(self, wanted: Obj) -> list[str]:
        """The Secrets without which the daemon cannot start."""
        spec = wanted["spec"]
        return [spec[one]["name"] for one in ("slurmKeyRef", "jwtKeyRef") if one in spec]

    async def _apply(self, made: Obj) -> None:
        known = self.cluster.informer(self.workload).get(*key_of(made))
        if known is None:
            await self.cluster.create(self.workload, made)
            return
        template = made["spec"]["template"]["spec"]["containers"][0]

        def change(fresh: Obj) -> None:
            fresh["spec"]["replicas"] = made["spec"]["replicas"]
            fresh["spec"]["template"]["spec"]["containers"][0]["image"] = template["image"]

        await self.cluster.modify(self.workload, known, change)

    def _spec(self, wanted: Obj, labels: dict[str, str]) -> Obj:
        spec = wanted["spec"]
        given = spec.get(self.daemon) or {}
        container = {
            "name": self.daemon,
            "image": given.get("image", ""),
            "ports": [{"name": self.daemon, "containerPort": self.port}],
            "readinessProbe": {"tcpSocket": {"port": self.port}},
            "resources": given.get("resources") or {},
        }
        pod = _pod_spec(wanted, container)
        template = {"metadata": {"labels": labels}, "spec": pod}
        return {"replicas": spec.get("replicas", 1), "selector": {"matchLabels": labels}, "template": template}

    async def _report(self, wanted: Obj, name: str) -> None:
        made = self.cluster.informer(self.workload).get(wanted["metadata"]["namespace"], name)
        ready = ((made or {}).get("status") or {}).get("readyReplicas", 0) >= wanted["spec"].get("replicas", 1)
        words = ("True", "Ready", "") if ready else ("False", "NotReady", "")
        await self.cluster.set_condition(self.kind, wanted, "Ready", words)


class _StatefulDaemon(_Daemon):
    workload = STATEFUL_SET
    owns = (STATEFUL_SET,)

    def _spec(self, wanted: Obj, labels: dict[str, str]) -> Obj:
        spec = super()._spec(wanted, labels)
        spec["serviceName"] = f"{wanted['metadata']['name']}{self.suffix}"
        storage = wanted["spec"].get("persistence") or {}
        if storage.get("enabled"):
            wish = {key: storage[key] for key in ("accessModes", "storageClassName", "resources") if storage.get(key)}
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "statesave"}, "spec": wish}]
        return spec


class _StatelessDaemon(_Daemon):
    workload = DEPLOYMENT
    owns = (DEPLOYMENT,)


class Controllers(_StatefulDaemon):
    """slurmctld, with its state on a volume."""

    kind, daemon, suffix, port = CONTROLLER, "slurmctld", "-controller", 6817


class Accountings(_StatefulDaemon):
    """slurmdbd, which does not start without the password of its database."""

    kind, daemon, suffix, port = ACCOUNTING, "slurmdbd", "-accounting", 6819

    def secrets(self, wanted: Obj) -> list[str]:
        password = (wanted["spec"].get("storageConfig") or {}).get("passwordKeyRef") or {}
        return [*super().secrets(wanted), *filter(None, [password.get("name")])]


class RestApis(_StatelessDaemon):
    """slurmrestd."""

    kind, daemon, suffix, port = REST_API, "slurmrestd", "-restapi", 6820


class LoginSets(_StatelessDaemon):
    """sshd with Slurm's commands."""

    kind, daemon, suffix, port = LOGIN_SET, "login", "", 22


class NodeSets(Controller):
    """Pods made directly, one slurmd on a node; what Slurm knows of them is told to the pods that can be asked."""

    kind = NODE_SET
    owns = (POD,)
    reads = (CONTROLLER, POD)

    def subscribe(self) -> None:
        super().subscribe()
        self.listen(POD, lambda pod, _: self._daemon_changed(pod))
        self.listen(CONTROLLER, lambda _, __: self.add_all())

    def _daemon_changed(self, pod: Obj) -> None:
        if labels_of(pod).get(_NAME) in ("slurmctld", "login"):
            self.add_all()

    async def reconcile(self, key: Key) -> float | None:
        wanted = self.cluster.informer(NODE_SET).get(*key)
        if wanted is None or is_deleting(wanted):
            return None
        pods = {pod["metadata"]["name"]: pod for pod in self.cluster.informer(POD).owned_by(wanted)}
        names = [f"{key[1]}-{number}" for number in range(wanted["spec"].get("replicas", 1))]
        for name in names:
            if name not in pods:
                await self.cluster.create(POD, _slurmd(wanted, name))
            elif is_finished(pods[name]):
                await self.cluster.delete(POD, pods[name])
        for name in pods.keys() - set(names):
            await self.cluster.delete(POD, pods[name])
        await self._report(wanted)
        await slurm.answer(self.cluster, key[0], list(self.cluster.informer(NODE_SET)))
        return None

    async def _report(self, wanted: Obj) -> None:
        pods = self.cluster.informer(POD).owned_by(wanted)
        ready = [pod for pod in pods if is_ready(pod)]
        idle = [pod for pod in ready if slurm.state_of(pod, wanted) == "idle"]
        status = {
            "desired": wanted["spec"].get("replicas", 1),
            "replicas": len(pods),
            "updatedReplicas": len(pods),
            "readyReplicas": len(ready),
            "slurmIdle": len(idle),
            "slurmDown": len(ready) - len(idle),
            "observedGeneration": wanted["metadata"].get("generation", 1),
        }
        await self.cluster.set_status(NODE_SET, wanted, status)


def _slurmd(wanted: Obj, name: str) -> Obj:
    spec, meta = wanted["spec"], wanted["metadata"]
    given = spec.get("slurmd") or {}
    container = {
        "name": "slurmd",
        "image": given.get("image", ""),
        "args": ["-Z", "--conf", spec.get("extraConf", "")],
        "resources": given.get("resources") or {},
        "volumeMounts": given.get("volumeMounts") or [],
        "securityContext": {"privileged": True},
        "readinessProbe": {"exec": {"command": ["scontrol", "show", "slurmd"]}},
    }
    pod = {**_pod_spec(wanted, container), "affinity": copy.deepcopy(_SLURMD_ALONE)}
    pod["hostname"] = f"{pod.get('hostname', '')}{name.rpartition('-')[2]}"
    labels = {_NAME: "slurmd", _INSTANCE: meta["name"]}
    owners = [owner_reference(wanted)]
    about = {"name": name, "namespace": meta["namespace"], "labels": labels, "ownerReferences": owners}
    return {"metadata": about, "spec": pod}


def _pod_spec(wanted: Obj, container: dict[str, Any]) -> Obj:
    given = copy.deepcopy((wanted["spec"].get("template") or {}).get("spec") or {})
    pod = {key: value for key, value in given.items() if value not in (None, "", {}, [])}
    return {**pod, "containers": [container]}
