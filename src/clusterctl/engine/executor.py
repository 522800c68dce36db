"""Carries out actions; the only place that changes the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import assert_never

from clusterctl.engine.actions import (
    Action,
    ApplyManifests,
    AssociateOidc,
    AwaitComponent,
    AwaitNodegroup,
    CancelReservation,
    CreateAddon,
    CreateCluster,
    CreateNodegroup,
    DeleteCluster,
    DeleteNamed,
    DeleteNodegroup,
    DeleteObjects,
    DeleteWorkload,
    ForgetCluster,
    HoldCapacity,
    InstallRelease,
    LeaveRegion,
    MoveExpiry,
    ProbeCapacity,
    ProveAgain,
    RememberPlacement,
    RemoveRelease,
    RemoveResource,
    ReplaceAddon,
    RunInPod,
    WriteKubeconfig,
)
from clusterctl.engine.attempts import RegionExhaustedError
from clusterctl.engine.building import ClusterBuilder
from clusterctl.engine.launching import NodegroupLauncher
from clusterctl.engine.probing import ProbeLedger
from clusterctl.engine.proving import CapacityProver
from clusterctl.engine.readiness import Readiness
from clusterctl.engine.removal import Remover
from clusterctl.engine.undoing import undone_if_interrupted
from clusterctl.model.cluster import TAG_EXPIRES
from clusterctl.model.kube import WorkloadRef
from clusterctl.ports import (
    AwsWriter,
    Journal,
    KubeconfigWriter,
    KubeWriter,
    PlacementStore,
    Prober,
    Releases,
)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Hands:
    """All that can change the world, in one place."""

    prober: Prober
    ledger: ProbeLedger
    prover: CapacityProver
    builder: ClusterBuilder
    launcher: NodegroupLauncher
    remover: Remover
    aws: AwsWriter
    releases: Releases
    kube: KubeWriter
    readiness: Readiness
    kubeconfig: KubeconfigWriter
    placement: PlacementStore
    journal: Journal


class Executor:
    """Performs one action at a time for a stage; the intent is on disk before the world is touched."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands

    def execute(self, action: Action, tell: Tell) -> None:
        with self._hands.journal.effect(type(action).__name__, _facts(action)):
            self._perform(action, tell)

    def _perform(self, action: Action, tell: Tell) -> None:
        hands = self._hands
        match action:
            case ProbeCapacity() | ProveAgain() | HoldCapacity() | CancelReservation():
                self._reserve(action, tell)
            case LeaveRegion(region=region, onward=onward):
                raise RegionExhaustedError(str(action), region=region, onward=onward)
            case RememberPlacement(placement=placement):
                hands.placement.save(placement)
            case CreateCluster():
                self._create_cluster(action, tell)
            case AssociateOidc(region=region, cluster=cluster):
                hands.builder.associate_oidc(region, cluster)
            case CreateAddon(region=region, cluster=cluster, addon=addon):
                hands.aws.create_addon(region, cluster, addon)
            case ReplaceAddon(region=region, cluster=cluster, addon=addon):
                hands.builder.replace_addon(region, cluster, addon)
            case CreateNodegroup() | AwaitNodegroup():
                self._launch(action, tell)
            case DeleteNodegroup(region=region, cluster=cluster, nodegroup=nodegroup):
                hands.remover.nodegroup(region, cluster, nodegroup, tell)
            case DeleteCluster(region=region, cluster=cluster):
                hands.remover.cluster(region, cluster, tell)
            case RemoveResource(resource=resource):
                hands.remover.resource(resource, tell)
            case MoveExpiry(region=region, resources=resources, expires_at=moment):
                hands.aws.tag(region, resources, {TAG_EXPIRES: moment})
            case _:
                self._perform_in_cluster(action, tell)

    def _reserve(self, action: ProbeCapacity | ProveAgain | HoldCapacity | CancelReservation, tell: Tell) -> None:
        hands = self._hands
        match action:
            case ProbeCapacity(orders=orders):
                hands.ledger.record(hands.prober.prove(orders))
            case ProveAgain():
                hands.prover.prove_again(action, tell)
            case HoldCapacity():
                hands.prover.hold(action, tell)
            case CancelReservation(region=region, reservation_id=reservation):
                hands.prober.cancel(region, reservation)

    def _create_cluster(self, action: CreateCluster, tell: Tell) -> None:
        remover, region, cluster = self._hands.remover, action.region, action.cluster
        with undone_if_interrupted(f"cluster {cluster}", lambda: remover.cluster(region, cluster, tell), tell):
            self._hands.builder.create(action, tell)

    def _launch(self, action: CreateNodegroup | AwaitNodegroup, tell: Tell) -> None:
        launcher, remover = self._hands.launcher, self._hands.remover

        def undo() -> None:
            remover.own_nodegroup(action.region, action.cluster, action.nodegroup, tell)

        with undone_if_interrupted(f"node group {action.nodegroup}", undo, tell):
            if isinstance(action, CreateNodegroup):
                launcher.create(action, tell)
            else:
                launcher.attach(action, tell)

    def _perform_in_cluster(
        self,
        action: WriteKubeconfig
        | InstallRelease
        | AwaitComponent
        | RemoveRelease
        | ApplyManifests
        | RunInPod
        | DeleteWorkload
        | DeleteNamed
        | DeleteObjects
        | ForgetCluster,
        tell: Tell,
    ) -> None:
        hands = self._hands
        match action:
            case WriteKubeconfig(access=access):
                self._remember_kubeconfig(hands.kubeconfig.write(access))
            case InstallRelease(access=access, component=component, values=values):
                hands.releases.install(access, component, values)
            case AwaitComponent(access=access, component=component):
                hands.readiness.wait(access, component, tell)
            case RemoveRelease(access=access, component=component):
                hands.releases.uninstall(access, component)
            case ApplyManifests(access=access, manifests=manifests):
                hands.kube.apply(access, manifests)
            case RunInPod(access=access, words=words, stdin=stdin, container=container):
                hands.kube.run(access, WorkloadRef("Pod", action.namespace, action.pod), words, stdin, container)
            case DeleteWorkload(access=access, ref=ref):
                hands.kube.delete(access, ref)
            case DeleteNamed(access=access, resource=resource, name=name):
                hands.kube.delete_named(access, resource, name)
            case DeleteObjects(access=access, resource=resource, names=names) if names:
                hands.kube.delete_listed(access, resource, names)
            case DeleteObjects(access=access, resource=resource, selector=selector):
                hands.kube.delete_all(access, resource, selector)
            case ForgetCluster(region=region, cluster=cluster):
                hands.kubeconfig.remove(cluster, region)
                self._forget_placement(region, cluster)
            case _:
                assert_never(action)

    def _forget_placement(self, region: str, cluster: str) -> None:
        """The file may by now lead to another cluster."""
        kept = self._hands.placement.load()
        if kept is None or (kept.cluster_name in ("", cluster) and kept.region in ("", region)):
            self._hands.placement.remove()

    def _remember_kubeconfig(self, path: str) -> None:
        """The placement file is the way back to the cluster, so it says where its kubeconfig is."""
        placement = self._hands.placement.load()
        if placement and placement.kubeconfig != path:
            self._hands.placement.save(replace(placement, kubeconfig=path))


def _facts(action: Action) -> dict[str, str]:
    """What the journal keeps of an action: its plain fields, never a rendered file."""
    plain = {item.name: getattr(action, item.name) for item in fields(action) if item.repr}
    return {"line": str(action), **{name: value for name, value in plain.items() if isinstance(value, str)}}
