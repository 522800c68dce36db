"""Simulated kubelets: a Node for every machine, with the resources its device plugins offer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import devices, nodeobject
from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import NODE, POD, condition_is, is_deleting, key_of
from clusterctl.sandbox.kube.machines.taints import NOT_READY

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.access import Feed, Machine
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.devices import Plugin
    from clusterctl.sandbox.kube.machines.faults import FaultBook
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj

JOIN_S = 20.0
_HEARTBEAT_S = 300.0
_HEARTBEAT_REAL_S = 10.0  # however fast time passes
_PROVIDER = "aws:///"


class Kubelets(Controller):
    """Registers nodes, makes them ready, keeps their devices and heartbeats, and removes them with their machines."""

    kind = NODE
    reads = (POD,)

    def __init__(self, cluster: Cluster, feed: Feed, faults: FaultBook, version: str) -> None:
        super().__init__(cluster)
        self._feed = feed
        self._faults = faults
        self._version = version
        self._machines: dict[str, Machine] = {}
        self._since: dict[str, float] = {}
        self._beats: dict[str, float] = {}
        self._plugins: dict[str, dict[Key, Plugin]] = defaultdict(dict)

    def machine(self, node: str) -> Machine | None:
        """The machine behind a node."""
        return self._machines.get(node)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self._follow())

    async def _follow(self) -> None:
        await self.cluster.synced((NODE, POD))
        async for machines in self._feed.changes():
            joined = {one.private_dns: one for one in machines if one.joins}
            touched = (
                set(self._machines) | set(joined) | {node["metadata"]["name"] for node in self.cluster.informer(NODE)}
            )
            changed = [name for name in touched if self._machines.get(name) != joined.get(name) or name not in joined]
            self._machines = joined
            for name in sorted(changed):
                self.add(("", name))

    def subscribe(self) -> None:
        super().subscribe()
        self.listen(POD, self._pod_changed)

    def _pod_changed(self, pod: Obj, _: Obj | None) -> None:
        node, plugin = pod["spec"].get("nodeName"), devices.plugin_of(pod)
        if not node or plugin is None:
            return
        known, key = self._plugins[node], key_of(pod)
        serving = key in self.cluster.informer(POD) and not is_deleting(pod) and _runs(pod, plugin)
        if serving == (key in known):
            return
        if serving:
            known[key] = plugin
        else:
            del known[key]
        self.add(("", node))

    async def reconcile(self, key: Key) -> float | None:
        machine, node = self._machines.get(key[1]), self.cluster.informer(NODE).get(*key)
        if node is not None and (machine is None or not _is_of(node, machine)):
            await self._remove(node)
            return 1.0 if machine else None
        if machine is None:
            return None
        if node is None:
            return await self._register(machine)
        return await self._refresh(node, machine)

    async def _register(self, machine: Machine) -> float | None:
        """Create the Node, once: a kubelet does not come back when somebody deletes its node."""
        if machine.instance_id in self._since:
            return None
        fresh = nodeobject.new_node(machine, self._version, self.cluster.timestamp())
        node = await self.cluster.create(NODE, fresh)
        self._since[machine.instance_id] = self.cluster.clock.timestamp()
        if node is not None:
            await self.cluster.set_status(NODE, node, fresh["status"])
            await self.cluster.event(node, "Starting", "Starting kubelet.")
        return JOIN_S

    async def _remove(self, node: Obj) -> None:
        if str((node.get("spec") or {}).get("providerID", "")).startswith(_PROVIDER):
            await self.cluster.delete(NODE, node)

    async def _refresh(self, node: Obj, machine: Machine) -> float:
        now, name = self.cluster.clock.timestamp(), node["metadata"]["name"]
        up_in = self._since.get(machine.instance_id, now - JOIN_S) + JOIN_S - now
        if up_in > 0:
            return up_in
        ready = await self._outcome(node, machine) != "not-ready"
        interval = max(_HEARTBEAT_S, _HEARTBEAT_REAL_S * self.cluster.clock.speed)
        beats = now - self._beats.get(name, 0.0) >= interval or condition_is(node, "Ready") != ready
        offered = devices.offered(self._plugins[name].values(), machine) if ready else {}
        when = self.cluster.timestamp()

        def report(fresh: Obj) -> None:
            status = fresh.setdefault("status", {})
            if beats:
                status["conditions"] = nodeobject.conditions(status.get("conditions") or [], when, ready=ready)
            for field in ("capacity", "allocatable"):
                status[field] = nodeobject.with_extended(status.get(field) or {}, offered)

        stored = await self.cluster.modify(NODE, node, report, "status")
        if beats:
            self._beats[name] = now
        if stored:
            await self.cluster.modify(NODE, stored, lambda fresh: _taint(fresh, ready=ready))
        return interval

    async def _outcome(self, node: Obj, machine: Machine) -> str | None:
        """The scenario's fault, by the name of the node, its instance or its node group; asked at each heartbeat."""
        self._faults.recheck(node)
        names = (machine.instance_id, machine.nodegroup)
        return await self._faults.outcome(node, names, zone=machine.zone, instance_type=machine.instance_type)


def _runs(pod: Obj, plugin: Plugin) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(one["name"] == plugin.container and "running" in (one.get("state") or {}) for one in statuses)


def _is_of(node: Obj, machine: Machine) -> bool:
    return bool((node.get("spec") or {}).get("providerID") == nodeobject.provider_id(machine))


def _taint(node: Obj, *, ready: bool) -> None:
    taints = [one for one in node["spec"].get("taints") or [] if one["key"] != NOT_READY["key"]]
    node["spec"]["taints"] = taints if ready else [*taints, dict(NOT_READY)]
    if not node["spec"]["taints"]:
        del node["spec"]["taints"]
