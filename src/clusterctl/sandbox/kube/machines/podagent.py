"""What kubelets do with pods: run them through their states, and let go of deleted ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import behaviour, devices, podstatus
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.faults import ASK_AGAIN_S
from clusterctl.sandbox.kube.machines.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    controller_of,
    is_deleting,
    is_finished,
    key_of,
)

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.behaviour import Behaviour
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.faults import FaultBook
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj
    from clusterctl.sandbox.kube.machines.kubelets import Kubelets
    from clusterctl.sandbox.kube.machines.training.pods import Trainers

_STOP_S = 2.0
_WORKLOADS = {kind.name: kind for kind in (DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET, JOB)}


@dataclass(frozen=True, slots=True)
class _Run:
    behaviour: Behaviour
    outcome: str | None
    place: podstatus.Place
    logged: int = -1
    cued: int = 0


class PodAgent(Controller):
    """Moves bound pods through pulling, init, running, ready and their end; ends those that are deleted."""

    kind = POD
    reads = (NODE, DEPLOYMENT, REPLICA_SET, DAEMON_SET, STATEFUL_SET, JOB)

    def __init__(self, cluster: Cluster, kubelets: Kubelets, faults: FaultBook, trainers: Trainers) -> None:
        super().__init__(cluster)
        self._kubelets = kubelets
        self._faults = faults
        self._runs: dict[str, _Run] = {}
        self._stopping: dict[str, float] = {}
        self._addresses = 0
        self._trainers = trainers

    def subscribe(self) -> None:
        super().subscribe()
        self.listen(NODE, self._node_changed)

    def _node_changed(self, node: Obj, old: Obj | None) -> None:
        if old is not None and key_of(node) in self.cluster.informer(NODE):
            return
        for pod in self.cluster.informer(POD):
            if pod["spec"].get("nodeName") == node["metadata"]["name"]:
                self.add(key_of(pod))

    async def reconcile(self, key: Key) -> float | None:
        pod = self.cluster.informer(POD).get(*key)
        node = pod and pod["spec"].get("nodeName")
        if pod is None or not node:
            return None
        if ("", node) not in self.cluster.informer(NODE):
            await self._let_go(pod)
            return None
        if self._kubelets.machine(node) is None:
            return None
        if is_deleting(pod):
            return await self._stop(pod)
        if is_finished(pod):
            return None
        return await self._advance(pod)

    async def _stop(self, pod: Obj) -> float | None:
        """Give the containers a moment to stop, then release the pod."""
        now = self.cluster.clock.timestamp()
        until = self._stopping.setdefault(pod["metadata"]["uid"], now + _STOP_S)
        if now < until and pod["metadata"].get("deletionGracePeriodSeconds"):
            return until - now
        await self._let_go(pod)
        return None

    async def _let_go(self, pod: Obj) -> None:
        await self.cluster.delete(POD, pod, grace_s=0)
        self._runs.pop(pod["metadata"]["uid"], None)
        self._stopping.pop(pod["metadata"]["uid"], None)

    async def _advance(self, pod: Obj) -> float | None:
        run = await self._run_of(pod)
        age = self.cluster.clock.timestamp() - run.place.started
        now = podstatus.moment(pod, age, run.behaviour)
        fresh = podstatus.status(pod, now, run.behaviour, run.place)
        if now.state == "ended":  # a log is whole before its pod is over: whoever follows it stops then
            run = await self._print(pod, run, now, age)
        await self.cluster.set_status(POD, pod, fresh)
        run = await self._print(pod, run, now, age)
        waits = [] if now.next_change is None else [now.next_change - age]
        waits += [now.began + at - age for at, _ in run.behaviour.cues[run.cued :][:1] if now.state == "running"]
        return min(waits + [ASK_AGAIN_S] * (run.outcome is not None), default=None)

    async def _print(self, pod: Obj, run: _Run, now: podstatus.Moment, age: float) -> _Run:
        """The lines that are due, each once in a run of the container."""
        if now.state not in ("running", "waiting", "ended"):
            return run
        if now.run > run.logged:
            await self._log(pod, run)
            run = replace(run, logged=now.run, cued=0)
        due = sum(at <= age - now.began for at, _ in run.behaviour.cues)
        lines = [line for _, line in run.behaviour.cues[run.cued : due]]
        await self.cluster.client.append_log(pod, pod["spec"]["containers"][0]["name"], lines)
        run = self._runs[pod["metadata"]["uid"]] = replace(run, cued=due)
        return run

    async def _run_of(self, pod: Obj) -> _Run:
        """The run as known, begun now, or begun anew because a fault came or went."""
        uid, outcome = pod["metadata"]["uid"], await self._outcome(pod)
        known = self._runs.get(uid)
        if known and known.outcome == outcome:
            return known
        place = self._changed_place(pod, known.place) if known else self._place(pod)
        run = self._runs[uid] = _Run(await self._behaviour(pod, outcome), outcome, place)
        return run

    async def _behaviour(self, pod: Obj, outcome: str | None) -> Behaviour:
        usual = await self._trainers.behaviour(pod, behaviour.natural(pod))
        plugin = devices.plugin_of(pod)
        machine = self._kubelets.machine(pod["spec"]["nodeName"])
        if plugin and machine:
            found = devices.register(plugin, machine)
            usual = behaviour.crashing(usual, found.log) if found.crashes else replace(usual, log=found.log)
        return behaviour.with_fault(usual, outcome)

    def _place(self, pod: Obj) -> podstatus.Place:
        machine = self._kubelets.machine(pod["spec"]["nodeName"])
        host = machine.private_ip if machine else ""
        status = pod.get("status") or {}
        begun = status.get("startTime")
        started = datetime.fromisoformat(begun).timestamp() if begun else self.cluster.clock.timestamp()
        return podstatus.Place(started, status.get("podIP") or self._address(pod, host), host)

    def _changed_place(self, pod: Obj, place: podstatus.Place) -> podstatus.Place:
        statuses = (pod.get("status") or {}).get("containerStatuses") or []
        restarts = max((one.get("restartCount", 0) for one in statuses), default=0)
        begun = self.cluster.clock.timestamp() - podstatus.first_run(pod)
        return replace(place, started=max(begun, place.started), restarts=restarts + 1)

    def _address(self, pod: Obj, host: str) -> str:
        if pod["spec"].get("hostNetwork"):
            return host
        self._addresses += 1
        block, last = divmod(self._addresses, 250)
        return f"192.168.{64 + block % 190}.{last + 2}"

    async def _outcome(self, pod: Obj) -> str | None:
        owner = self._top_owner(pod)
        outcome = await self._faults.outcome(owner)
        return outcome if outcome in ("crash-loop", "not-ready") else None

    def _top_owner(self, pod: Obj) -> Obj:
        """The workload that a fault would name: a Deployment rather than its ReplicaSet; else the pod itself."""
        top, reference = pod, controller_of(pod)
        while reference:
            kind, namespace = _WORKLOADS.get(reference["kind"]), pod["metadata"]["namespace"]
            found = kind and self.cluster.informer(kind).get(namespace, reference["name"])
            if not found:
                return {"kind": reference["kind"], "metadata": {"name": reference["name"], "uid": reference["uid"]}}
            top, reference = found, controller_of(found)
        return top

    async def _log(self, pod: Obj, run: _Run) -> None:
        container = pod["spec"]["containers"][0]["name"]
        plugin = devices.plugin_of(pod)
        await self.cluster.client.append_log(pod, plugin.container if plugin else container, run.behaviour.log)
