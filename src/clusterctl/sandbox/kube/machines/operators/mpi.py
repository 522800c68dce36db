"""The MPI Operator: workers that wait for ssh, then a launcher that runs mpirun over them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    JOB,
    POD,
    SERVICE,
    Key,
    Kind,
    Obj,
    condition,
    condition_is,
    is_deleting,
    is_ready,
    key_of,
    labels_of,
    owner_reference,
    set_condition,
)
from clusterctl.sandbox.kube.machines.templates import pod_from

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster

MPI_JOB = Kind("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
_PREFIX = "training.kubeflow.org/"
_SSHD = ["/usr/sbin/sshd", "-De"]


def controllers(cluster: Cluster) -> list[Controller]:
    return [MpiJobs(cluster)]


class MpiJobs(Controller):
    """Workers, the launcher's Job, the conditions, and what is left when the launcher is done."""

    kind = MPI_JOB
    owns = (POD, JOB)

    async def reconcile(self, key: Key) -> float | None:
        job = self.cluster.informer(MPI_JOB).get(*key)
        if job is None or is_deleting(job):
            return None
        if _over(job):
            await self._clean(job)
            return None
        await self._network(job)
        workers = await self._workers(job)
        launcher = self.cluster.informer(JOB).get(key[0], f"{key[1]}-launcher")
        if launcher is None and self._may_launch(job, workers):
            launcher = await self.cluster.create(JOB, _launcher(job))
        await self._report(job, launcher, workers)
        return None

    async def _network(self, job: Obj) -> None:
        meta = job["metadata"]
        named = {**_meta(job), "name": meta["name"]}
        selector = {f"{_PREFIX}job-name": meta["name"]}
        spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}
        await self.cluster.create(SERVICE, {"metadata": named, "spec": spec})

    async def _workers(self, job: Obj) -> list[Obj]:
        wanted = job["spec"]["mpiReplicaSpecs"].get("Worker") or {}
        have = {pod["metadata"]["name"]: pod for pod in self.cluster.informer(POD).owned_by(job)}
        for number in range(wanted.get("replicas", 0)):
            name = f"{job['metadata']['name']}-worker-{number}"
            if name not in have:
                made = await self.cluster.create(POD, _worker(job, wanted, name, number))
                have |= {name: made} if made else {}
        return list(have.values())

    def _may_launch(self, job: Obj, workers: list[Obj]) -> bool:
        if job["spec"].get("launcherCreationPolicy", "AtStartup") == "AtStartup":
            return True
        wanted = (job["spec"]["mpiReplicaSpecs"].get("Worker") or {}).get("replicas", 0)
        return len(workers) >= wanted and all(is_ready(pod) for pod in workers)

    async def _report(self, job: Obj, launcher: Obj | None, workers: list[Obj]) -> None:
        when = self.cluster.timestamp()
        told = {"Created": ("MPIJobCreated", f"MPIJob {'/'.join(key_of(job))} is created.")}
        if launcher and condition_is(launcher, "Complete"):
            told["Succeeded"] = ("MPIJobSucceeded", f"MPIJob {'/'.join(key_of(job))} successfully completed.")
        elif launcher and condition_is(launcher, "Failed"):
            told["Failed"] = ("BackoffLimitExceeded", _failure(launcher))
        elif launcher and (launcher.get("status") or {}).get("ready") and all(is_ready(pod) for pod in workers):
            told["Running"] = ("MPIJobRunning", f"MPIJob {'/'.join(key_of(job))} is running.")
        conditions = (job.get("status") or {}).get("conditions") or []
        for kind, (reason, message) in told.items():
            conditions = set_condition(conditions, condition(kind, "True", reason, message, when))
        ended = "Succeeded" in told or "Failed" in told
        if ended:
            conditions = [{**one, "status": "False"} if one["type"] == "Running" else one for one in conditions]
        status: Obj = {"conditions": conditions, "startTime": (job.get("status") or {}).get("startTime") or when}
        await self.cluster.set_status(MPI_JOB, job, {**status, **({"completionTime": when} if ended else {})})

    async def _clean(self, job: Obj) -> None:
        """Running workers go where the policy says so; None, which is the default, leaves them their GPUs."""
        policy = (job["spec"].get("runPolicy") or {}).get("cleanPodPolicy", "None")
        if policy in ("Running", "All"):
            for pod in self.cluster.informer(POD).owned_by(job):
                if not is_deleting(pod):
                    await self.cluster.delete(POD, pod)


def _over(job: Obj) -> bool:
    return condition_is(job, "Succeeded") or condition_is(job, "Failed")


def _failure(launcher: Obj) -> str:
    found = [one for one in launcher["status"]["conditions"] if one["type"] == "Failed"]
    return str(found[0].get("message", "")) if found else ""


def _meta(job: Obj) -> Obj:
    return {"namespace": job["metadata"]["namespace"], "ownerReferences": [owner_reference(job)]}


def _labels(job: Obj, role: str) -> dict[str, str]:
    return {
        f"{_PREFIX}operator-name": "mpi-operator",
        f"{_PREFIX}job-name": job["metadata"]["name"],
        f"{_PREFIX}job-role": role,
    }


def _worker(job: Obj, wanted: Obj, name: str, number: int) -> Obj:
    """Without a command, a worker waits for ssh."""
    labels = {**_labels(job, "worker"), f"{_PREFIX}replica-index": str(number)}
    pod = pod_from(job, wanted["template"], name, labels)
    pod["spec"] |= {"hostname": name, "subdomain": job["metadata"]["name"]}
    pod["spec"]["restartPolicy"] = wanted.get("restartPolicy", "Never")
    first = pod["spec"]["containers"][0]
    if not first.get("command") and not first.get("args"):
        first["command"] = list(_SSHD)
    return pod


def _launcher(job: Obj) -> Obj:
    wanted = job["spec"]["mpiReplicaSpecs"]["Launcher"]
    template = copy.deepcopy(wanted["template"])
    template.setdefault("metadata", {})
    template["metadata"]["labels"] = {**labels_of(template), **_labels(job, "launcher")}
    template["spec"]["restartPolicy"] = wanted.get("restartPolicy", "Never")
    for container in template["spec"]["containers"]:  # the launcher shall see no GPU of its node
        container["env"] = [*(container.get("env") or []), {"name": "NVIDIA_VISIBLE_DEVICES", "value": ""}]
    policy = job["spec"].get("runPolicy") or {}
    spec = {"template": template, "backoffLimit": policy.get("backoffLimit", 6)}
    meta = {**_meta(job), "name": f"{job['metadata']['name']}-launcher", "labels": _labels(job, "launcher")}
    return {"metadata": meta, "spec": spec}
