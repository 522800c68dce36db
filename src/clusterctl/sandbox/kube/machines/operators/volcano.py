"""Volcano: vcjobs become a PodGroup and, once that is admitted, pods; the gang is bound together or not at all."""

from __future__ import annotations

import copy
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import fit, resources
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import (
    NODE,
    POD,
    SERVICE,
    Key,
    Kind,
    Obj,
    annotations_of,
    condition,
    is_deleting,
    is_finished,
    key_of,
    owner_reference,
    set_condition,
)
from clusterctl.sandbox.kube.machines.templates import pod_from

if TYPE_CHECKING:
    pass

VC_JOB = Kind("batch.volcano.sh", "v1alpha1", "jobs", "Job")
POD_GROUP = Kind("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
GROUP = "scheduling.k8s.io/group-name"
NAME = "volcano"
_PASS: Key = ("", "pass")
_REST_S = 0.05  # real seconds between two passes
_NOTHING, _OVERCOMMIT = Decimal(0), Decimal("1.2")
_FINAL = ("Completed", "Failed", "Aborted", "Terminated")


class VcJobs(Controller):
    """The controller manager's part: PodGroup, service, pods of every task, and the job's phase."""

    kind = VC_JOB
    owns = (POD, POD_GROUP)

    async def reconcile(self, key: Key) -> float | None:
        job = self.cluster.informer(VC_JOB).get(*key)
        if job is None or is_deleting(job) or _phase(job) in _FINAL:
            return None
        group = await self._group(job)
        if "svc" in (job["spec"].get("plugins") or {}):
            await self._service(job)
        pods = self.cluster.informer(POD).owned_by(job)
        if group and (group.get("status") or {}).get("phase", "Pending") != "Pending":
            pods = await self._pods(job, pods)
        await self._report(job, pods)
        return None

    async def _group(self, job: Obj) -> Obj | None:
        name = group_of(job)
        meta = {"name": name, "namespace": job["metadata"]["namespace"], "ownerReferences": [owner_reference(job)]}
        spec = {
            "minMember": job["spec"].get("minAvailable") or _replicas(job),
            "queue": job["spec"].get("queue", "default"),
            "minResources": {name: str(amount) for name, amount in _wanted(job).items() if name != "pods"},
        }
        known = self.cluster.informer(POD_GROUP).get(meta["namespace"], name)
        return known or await self.cluster.create(POD_GROUP, {"metadata": meta, "spec": spec})

    async def _service(self, job: Obj) -> None:
        meta = {**_owned(job), "name": job["metadata"]["name"]}
        spec = {"clusterIP": "None", "selector": _labels(job), "publishNotReadyAddresses": True}
        await self.cluster.create(SERVICE, {"metadata": meta, "spec": spec})

    async def _pods(self, job: Obj, pods: list[Obj]) -> list[Obj]:
        have = {pod["metadata"]["name"]: pod for pod in pods}
        for task in job["spec"]["tasks"]:
            for number in range(task.get("replicas", 1)):
                name = f"{job['metadata']['name']}-{task['name']}-{number}"
                if name not in have:
                    made = await self.cluster.create(POD, _pod(job, task, name, number))
                    have |= {name: made} if made else {}
        return list(have.values())

    async def _report(self, job: Obj, pods: list[Obj]) -> None:
        phases = [(pod.get("status") or {}).get("phase", "Pending") for pod in pods]
        minimum = job["spec"].get("minAvailable") or _replicas(job)
        phase, reason = "Pending", ""
        if "Failed" in phases:
            phase, reason = "Failed", "PodFailed"
        elif phases and phases.count("Succeeded") >= _replicas(job):
            phase, reason = "Completed", "TaskCompleted"
        elif phases.count("Running") + phases.count("Succeeded") >= minimum:
            phase = "Running"
        said = _culprit(pods) if phase == "Failed" else ""
        if phase == "Failed":
            phase = _after_failure(job)
            for pod in pods:
                if not is_finished(pod) and not is_deleting(pod):
                    await self.cluster.delete(POD, pod)
        state = {"phase": phase, "reason": reason, "message": said, "lastTransitionTime": self.cluster.timestamp()}
        if phase == _phase(job):
            state["lastTransitionTime"] = job["status"]["state"].get("lastTransitionTime", "")
        counts = {name.lower(): phases.count(name) or None for name in ("Pending", "Running", "Succeeded", "Failed")}
        await self.cluster.set_status(VC_JOB, job, {"state": state, "minAvailable": minimum, **counts})


class GangScheduler(Controller):
    """The scheduler's part: admits PodGroups, and binds all of a gang in one pass or nothing of it."""

    kind = POD_GROUP
    reads = (NODE, POD)

    def subscribe(self) -> None:
        for kind in (POD_GROUP, NODE, POD):
            self.listen(kind, lambda _, __: self._arm(_PASS, _REST_S))

    async def reconcile(self, key: Key) -> float | None:
        nodes = [node for node in self.cluster.informer(NODE) if not is_deleting(node)]
        free = self._free(nodes)
        for group in sorted(self.cluster.informer(POD_GROUP), key=key_of):
            if not is_deleting(group):
                await self._schedule(group, nodes, free)
        return None

    def _free(self, nodes: list[Obj]) -> dict[str, resources.Amounts]:
        running: dict[str, list[Obj]] = defaultdict(list)
        for pod in self.cluster.informer(POD):
            if pod["spec"].get("nodeName") and not is_finished(pod):
                running[pod["spec"]["nodeName"]].append(pod)
        return {
            name: resources.subtract(resources.allocatable(node), resources.used(running[name]))
            for node in nodes
            if (name := node["metadata"]["name"])
        }

    async def _schedule(self, group: Obj, nodes: list[Obj], free: dict[str, resources.Amounts]) -> None:
        pods = [pod for pod in self.cluster.informer(POD) if _is_of(pod, group)]
        minimum = group["spec"].get("minMember", 1)
        if not pods:
            await self._phase(group, "Inqueue" if self._admits(group, free) else "Pending")
            return
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName") and not is_deleting(pod)]
        if not waiting:
            await self._phase(group, "Running" if len(bound) >= minimum else "Inqueue")
            return
        plan = place(waiting, nodes, free)
        if len(bound) + len(plan) >= minimum:
            for pod, node in plan:
                await self._bind(pod, node)
        else:
            await self._refuse(group, waiting, nodes, free)

    def _admits(self, group: Obj, free: dict[str, resources.Amounts]) -> bool:
        """The enqueue action: what the gang needs is there in all, with Volcano's overcommit factor of 1.2."""
        wanted = group["spec"].get("minResources") or {}
        return all(
            resources.quantity(amount) <= sum(one.get(name, _NOTHING) for one in free.values()) * _OVERCOMMIT
            for name, amount in wanted.items()
        )

    async def _phase(self, group: Obj, phase: str) -> None:
        await self.cluster.set_status(POD_GROUP, group, {"phase": phase})

    async def _bind(self, pod: Obj, node: str) -> None:
        meta = pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": _named(meta), "target": target}
        await self.cluster.client.create(POD, binding, "binding")
        words = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
        await self.cluster.event(pod, "Scheduled", words)

    async def _refuse(
        self, group: Obj, waiting: list[Obj], nodes: list[Obj], free: dict[str, resources.Amounts]
    ) -> None:
        reasons = fit.explain([fit.reasons_against(waiting[0], node, free[node["metadata"]["name"]]) for node in nodes])
        count, minimum = len(waiting), group["spec"].get("minMember", 1)
        words = f"pod group is not ready, {count} Pending, {minimum} minAvailable; {reasons}"
        for pod in waiting:
            fresh = condition("PodScheduled", "False", "Unschedulable", words, self.cluster.timestamp())
            held = (pod.get("status") or {}).get("conditions") or []
            if set_condition(held, fresh) != held:
                await self.cluster.set_status(POD, pod, {"phase": "Pending", "conditions": set_condition(held, fresh)})


def place(waiting: list[Obj], nodes: list[Obj], free: dict[str, resources.Amounts]) -> list[tuple[Obj, str]]:
    """Where each of these pods could go, taken from what is free; those that fit nowhere are left out."""
    left = copy.deepcopy(free)
    plan = []
    for pod in sorted(waiting, key=key_of):
        names = [
            node["metadata"]["name"]
            for node in nodes
            if not fit.reasons_against(pod, node, left[node["metadata"]["name"]])
        ]
        if names:
            left[names[0]] = resources.subtract(left[names[0]], resources.pod_requests(pod))
            plan.append((pod, names[0]))
    return plan


def group_of(job: Obj) -> str:
    return f"{job['metadata']['name']}-{job['metadata']['uid']}"


def _is_of(pod: Obj, group: Obj) -> bool:
    meta = group["metadata"]
    same = pod["metadata"]["namespace"] == meta["namespace"] and annotations_of(pod).get(GROUP) == meta["name"]
    return same and pod["spec"].get("schedulerName") == NAME and not is_finished(pod)


def _named(meta: Obj) -> Obj:
    return {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}


def _owned(job: Obj) -> Obj:
    return {"namespace": job["metadata"]["namespace"], "ownerReferences": [owner_reference(job)]}


def _labels(job: Obj) -> dict[str, str]:
    return {"volcano.sh/job-name": job["metadata"]["name"], "volcano.sh/job-namespace": job["metadata"]["namespace"]}


def _pod(job: Obj, task: Obj, name: str, number: int) -> Obj:
    labels = {**_labels(job), "volcano.sh/task-spec": task["name"], "volcano.sh/task-index": str(number)}
    pod = pod_from(job, task["template"], name, labels)
    pod["metadata"]["annotations"] |= {GROUP: group_of(job), "volcano.sh/job-name": job["metadata"]["name"]}
    pod["spec"] |= {"schedulerName": job["spec"].get("schedulerName", NAME)}
    if "svc" in (job["spec"].get("plugins") or {}):
        pod["spec"] |= {"hostname": name, "subdomain": job["metadata"]["name"]}
    if "env" in (job["spec"].get("plugins") or {}):
        index = [{"name": key, "value": str(number)} for key in ("VC_TASK_INDEX", "VK_TASK_INDEX")]
        for container in pod["spec"]["containers"]:
            container["env"] = [*(container.get("env") or []), *index]
    return pod


def _replicas(job: Obj) -> int:
    return sum(int(task.get("replicas", 1)) for task in job["spec"]["tasks"])


def _wanted(job: Obj) -> resources.Amounts:
    pods = [{"spec": task["template"]["spec"]} for task in job["spec"]["tasks"] for _ in range(task.get("replicas", 1))]
    return resources.used(pods)


def _after_failure(job: Obj) -> str:
    """What the job's policy makes of a failed pod; restarting is not played, so its last phase comes at once."""
    policies = {one.get("event"): one.get("action") for one in job["spec"].get("policies") or []}
    return {"AbortJob": "Aborted", "TerminateJob": "Terminated"}.get(policies.get("PodFailed", ""), "Failed")


def _phase(job: Obj) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase", ""))


def _culprit(pods: list[Obj]) -> str:
    failed = [pod["metadata"]["name"] for pod in pods if (pod.get("status") or {}).get("phase") == "Failed"]
    return f"pod {failed[0]} failed" if failed else ""
