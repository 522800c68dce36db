"""Teardown takes what is ours and nothing else. AWS and Kubernetes answer from the test's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from clusterctl.engine.actions import (
    CancelReservation,
    DeleteCluster,
    DeleteNodegroup,
    DeleteObjects,
    ForgetCluster,
    RemoveRelease,
    RemoveResource,
)
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, Preview, RunResult
from clusterctl.engine.refusals import Refusals
from clusterctl.errors import AccessError, LeftoversError, ToolFailedError, UnreachableError
from clusterctl.model.capacity import Reservation
from clusterctl.model.cluster import TAG_CLUSTER, ClusterState, NodegroupState, StackState
from clusterctl.model.components import nvidia
from clusterctl.model.documents import remains_document
from clusterctl.model.failures import classify
from clusterctl.model.kube import Component, KubeAccess, ReleaseState, WorkloadRef, WorkloadState
from clusterctl.model.leftovers import Findings, Resource, ResourceKind
from clusterctl.model.operators import kuberay
from clusterctl.model.placement import Placement
from clusterctl.model.settings import Settings
from clusterctl.model.target import Remains, Target
from clusterctl.model.verification import NodeFacts
from clusterctl.stages.teardown import (
    ClusterGoneStage,
    EmptiedStage,
    LeftoversGoneStage,
    NodegroupGoneStage,
    ReleasesGoneStage,
)
from fakes import FakeClock, FakePlacements, Recorder, ScriptedClusters, executor, group

OURS = {TAG_CLUSTER: "training"}
TARGET = Outputs().with_value(Target("us-east-2", "training", "gpu"))
CLUSTER = ClusterState(
    "us-east-2", "training", "ACTIVE", endpoint="https://cluster.example", vpc_id="vpc-1", tags=OURS,
    stack=StackState("s", "CREATE_COMPLETE", OURS),
)  # fmt: skip
ADOPTED = replace(CLUSTER, tags={}, stack=StackState("s", "CREATE_COMPLETE", {"team": "other"}))
GONE = ClusterState("us-east-2", "training")
GPU = replace(group("ACTIVE", "CREATE_COMPLETE"), tags=OURS)
COMPONENTS = (kuberay(Settings()), nvidia(Settings()))


@dataclass
class World:
    """Everything that a teardown can ask, and how it answers."""

    cluster: ClusterState = CLUSTER
    gpu: NodegroupState = GPU
    objects_found: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    installed: tuple[str, ...] = ()
    findings: Findings = field(default_factory=Findings)
    held: tuple[Reservation, ...] = ()
    placement: FakePlacements = field(default_factory=FakePlacements)
    kubeconfig: bool = False
    dead: bool = False
    searched: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    later: tuple[ClusterState, ...] = ()  # what the cluster is from the second look on

    def objects(self, access: KubeAccess, resource: str, selector: str = "") -> tuple[Mapping[str, Any], ...]:
        if self.dead:
            raise UnreachableError("the API of training does not answer")
        return tuple(self.objects_found.get(resource, ()))

    def nodes(self, access: KubeAccess, selector: str = "") -> tuple[NodeFacts, ...]:
        return ()

    def workload(self, access: KubeAccess, ref: WorkloadRef) -> WorkloadState:
        return WorkloadState(ref)

    def release(self, access: KubeAccess, component: Component) -> ReleaseState:
        assert not self.dead, "a dead API is not asked for releases"
        installed = component.release in self.installed
        return ReleaseState(component.release, component.namespace, "deployed" if installed else "")

    def search(
        self, region: str, cluster: str, vpc_id: str = "", volumes: Sequence[str] = (), since: datetime | None = None
    ) -> Findings:
        self.searched.append((vpc_id, tuple(volumes)))
        return self.findings

    def find(self, region: str, reservation_id: str) -> Reservation | None:
        return None

    def ours(self, regions: Sequence[str]) -> tuple[Reservation, ...]:
        return self.held

    def path(self, cluster: str, region: str) -> str:
        return "kubeconfig"

    def exists(self, cluster: str, region: str) -> bool:
        return self.kubeconfig

    def current(self, access: KubeAccess) -> bool:
        return self.kubeconfig

    def preview(self, *, purge: bool = False, named: bool = False) -> Preview:
        clusters = ScriptedClusters(clusters=(self.cluster, *self.later), groups=(self.gpu,))
        stages = (
            EmptiedStage(clusters, self, ("rayclusters.ray.io", "services")),
            ReleasesGoneStage(self, COMPONENTS, named=named),
            NodegroupGoneStage(clusters),
            ClusterGoneStage(clusters),
            LeftoversGoneStage(self, self, self, self.placement, purge),
        )
        return Pipeline(stages, executor(), FakeClock(), Recorder()).preview(TARGET)

    def lines(self, *, purge: bool = False) -> list[str]:
        return [str(action) for plan in self.preview(purge=purge).plans for action in plan.plan]

    def types(self, *, named: bool = False) -> list[type]:
        return [type(action) for plan in self.preview(named=named).plans for action in plan.plan]


def resource(kind: ResourceKind, name: str, *, owned: bool = True) -> Resource:
    return Resource(kind, name, "us-east-2", owned)


def reservation(name: str, cluster: str = "training") -> Reservation:
    return Reservation(
        name, "us-east-2", "us-east-2a", "use2-az1", "g6.12xlarge", 2, 2, "active", tags={TAG_CLUSTER: cluster}
    )


MADE = {"pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com"}
FULL = World(
    objects_found={
        "rayclusters.ray.io": [{}],
        "services": [{"spec": {"type": "ClusterIP"}}, {"spec": {"type": "LoadBalancer"}}],
        "persistentvolumes": [
            {"metadata": {"annotations": MADE}, "spec": {"csi": {"volumeHandle": "vol-1"}}},
            {"spec": {"csi": {"volumeHandle": "vol-given"}}},
            {"spec": {}},
        ],
    },
    installed=tuple(one.release for one in COMPONENTS),
)


def test_everything_of_ours_goes_in_reverse_order() -> None:
    assert FULL.types() == [
        DeleteObjects, DeleteObjects, RemoveRelease, RemoveRelease, DeleteNodegroup, DeleteCluster, ForgetCluster,
    ]  # fmt: skip


def test_a_plain_service_is_no_reason_to_delete_services() -> None:
    world = World(objects_found={"services": [{"spec": {"type": "ClusterIP"}}]})
    assert DeleteObjects not in world.types()


def test_an_adopted_cluster_and_all_that_is_in_it_stay() -> None:
    world = replace(FULL, cluster=ADOPTED)
    assert world.types() == [DeleteNodegroup]  # the GPU nodes alone are ours
    remains = world.preview().outputs[Remains]
    assert "was not made by clusterctl" in remains.kept_cluster


def test_releases_that_are_named_go_from_an_adopted_cluster_too() -> None:
    assert replace(FULL, cluster=ADOPTED).types(named=True) == [RemoveRelease, RemoveRelease, DeleteNodegroup]


@pytest.mark.parametrize("tags", [{}, {TAG_CLUSTER: "another"}, {"team": "other"}])
def test_a_node_group_without_our_mark_stays(tags: dict[str, str]) -> None:
    assert DeleteNodegroup not in World(gpu=replace(GPU, tags=tags)).types()


@pytest.mark.parametrize("stack", ["ROLLBACK_COMPLETE", "DELETE_FAILED", "CREATE_IN_PROGRESS"])
def test_what_is_left_of_a_node_group_of_ours_goes(stack: str) -> None:
    left = replace(group("", stack), stack=StackState("s", stack, OURS))
    assert World(gpu=left).types() == [DeleteNodegroup, DeleteCluster, ForgetCluster]


@pytest.mark.parametrize("stack", ["ROLLBACK_COMPLETE", "DELETE_FAILED"])
def test_what_is_left_of_a_cluster_of_ours_goes(stack: str) -> None:
    assert World(cluster=replace(GONE, stack=StackState("s", stack, OURS)), gpu=group()).types()[:1] == [DeleteCluster]


def test_a_dead_api_is_no_reason_to_keep_paying() -> None:
    world = replace(FULL, dead=True)
    assert world.types() == [DeleteNodegroup, DeleteCluster, ForgetCluster]


def test_nothing_at_all_needs_nothing_at_all() -> None:
    assert World(cluster=GONE, gpu=group()).types() == []


def test_leftovers_are_looked_for_with_what_the_cluster_named_itself() -> None:
    world = replace(FULL, searched=[], later=(GONE,), gpu=group())
    world.preview()
    assert world.searched == [("vpc-1", ("vol-1",))]


LEFT = Findings(
    (
        resource(ResourceKind.LOAD_BALANCER, "lb-ours"),
        resource(ResourceKind.SECURITY_GROUP, "sg-foreign", owned=False),
        resource(ResourceKind.VOLUME, "vol-ours"),
        resource(ResourceKind.SNAPSHOT, "snap-ours"),
        resource(ResourceKind.VOLUME, "vol-foreign", owned=False),
    )
)


def test_what_carries_no_mark_of_ours_stays_and_is_reported() -> None:
    world = World(cluster=GONE, gpu=group(), findings=LEFT)
    assert world.lines() == ["delete load-balancer lb-ours in us-east-2"]
    kept = [one.resource_id for one in world.preview().outputs[Remains].kept]
    assert kept == ["sg-foreign", "vol-ours", "snap-ours", "vol-foreign"]


def test_volumes_go_only_when_they_are_to_be_purged_and_foreign_ones_never() -> None:
    world = World(cluster=GONE, gpu=group(), findings=LEFT)
    assert world.lines(purge=True) == [
        "delete load-balancer lb-ours in us-east-2",
        "delete volume vol-ours in us-east-2",
        "delete snapshot snap-ours in us-east-2",
    ]


def test_reservations_of_this_cluster_are_cancelled_and_those_of_another_kept() -> None:
    world = World(cluster=GONE, gpu=group(), held=(reservation("cr-ours"), reservation("cr-other", "another")))
    (action,) = [one for plan in world.preview().plans for one in plan.plan]
    assert isinstance(action, CancelReservation)
    assert action.reservation_id == "cr-ours"


def test_a_reservation_that_the_search_finds_as_well_is_cancelled_once() -> None:
    found = Findings((resource(ResourceKind.RESERVATION, "cr-ours"),))
    assert World(cluster=GONE, gpu=group(), held=(reservation("cr-ours"),), findings=found).types() == [
        CancelReservation
    ]


@pytest.mark.parametrize("kubeconfig", [True, False])
def test_the_file_is_forgotten_last_and_only_once_everything_is_gone(*, kubeconfig: bool) -> None:
    remembered = FakePlacements(None if kubeconfig else Placement(region="us-east-2"))
    world = World(cluster=GONE, gpu=group(), findings=LEFT, placement=remembered, kubeconfig=kubeconfig)
    assert ForgetCluster not in world.types()
    assert replace(world, findings=Findings()).types() == [ForgetCluster]


def test_what_could_not_be_looked_for_is_not_called_absent() -> None:
    unsearched = Findings(unsearched={ResourceKind.VOLUME: classify("UnauthorizedOperation", "denied")})
    world = World(cluster=GONE, gpu=group(), findings=unsearched, placement=FakePlacements(Placement()))
    assert ForgetCluster not in world.types()
    stage = LeftoversGoneStage(world, world, world, world.placement)
    clusters = ScriptedClusters(clusters=(GONE,), groups=(group(),))
    stages = (EmptiedStage(clusters, world), ReleasesGoneStage(world, ()), NodegroupGoneStage(clusters),
              ClusterGoneStage(clusters), stage)  # fmt: skip
    error = Pipeline(stages, executor(), FakeClock(), Recorder()).apply(TARGET).error
    assert isinstance(error, LeftoversError)
    assert error.message == "absence is not proved: volume could not be looked for"
    assert world.placement.kept is not None


def test_the_cluster_stays_while_it_still_stands_and_nothing_is_searched() -> None:
    world = replace(FULL, cluster=ADOPTED, searched=[], findings=LEFT)
    assert RemoveResource not in world.types()
    assert world.searched == []


# --- what cannot be removed


class Refusing:
    """Hands that refuse what they are told to, and say so."""

    def __init__(self, *names: str) -> None:
        self.names, self.asked = names, []  # type: ignore[var-annotated]

    def resource(self, one: Resource, tell: object) -> None:
        self.asked.append(one.resource_id)
        if one.resource_id in self.names:
            raise AccessError(f"you may not delete {one}", hint="ask for permission")

    def delete_all(self, access: KubeAccess, resource: str, selector: str = "") -> None:
        self.asked.append(resource)
        raise ToolFailedError(f"kubectl: timed out waiting for {resource}")

    def uninstall(self, access: KubeAccess, component: Component) -> None:
        self.asked.append(component.release)
        raise UnreachableError("the API does not answer any more")

    def nodegroup(self, *where: object) -> None:
        self.asked.append("nodegroup")

    def cluster(self, *where: object) -> None:
        self.asked.append("cluster")


class Shrinking(World):
    """A world whose leftovers go as soon as they were removed without a refusal."""

    hands: Refusing

    def search(self, *place: object, **more: object) -> Findings:
        gone = set(self.hands.asked) - set(self.hands.names)
        return Findings(tuple(one for one in self.findings.resources if one.resource_id not in gone))


def applied(world: World, hands: Refusing, *, strict: bool = False) -> RunResult:
    refusals = Refusals()
    clusters = ScriptedClusters(clusters=(world.cluster, *world.later), groups=(world.gpu, group()))
    stages = (
        EmptiedStage(clusters, world, ("rayclusters.ray.io",), refusals, strict),
        ReleasesGoneStage(world, COMPONENTS, refusals, strict),
        NodegroupGoneStage(clusters),
        ClusterGoneStage(clusters),
        LeftoversGoneStage(world, world, world, world.placement, refusals=refusals),
    )
    doing = executor(remover=hands, kube=hands, releases=hands, placement=world.placement)
    return Pipeline(stages, doing, FakeClock(), Recorder()).apply(TARGET)


def test_each_leftover_is_tried_once_and_those_that_stay_are_all_named_with_reason_and_command() -> None:
    left = tuple(replace(resource(ResourceKind.ADDRESS, name), command=f"release {name}") for name in ("a", "b", "c"))
    world = Shrinking(cluster=GONE, gpu=group(), findings=Findings(left), placement=FakePlacements(Placement()))
    world.hands = Refusing("a", "c")
    result = applied(world, world.hands)
    assert world.hands.asked == ["a", "b", "c"]
    assert isinstance(result.error, LeftoversError)
    rows = result.error.document["leftovers"]
    assert [(one["id"], one["command"]) for one in rows] == [("a", "release a"), ("c", "release c")]
    assert all("you may not delete" in one["why"] for one in rows)
    assert world.placement.kept is not None, "the way back is not forgotten while something is left"


def test_what_was_refused_is_not_told_as_deleted() -> None:
    world = Shrinking(cluster=GONE, gpu=group(), findings=Findings((resource(ResourceKind.ADDRESS, "a"),)))
    world.hands = Refusing("a")
    result = applied(world, world.hands)
    assert [line for stage in result.stages for line in stage.actions] == []


def test_an_operator_that_is_dead_does_not_keep_the_cluster_alive() -> None:
    hands = Refusing()
    world = replace(FULL, later=(CLUSTER, CLUSTER, GONE))
    result = applied(world, hands)
    assert result.error is None
    assert hands.asked == ["rayclusters.ray.io", *(one.release for one in COMPONENTS), "nodegroup", "cluster"]


def test_where_the_cluster_stays_what_cannot_be_deleted_in_it_is_a_failure() -> None:
    hands = Refusing()
    result = applied(FULL, hands, strict=True)
    assert isinstance(result.error, ToolFailedError)
    assert hands.asked == ["rayclusters.ray.io"]


def test_only_services_that_hold_a_load_balancer_are_deleted() -> None:
    def service(name: str, kind: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "namespace": "kube-system"}, "spec": {"type": kind}}

    world = World(objects_found={"services": [service("kube-dns", "ClusterIP"), service("web", "LoadBalancer")]})
    assert world.lines()[0] == "delete services kube-system/web"


def test_snapshots_that_a_driver_made_are_told_from_those_that_it_was_given() -> None:
    made = {"status": {"snapshotHandle": "snap-1"}, "spec": {"source": {"volumeHandle": "vol-1"}}}
    given = {"status": {"snapshotHandle": "snap-2"}, "spec": {"source": {"snapshotHandle": "snap-2"}}}
    found = {"volumesnapshotcontents.snapshot.storage.k8s.io": [made, given]}
    world = World(objects_found=found, later=(GONE,), gpu=group())
    world.preview()
    assert world.searched == [("vpc-1", ("snap-1",))]


@pytest.mark.parametrize("facts", [{"cluster_name": "other"}, {"cluster_name": "training", "region": "eu-west-1"}])
def test_a_file_that_leads_to_another_cluster_is_not_forgotten(facts: dict[str, str]) -> None:
    world = World(cluster=GONE, gpu=group(), placement=FakePlacements(Placement(**facts)))  # type: ignore[arg-type]
    assert world.types() == []


def test_what_is_kept_says_what_it_costs() -> None:
    volume = replace(resource(ResourceKind.VOLUME, "vol-1"), why="8 GiB gp3", monthly_usd=0.64, command="delete it")
    world = World(cluster=GONE, gpu=group(), findings=Findings((volume,)))
    (row,) = remains_document(world.preview().outputs[Remains])["kept"]
    assert row["why"] == "8 GiB gp3, data: --purge-volumes removes it"
    assert (row["monthly_usd"], row["command"], row["kind"]) == (0.64, "delete it", "volume")
