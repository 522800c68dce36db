"""KubeRay: head and workers of a RayCluster; and Ray itself in the head, which is given jobs by `ray job submit`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    NODE,
    POD,
    SERVICE,
    Key,
    Kind,
    Obj,
    condition,
    is_deleting,
    is_ready,
    labels_of,
    owner_reference,
    set_condition,
)
from clusterctl.sandbox.kube.machines.templates import PodNames, pod_from
from clusterctl.sandbox.kube.machines.training import fabric, programs

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.training.pods import Trainers

RAY_CLUSTER = Kind("ray.io", "v1", "rayclusters", "RayCluster")
_CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap")
_LOOK_S = 0.3  # real seconds between two looks at what was submitted
_SUBMIT = re.compile(r"^ray job submit .*--submission-id[= ](?P<id>\S+).* -- (?P<entry>.+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A job in a head: when it began, its lines, how many of them are out, and how it ends."""

    began: float
    cues: tuple[programs.Cue, ...]
    run_s: float
    exit_code: int
    printed: int = 0
    done: bool = False


class RayClusters(Controller):
    """Pods as the groups say, the cluster's state, and the jobs in its head."""

    kind = RAY_CLUSTER
    owns = (POD,)
    reads = (NODE,)

    def __init__(self, cluster: Cluster, trainers: Trainers) -> None:
        super().__init__(cluster)
        self._names = PodNames()
        self._trainers = trainers
        self._jobs: dict[tuple[str, str], _Submitted] = {}
        self._serving: set[str] = set()  # heads that take jobs

    async def reconcile(self, key: Key) -> float | None:
        wanted = self.cluster.informer(RAY_CLUSTER).get(*key)
        if wanted is None or is_deleting(wanted):
            return None
        await self._service(wanted)
        pods = await self._pods(wanted)
        ready = all(is_ready(pod) for pod in pods)
        head = next(pod for pod in pods if labels_of(pod)["ray.io/node-type"] == "head")
        if ready and head["metadata"]["uid"] not in self._serving:
            await self.cluster.client.set_answer(head, r"^ray job status ", "")
            await self.cluster.client.set_answer(head, r"^ray job submit ", "Job submitted successfully\n")
            self._serving.add(head["metadata"]["uid"])
        await self._report(wanted, pods, ready=ready)
        if not ready:
            return None
        await self._play(head, [pod for pod in pods if pod is not head])
        return _LOOK_S * self.cluster.clock.speed

    async def _service(self, wanted: Obj) -> None:
        meta = wanted["metadata"]
        ports = [{"name": name, "port": port} for name, port in (("gcs", 6379), ("dashboard", 8265), ("client", 10001))]
        selector = {"ray.io/cluster": meta["name"], "ray.io/node-type": "head"}
        named = {"name": f"{meta['name']}-head-svc", "namespace": meta["namespace"]}
        named["ownerReferences"] = [owner_reference(wanted)]
        await self.cluster.create(
            SERVICE, {"metadata": named, "spec": {"clusterIP": "None", "selector": selector, "ports": ports}}
        )

    async def _pods(self, wanted: Obj) -> list[Obj]:
        have = [pod for pod in self.cluster.informer(POD).owned_by(wanted) if not is_deleting(pod)]
        groups = [("headgroup", "head", 1, wanted["spec"]["headGroupSpec"]["template"])]
        groups += [
            (one["groupName"], "worker", one.get("replicas", 0), one["template"])
            for one in wanted["spec"].get("workerGroupSpecs") or []
        ]
        for name, role, count, template in groups:
            missing = count - sum(labels_of(pod).get("ray.io/group") == name for pod in have)
            for _ in range(missing):
                made = await self.cluster.create(POD, self._pod(wanted, name, role, template))
                have += [made] if made else []
        return have

    def _pod(self, wanted: Obj, group: str, role: str, template: Obj) -> Obj:
        name = wanted["metadata"]["name"]
        prefix = f"{name}-head" if role == "head" else f"{name}-{group}-worker"
        labels = {"ray.io/cluster": name, "ray.io/node-type": role, "ray.io/group": group}
        pod = pod_from(wanted, template, self._names.next(wanted, prefix), labels)
        start = "ray start --head --block" if role == "head" else f"ray start --address={name}-head-svc:6379 --block"
        pod["spec"]["containers"][0] |= {"command": ["/bin/bash", "-c", "--"], "args": [start]}
        return pod

    async def _report(self, wanted: Obj, pods: list[Obj], *, ready: bool) -> None:
        when, words = self.cluster.timestamp(), ("True" if ready else "False")
        held = (wanted.get("status") or {}).get("conditions") or []
        provisioned = condition("RayClusterProvisioned", words, "AllPodRunningAndReadyFirstTime", "", when)
        workers = [pod for pod in pods if labels_of(pod)["ray.io/node-type"] == "worker"]
        status = {
            "state": "ready" if ready else None,
            "desiredWorkerReplicas": len(workers),
            "readyWorkerReplicas": sum(is_ready(pod) for pod in workers),
            "conditions": set_condition(held, provisioned),
            "observedGeneration": wanted["metadata"].get("generation", 1),
        }
        await self.cluster.set_status(RAY_CLUSTER, wanted, status)

    async def _play(self, head: Obj, workers: list[Obj]) -> None:
        """Take in what was submitted, and let the running jobs print what is due."""
        client = self.cluster.client
        for command in await client.commands(head):
            found = _SUBMIT.match(command)
            key = (head["metadata"]["uid"], found["id"]) if found else None
            if found and key and key not in self._jobs:
                self._jobs[key] = await self._begin(head, workers, found["entry"])
        for key, job in list(self._jobs.items()):
            if key[0] == head["metadata"]["uid"] and not job.done:
                self._jobs[key] = await self._advance(head, key[1], job)

    async def _begin(self, head: Obj, workers: list[Obj], entry: str) -> _Submitted:
        """The entry's own words, or those of the script that it names, which a ConfigMap holds."""
        now = self.cluster.clock.timestamp()
        work = programs.work_of(await self._text(head, entry))
        if work is None:
            return _Submitted(now, ((1.0, f"bash: {entry}: nothing that the sandbox can play"),), 2.0, exit_code=1)
        places, crash = await self._trainers.places(workers, work)
        script = programs.play(work, places, first=True, crash=crash)
        for place, pod in zip(places, sorted(workers, key=lambda one: str(one["metadata"]["name"])), strict=False):
            await self._evidence(pod, place)
        loud = [cue for cue in script.cues if " INFO " not in cue[1] and "provider:" not in cue[1]]
        run_id = fabric.environment(head["spec"]["containers"][0]).get("CLUSTERCTL_RUN_ID", "")
        return _Submitted(now, ((0.0, f"clusterctl-run: {run_id}"), *loud), script.run_s, script.exit_code)

    async def _evidence(self, pod: Obj, place: fabric.Seat) -> None:
        run_id = dict(place.env).get("CLUSTERCTL_RUN_ID", "")
        lines = [f"clusterctl-run: {run_id} host={place.host}", *fabric.fi_info(place), *fabric.nccl(place)]
        await self.cluster.client.set_answer(pod, r"evidence\.sh.*nccl\.", "\n".join(lines) + "\n")

    async def _text(self, head: Obj, entry: str) -> str:
        found = re.search(r"/clusterctl/(?P<file>[\w.-]+\.sh)", entry)
        names = [one["configMap"]["name"] for one in head["spec"].get("volumes") or [] if one.get("configMap")]
        if not found or not names:
            return entry
        config = await self.cluster.client.get(_CONFIG_MAP, head["metadata"]["namespace"], names[0])
        return str((config.get("data") or {}).get(found["file"], entry))

    async def _advance(self, head: Obj, ident: str, job: _Submitted) -> _Submitted:
        age = self.cluster.clock.timestamp() - job.began
        due = [line for at, line in job.cues[job.printed :] if at <= age]
        await self.cluster.client.append_log(head, head["spec"]["containers"][0]["name"], due)
        over = age >= job.run_s
        status = ("FAILED" if job.exit_code else "SUCCEEDED") if over else "RUNNING"
        await self.cluster.client.set_answer(
            head, rf"^ray job status .*{re.escape(ident)}", f"Status for job '{ident}': {status}\n"
        )
        return replace(job, printed=job.printed + len(due), done=over)
