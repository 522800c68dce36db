"""A small cloud in memory: clusters, node groups, reservations and releases over a clock that only sleep moves.

It obeys what hurts: an eksctl that lives on when its run is killed, a list that shows a new reservation seconds late, a
scaling group that finds no instance, a cluster stack that cannot go before its node groups. Every call that changes it
is a moment at which a run can be killed, or at which the answer is lost.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import yaml
from botocore.exceptions import ClientError, ConnectionClosedError

from clusterctl.errors import InterruptedRunError, ToolFailedError
from clusterctl.model.capacity import Question, Quota, RegionFacts, Reservation, Zone
from clusterctl.model.cluster import ClusterState, NodegroupState, ScalingActivity, StackState
from clusterctl.model.instances import InstanceType, quota_code
from clusterctl.model.kube import Component, KubeAccess, ReleaseState, Signal, WorkloadRef, WorkloadState
from clusterctl.model.leftovers import Findings, Resource, ResourceKind
from clusterctl.model.names import cluster_stack, nodegroup_stack
from clusterctl.model.specs import SYSTEM_NODEGROUP
from clusterctl.model.verification import NodeFacts
from fakes import START

KIND = InstanceType("g6.12xlarge", 48, 196_608, gpus=4, gpu_name="L4", efa_interfaces=1)
REGIONS = {"us-east-2": "use2", "us-west-2": "usw2"}
CLUSTER_S, GROUP_S, FAILING_S, GOING_S = 600.0, 180.0, 1500.0, 240.0
SEEN_AFTER_S = 3.0
EKSCTL_PLUGIN = WorkloadRef("DaemonSet", "kube-system", "aws-efa-k8s-device-plugin")
_CONDITIONS = [{"type": kind, "status": "True"} for kind in ("Established", "Ready")]
_VERSIONS = [{"name": name} for name in ("v1", "v1alpha1", "v1beta1", "v2beta1")]
WELL = {"metadata": {}, "spec": {"versions": _VERSIONS}, "status": {"conditions": _CONDITIONS}}
BEFORE, AFTER, LOST = "before", "after", "answer lost"


class KilledError(BaseException):
    """What no code of ours catches: the process is gone."""


@dataclass
class Made:
    """A thing behind a stack: when its making began, how long that takes, and when its removal began."""

    name: str
    tags: dict[str, str]
    born: float
    takes: float
    fails: bool = False
    dying: float | None = None
    stuck: bool = False
    zone: str = ""
    kind: str = ""
    count: int = 0
    reservation: str = ""
    addons: dict[str, str] = field(default_factory=dict)  # name -> status
    trusted: bool = False

    def stack(self, now: float) -> str:
        if self.dying is not None:
            if now < self.dying + GOING_S:
                return "DELETE_IN_PROGRESS"
            return "DELETE_FAILED" if self.stuck else ""
        if now < self.born + self.takes:
            return "CREATE_IN_PROGRESS"
        return "ROLLBACK_COMPLETE" if self.fails else "CREATE_COMPLETE"

    def status(self, now: float) -> str:
        """EKS's word; it shows a thing some time after the stack has begun."""
        if self.dying is not None:
            return "DELETING" if now < self.dying + GOING_S else ("ACTIVE" if self.stuck else "")
        if now < self.born + 30:
            return ""
        if now < self.born + self.takes:
            return "CREATING"
        return "CREATE_FAILED" if self.fails else "ACTIVE"


class EksctlRun:
    """A process that works in steps, each at its time; it lives on until somebody ends it."""

    def __init__(self, world: SimWorld, steps: Iterator[float]) -> None:
        self._world = world
        self._steps = steps
        self._wakes = world.seconds
        self.exit_code: int | None = None
        self.tail = "eksctl said this last"

    def advance(self) -> None:
        while self.exit_code is None and self._wakes <= self._world.seconds:
            try:
                self._wakes = next(self._steps)
            except StopIteration as end:
                self.exit_code = end.value or 0

    @property
    def running(self) -> bool:
        return self.exit_code is None

    def stop(self) -> None:
        self._world.check_alive()
        self.end()

    def end(self) -> None:
        if self.exit_code is None:
            self.exit_code = -15


class SimWorld:
    """The whole account. `disturb` is a call (as `calls` names it) and a moment; `dies_at` is a second."""

    def __init__(self, stock: Mapping[str, int] | None = None, quota: float = 1000.0) -> None:
        self.lock = threading.RLock()
        self.seconds = 0.0
        self.stock = dict(stock or {})  # zone -> instances; plenty where nothing is said
        self.quota = quota
        self.clusters: dict[str, Made] = {}  # region -> the cluster
        self.groups: dict[tuple[str, str], Made] = {}  # (region, name)
        self.reservations: list[dict[str, Any]] = []
        self.releases: dict[tuple[str, str], tuple[Component, str]] = {}
        self.foreign_daemons: set[WorkloadRef] = set()
        self.objects: dict[str, int] = {}
        self.volumes: set[str] = set()
        self.runs: list[EksctlRun] = []
        self.calls: list[str] = []
        self.most_groups = 0
        self._counted: Counter[str] = Counter()
        self.disturb: tuple[str, str] | None = None
        self.dies_at: float | None = None
        self.stops_at: float | None = None
        self.dead = False

    # --- disturbances

    def check_alive(self) -> None:
        if self.dead:
            raise KilledError

    def die(self) -> None:
        self.dead = True
        raise KilledError

    def reborn(self, *, children_too: bool = False) -> None:
        """A new process in the same world, which nothing disturbs; of a machine that was off, no child lives on."""
        if children_too:
            self.end_children(())
        self.dead, self.disturb, self.dies_at, self.stops_at = False, None, None, None

    @contextmanager
    def moment(self, label: str, lost: Callable[[], Exception] | None = None) -> Iterator[None]:
        """One change: a run may be killed on either side of it, and its answer may be lost."""
        with self.lock:
            self.check_alive()
            self._counted[label] += 1
            name = f"{label} #{self._counted[label]}"
            self.calls.append(name)
            if self.disturb == (name, BEFORE):
                self.die()
        yield
        with self.lock:
            if self.disturb == (name, AFTER):
                self.die()
        if self.disturb == (name, LOST) and lost:
            raise lost()

    def sleep(self, seconds: float, *, steady: bool = False) -> None:
        with self.lock:
            self.check_alive()
            if self.stops_at is not None and self.seconds + seconds >= self.stops_at and not steady:
                raise InterruptedRunError("interrupted")
            self.seconds += seconds
            if self.dies_at is not None and self.seconds >= self.dies_at:
                self.die()
            self._advance()

    def _advance(self) -> None:
        for run in self.runs:
            run.advance()
        alive = [one for (_, name), one in self.groups.items() if name != SYSTEM_NODEGROUP and one.stack(self.seconds)]
        self.most_groups = max(self.most_groups, len(alive))

    def end_children(self, runs: Collection[str]) -> int:
        ended = [run for run in self.runs if run.running]
        for run in ended:
            run.end()
        return len(ended)

    # --- what there is

    def cluster_made(self, region: str) -> Made | None:
        made = self.clusters.get(region)
        return made if made and made.stack(self.seconds) else None

    def group_made(self, region: str, name: str) -> Made | None:
        made = self.groups.get((region, name))
        return made if made and made.stack(self.seconds) else None

    def room(self, zone: str, count: int, into: str = "") -> bool:
        """Whether that many more can be had; a launch into a reservation finds there what that one holds."""
        used = sum(one.count for one in self.groups.values() if one.zone == zone and one.stack(self.seconds))
        held = sum(one["TotalInstanceCount"] for one in self.held()
                   if one["AvailabilityZone"] == zone and one["CapacityReservationId"] != into)  # fmt: skip
        return zone not in self.stock or used + held + count <= self.stock[zone]

    def held(self) -> list[dict[str, Any]]:
        return [one for one in self.reservations if one["State"] == "active"]

    def at(self, second: float) -> datetime:
        return START + timedelta(seconds=second)

    def snapshot(self) -> dict[str, Any]:
        """Everything that costs, without what differs from run to run."""
        now = self.seconds
        return {
            "clusters": {
                region: (one.stack(now), one.status(now), sorted(one.addons.items()), one.trusted)
                for region, one in self.clusters.items() if one.stack(now)
            },
            "groups": {
                key: (one.stack(now), one.status(now), one.zone, one.kind, one.count)
                for key, one in self.groups.items() if one.stack(now)
            },
            "releases": {key: values for key, (_, values) in self.releases.items()},
            "daemons": set(self.foreign_daemons),
            "reservations": [one["CapacityReservationId"] for one in self.held()],
            "objects": dict(self.objects),
            "volumes": set(self.volumes),
        }  # fmt: skip

    # --- the server's side of eksctl

    def begin(self, steps: Iterator[float]) -> EksctlRun:
        with self.lock:
            run = EksctlRun(self, steps)
            self.runs.append(run)
            return run

    def make_cluster(self, config: dict[str, Any]) -> Iterator[float]:
        region, name = config["metadata"]["region"], config["metadata"]["name"]
        yield self.seconds + 20
        if self.cluster_made(region):
            return 1
        made = self.clusters[region] = Made(name, config["metadata"]["tags"], self.seconds, CLUSTER_S)
        yield made.born + CLUSTER_S
        made.addons |= dict.fromkeys((one["name"] for one in config["addons"]), "ACTIVE")
        made.trusted = True
        yield from self.make_group(config)
        return 0

    def make_group(self, config: dict[str, Any]) -> Iterator[float]:
        wanted = config["managedNodeGroups"][0]
        region, name = config["metadata"]["region"], wanted["name"]
        yield self.seconds + 20
        if self.group_made(region, name):
            return 0
        zone = self._zone(wanted)
        target = wanted.get("capacityReservation", {}).get("capacityReservationTarget", {})
        into = str(target.get("capacityReservationID", ""))
        fails = not self.room(zone, wanted["desiredCapacity"], into)
        made = self.groups[region, name] = Made(
            name, config["metadata"]["tags"], self.seconds, FAILING_S if fails else GROUP_S, fails,
            zone=zone, kind=wanted["instanceType"], count=wanted["desiredCapacity"], reservation=into,
        )  # fmt: skip
        yield made.born + made.takes
        if fails:
            return 1
        if wanted.get("efaEnabled"):
            self.foreign_daemons.add(EKSCTL_PLUGIN)
        return 0

    def _zone(self, wanted: Mapping[str, Any]) -> str:
        if subnets := wanted.get("subnets"):
            return str(subnets[0]).removeprefix("subnet-")
        return str((wanted.get("availabilityZones") or [""])[0])

    def unmake_cluster(self, region: str) -> Iterator[float]:
        yield self.seconds + 10
        for (where, name), _ in list(self.groups.items()):
            if where == region and self.group_made(region, name):
                self.remove_group(region, name)
        while any(where == region and one.stack(self.seconds) for (where, _), one in self.groups.items()):
            yield self.seconds + 15
        self.remove_cluster(region)
        while self.cluster_made(region):
            yield self.seconds + 15
        return 0

    def trust(self, region: str) -> Iterator[float]:
        yield self.seconds + 10
        if made := self.cluster_made(region):
            made.trusted = True
        return 0

    def remove_group(self, region: str, name: str) -> None:
        made = self.group_made(region, name)
        if made and (made.dying is None or made.stuck):
            made.dying, made.stuck = self.seconds, False

    def remove_cluster(self, region: str) -> None:
        made = self.cluster_made(region)
        if made and (made.dying is None or made.stack(self.seconds) == "DELETE_FAILED"):
            made.dying = self.seconds
            made.stuck = any(where == region and one.stack(self.seconds) for (where, _), one in self.groups.items())
            if not made.stuck:
                self.releases.clear()
                self.foreign_daemons.clear()
                self.objects.clear()


@dataclass(frozen=True)
class WorldClock:
    """The Clock of a run. A steady one is not interrupted by Ctrl-C."""

    world: SimWorld
    steady: bool = False

    def now(self) -> datetime:
        return self.world.at(self.world.seconds)

    def sleep(self, seconds: float) -> None:
        self.world.sleep(seconds, steady=self.steady)


@dataclass(frozen=True)
class WorldClusters:
    """Implements ports.ClusterReader."""

    world: SimWorld

    def cluster(self, region: str, name: str) -> ClusterState:
        world = self.world
        with world.lock:
            world.check_alive()
            made, system = world.cluster_made(region), self.stack(region, nodegroup_stack(name, SYSTEM_NODEGROUP))
            stack = self.stack(region, cluster_stack(name))
            if made is None or not (status := made.status(world.seconds)):
                return ClusterState(region, name, stack=stack, system_stack=system)
            active = status == "ACTIVE"
            zones = [f"{region}{letter}" for letter in "abc"]
            groups = {key[1]: one.status(world.seconds) for key, one in world.groups.items() if key[0] == region}
            return ClusterState(
                region, name, status, version="1.34", endpoint="https://cluster.example" if active else "",
                certificate_authority="Q0E=", oidc_issuer="https://issuer.example", oidc_provider=made.trusted,
                vpc_id="vpc-1", private_subnets={zone: f"subnet-{zone}" for zone in zones},
                addons=dict(made.addons), nodegroups={k: v for k, v in groups.items() if v},
                tags=made.tags, stack=stack, system_stack=system, created=world.at(made.born),
            )  # fmt: skip

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        world = self.world
        with world.lock:
            world.check_alive()
            stack, made = self.stack(region, nodegroup_stack(cluster, name)), world.group_made(region, name)
            if made is None or not (status := made.status(world.seconds)):
                return NodegroupState(region, cluster, name, stack=stack)
            there = made.count if status == "ACTIVE" else 0
            return NodegroupState(
                region, cluster, name, status, stack, made.kind, (made.zone,), (f"subnet-{made.zone}",),
                desired=made.count, minimum=made.count, maximum=made.count, tags=made.tags, instances=there,
                reservation_id=made.reservation,
                activities=self._activities(made), created=world.at(made.born),
            )  # fmt: skip

    def stack(self, region: str, name: str) -> StackState:
        world = self.world
        made = next((one for one in self._made(region) if _stack_name(one, self.world, region) == name), None)
        if made is None or not (status := made.stack(world.seconds)):
            return StackState(name)
        deleted = None if made.dying is None else world.at(made.dying)
        return StackState(name, status, made.tags, world.at(made.born), deleted=deleted)

    def _made(self, region: str) -> list[Made]:
        groups = [one for (where, _), one in self.world.groups.items() if where == region]
        return [*groups, *filter(None, [self.world.clusters.get(region)])]

    def _activities(self, made: Made) -> tuple[ScalingActivity, ...]:
        """A failed launch every half a minute, in EC2's words."""
        if not made.fails:
            return ()
        words = "InsufficientInstanceCapacity - We currently do not have sufficient g6.12xlarge capacity"
        seconds = range(int(made.born) + 60, int(self.world.seconds) + 1, 30)
        return tuple(ScalingActivity(self.world.at(second), "Failed", words) for second in seconds)


def _stack_name(made: Made, world: SimWorld, region: str) -> str:
    cluster = world.clusters[region].name if region in world.clusters else ""
    return cluster_stack(cluster) if made is world.clusters.get(region) else nodegroup_stack(cluster, made.name)


@dataclass(frozen=True)
class WorldEksctl:
    """Implements ports.Eksctl."""

    world: SimWorld

    def create_cluster(self, config: str) -> EksctlRun:
        with self.world.moment("eksctl create cluster"):
            return self.world.begin(self.world.make_cluster(yaml.safe_load(config)))

    def create_nodegroup(self, config: str) -> EksctlRun:
        with self.world.moment("eksctl create nodegroup"):
            return self.world.begin(self.world.make_group(yaml.safe_load(config)))

    def delete_cluster(self, region: str, cluster: str) -> EksctlRun:
        with self.world.moment("eksctl delete cluster"):
            return self.world.begin(self.world.unmake_cluster(region))

    def associate_oidc(self, region: str, cluster: str) -> EksctlRun:
        with self.world.moment("eksctl associate oidc"):
            return self.world.begin(self.world.trust(region))


@dataclass(frozen=True)
class WorldAws:
    """Implements ports.AwsWriter."""

    world: SimWorld

    def create_addon(self, region: str, cluster: str, addon: str) -> None:
        with self.world.moment(f"create addon {addon}", _unheard_tool):
            self.world.clusters[region].addons[addon] = "ACTIVE"

    def delete_addon(self, region: str, cluster: str, addon: str) -> None:
        with self.world.moment(f"delete addon {addon}", _unheard_tool):
            self.world.clusters[region].addons.pop(addon, None)

    def delete_nodegroup(self, region: str, cluster: str, nodegroup: str) -> None:
        with self.world.moment("delete nodegroup", _unheard_tool), self.world.lock:
            self.world.remove_group(region, nodegroup)

    def delete_stack(self, region: str, stack: str) -> None:
        with self.world.moment("delete stack", _unheard_tool), self.world.lock:
            groups = [name for where, name in self.world.groups if where == region and stack.endswith(f"-{name}")]
            for name in groups:
                self.world.remove_group(region, name)
            if not groups:
                self.world.remove_cluster(region)

    def remove(self, resource: Resource) -> None:
        with self.world.moment("remove leftover", _unheard_tool):
            self.world.volumes.discard(resource.resource_id)


@dataclass(frozen=True)
class WorldKube:
    """Implements the readers and writers of Kubernetes and of helm."""

    world: SimWorld

    def nodes(self, access: KubeAccess, selector: str = "") -> tuple[NodeFacts, ...]:
        world, name = self.world, selector.rpartition("=")[2]
        with world.lock:
            world.check_alive()
            made = world.group_made(access.region, name)
            if made is None or made.status(world.seconds) != "ACTIVE":
                return ()
            gpus = KIND.gpus if any("nvidia" in namespace for namespace, _ in world.releases) else 0
            efa = KIND.efa_interfaces if self._has(EKSCTL_PLUGIN) else 0
            return tuple(
                NodeFacts(
                    f"ip-{number}",
                    ready=True,
                    instance_type=made.kind,
                    zone=made.zone,
                    nodegroup=name,
                    gpus=gpus,
                    efa=efa,
                )
                for number in range(made.count)
            )

    def workload(self, access: KubeAccess, ref: WorkloadRef) -> WorkloadState:
        with self.world.lock:
            self.world.check_alive()
            owner = next((one.release for one, _ in self.world.releases.values() if ref in one.workloads), "")
            there = bool(owner) or ref in self.world.foreign_daemons
            return WorkloadState(ref, there, 2 * there, 2 * there, current=there, release=owner)

    def objects(self, access: KubeAccess, resource: str, selector: str = "") -> tuple[Mapping[str, Any], ...]:
        self.world.check_alive()
        named = {"name": "one", "namespace": "default"}
        count = self.world.objects.get(resource, 0)
        return tuple({"metadata": named, "spec": {"type": "LoadBalancer"}} for _ in range(count))

    def found(self, access: KubeAccess, signals: Sequence[Signal]) -> Mapping[Signal, Mapping[str, Any]]:
        """What an installed component shows, all of it well at once."""
        with self.world.lock:
            self.world.check_alive()
            shown = {one for component, _ in self.world.releases.values() for one in component.proofs}
            return {one: WELL for one in signals if one in shown}

    def release(self, access: KubeAccess, component: Component) -> ReleaseState:
        with self.world.lock:
            self.world.check_alive()
            found = self.world.releases.get((component.namespace, component.release))
            if found is None:
                return ReleaseState(component.release, component.namespace)
            chart, values = found[0].chart, yaml.safe_load(found[1]) or {}
            return ReleaseState(
                component.release, component.namespace, "deployed", chart.name, chart.version, revision=1, values=values
            )

    def install(self, access: KubeAccess, component: Component, values: str) -> None:
        with self.world.moment(f"install {component.name}", _unheard_tool), self.world.lock:
            if component.workloads[0] in self.world.foreign_daemons:
                raise ToolFailedError("helm: invalid ownership metadata")
            self.world.releases[component.namespace, component.release] = (component, values)

    def uninstall(self, access: KubeAccess, component: Component) -> None:
        with self.world.moment(f"uninstall {component.release}", _unheard_tool):
            self.world.releases.pop((component.namespace, component.release), None)

    def apply(self, access: KubeAccess, manifests: str) -> None:
        with self.world.moment("apply", _unheard_tool):
            self.world.objects["applied"] = 1

    def delete(self, access: KubeAccess, ref: WorkloadRef) -> None:
        with self.world.moment(f"delete {ref}", _unheard_tool):
            self.world.foreign_daemons.discard(ref)

    def delete_listed(self, access: KubeAccess, resource: str, names: Sequence[Any]) -> None:
        with self.world.moment(f"delete listed {resource}", _unheard_tool):
            self.world.objects.pop(resource, None)

    def delete_all(self, access: KubeAccess, resource: str, selector: str = "") -> None:
        with self.world.moment(f"delete all {resource}", _unheard_tool):
            self.world.objects.pop(resource, None)

    def _has(self, ref: WorkloadRef) -> bool:
        ours = any(ref in one.workloads for one, _ in self.world.releases.values())
        return ours or ref in self.world.foreign_daemons


@dataclass(frozen=True)
class WorldSurvey:
    """Implements ports.CapacitySurvey, ports.ReservationReader and ports.LeftoverReader."""

    world: SimWorld
    regions: tuple[str, ...] = tuple(REGIONS)

    def enabled_regions(self) -> tuple[str, ...]:
        return self.regions

    def instance_type(self, region: str, name: str) -> InstanceType | None:
        return KIND if name == KIND.name else None

    def similar_types(self, region: str, name: str) -> tuple[str, ...]:
        return (KIND.name,)

    def ask(self, question: Question) -> tuple[RegionFacts, ...]:
        with self.world.lock:
            self.world.check_alive()
            return tuple(self._region(region) for region in question.regions)

    def find(self, region: str, reservation_id: str) -> Reservation | None:
        return None

    def ours(self, regions: Sequence[str]) -> tuple[Reservation, ...]:
        self.world.check_alive()
        return tuple(one for region in regions for one in self._reservations(region))

    def search(self, region: str, cluster: str, *known: object, **more: object) -> Findings:
        self.world.check_alive()
        found = [Resource(ResourceKind.NETWORK_INTERFACE, one, region, owned=True) for one in self.world.volumes]
        return Findings(tuple(found))

    def _region(self, region: str) -> RegionFacts:
        zones = tuple(zones_of(region))
        offered = frozenset((KIND.name, zone.zone_id) for zone in zones)
        here = [one for (where, _), one in self.world.groups.items() if where == region and one.kind == KIND.name]
        running = sum(one.count * KIND.vcpus for one in here if one.stack(self.world.seconds) and not one.fails)
        made = self.world.cluster_made(region)
        stands = made is not None and made.status(self.world.seconds) == "ACTIVE"
        return RegionFacts(
            region, zones, {KIND.name: KIND}, offered,
            {quota_code(KIND.name): Quota(quota_code(KIND.name), self.world.quota, running)},
            subnets={zone.name: f"subnet-{zone.name}" for zone in zones} if stands else None,
            free_addresses={zone.name: 1000 for zone in zones}, reservations=self._reservations(region),
        )  # fmt: skip

    def _reservations(self, region: str) -> tuple[Reservation, ...]:
        from clusterctl.adapters.aws.reservations import read_reservation

        listed = [one for one in self.world.held() if one["_seen"] <= self.world.seconds]
        return tuple(read_reservation(region, one) for one in listed if one["_region"] == region)


def zones_of(region: str) -> list[Zone]:
    return [Zone(f"{region}{letter}", f"{REGIONS[region]}-az{number}") for number, letter in enumerate("abc", 1)]


@dataclass(frozen=True)
class WorldSession:
    """As much of an AwsSession as the prober needs."""

    world: SimWorld

    def client(self, service: str, region: str = "", purpose: object = None) -> WorldEc2:
        return WorldEc2(self.world, region)


@dataclass(frozen=True)
class WorldEc2:
    """Reservations as EC2 keeps them: one for each client token, shown in lists some seconds later."""

    world: SimWorld
    region: str

    def create_capacity_reservation(self, **asked: Any) -> dict[str, Any]:
        zone = next(one.name for one in zones_of(self.region) if one.zone_id == asked["AvailabilityZoneId"])
        with self.world.moment(f"reserve in {zone}", _unheard), self.world.lock:
            made = next((one for one in self.world.reservations if one["_token"] == asked["ClientToken"]), None)
            if made is None:
                if not self.world.room(zone, asked["InstanceCount"]):
                    raise _refused("InsufficientInstanceCapacity", "CreateCapacityReservation")
                made = self._make(asked, zone)
            return {"CapacityReservation": made}

    def describe_capacity_reservations(self, CapacityReservationIds: list[str]) -> dict[str, Any]:  # noqa: N803
        self.world.check_alive()
        ids = CapacityReservationIds
        return {"CapacityReservations": [dict(one) for one in self._mine() if one["CapacityReservationId"] in ids]}

    def get_paginator(self, name: str) -> WorldEc2:
        return self

    def paginate(self, Filters: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: N803
        self.world.check_alive()
        states = Filters[0]["Values"]
        seen = [one for one in self._mine() if one["_seen"] <= self.world.seconds and one["State"] in states]
        return [{"CapacityReservations": seen}]

    def cancel_capacity_reservation(self, CapacityReservationId: str) -> dict[str, Any]:  # noqa: N803
        with self.world.moment("cancel", _unheard), self.world.lock:
            for one in self._mine():
                if one["CapacityReservationId"] == CapacityReservationId:
                    one["State"] = "cancelled"
            return {"Return": True}

    def _mine(self) -> list[dict[str, Any]]:
        return [one for one in self.world.reservations if one["_region"] == self.region]

    def _make(self, asked: Mapping[str, Any], zone: str) -> dict[str, Any]:
        made = {
            "CapacityReservationId": f"cr-{len(self.world.reservations):04}", "AvailabilityZone": zone,
            "AvailabilityZoneId": asked["AvailabilityZoneId"], "InstanceType": asked["InstanceType"],
            "TotalInstanceCount": asked["InstanceCount"], "AvailableInstanceCount": asked["InstanceCount"],
            "State": "active", "Tags": asked["TagSpecifications"][0]["Tags"], "EndDate": asked["EndDate"],
            "_token": asked["ClientToken"], "_region": self.region, "_seen": self.world.seconds + SEEN_AFTER_S,
        }  # fmt: skip
        self.world.reservations.append(made)
        return made


def _refused(code: str, operation: str) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": 500}}, operation
    )


def _unheard() -> Exception:
    return ConnectionClosedError(endpoint_url="https://ec2.example")


def _unheard_tool() -> Exception:
    return ToolFailedError("the connection was lost")


class MortalJournal:
    """A Journal at whose effects a run may be killed; the outcome of what was killed is never written."""

    def __init__(self, journal: Any, world: SimWorld) -> None:
        self._journal = journal
        self._world = world
        self.effects: list[str] = []

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        self._world.check_alive()
        self.effects.append(name)
        with self._journal.effect(name, facts), self._world.moment(name):
            yield
            self._world.check_alive()

    def unsettled(self) -> tuple[Mapping[str, str], ...]:
        found: tuple[Mapping[str, str], ...] = self._journal.unsettled()
        return found

    def settle(self, intent: Mapping[str, str]) -> None:
        self._world.check_alive()
        self._journal.settle(intent)

    def clear(self) -> None:
        with suppress(FileNotFoundError):
            self._journal.clear()
