# ruff: noqa: PLC0414 - every action is found here, also those of the search
"""Every change that clusterctl can make, as plain data: what a plan holds, prints and runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from clusterctl.engine.capacity_actions import CancelReservation as CancelReservation
from clusterctl.engine.capacity_actions import HoldCapacity as HoldCapacity
from clusterctl.engine.capacity_actions import LeaveRegion as LeaveRegion
from clusterctl.engine.capacity_actions import ProbeCapacity as ProbeCapacity
from clusterctl.engine.capacity_actions import ProveAgain as ProveAgain
from clusterctl.engine.effect import Effect as Effect
from clusterctl.model.kube import Component, KubeAccess, WorkloadRef
from clusterctl.model.leftovers import Resource
from clusterctl.model.placement import Placement


@dataclass(frozen=True, slots=True)
class RememberPlacement:
    effect: ClassVar[Effect] = Effect.CHANGE
    placement: Placement

    def __str__(self) -> str:
        where = self.placement
        return f"remember the placement: {where.gpu_az or where.region}" + (
            f" ({where.gpu_az_id})" * bool(where.gpu_az_id)
        )


@dataclass(frozen=True, slots=True)
class CreateCluster:
    effect: ClassVar[Effect] = Effect.CREATE
    region: str
    cluster: str
    config: str = field(repr=False)
    summary: str = ""

    def __str__(self) -> str:
        return f"create cluster {self.cluster} in {self.region}: {self.summary}"


@dataclass(frozen=True, slots=True)
class DeleteCluster:
    effect: ClassVar[Effect] = Effect.DESTROY
    region: str
    cluster: str
    why: str = ""

    def __str__(self) -> str:
        return f"delete cluster {self.cluster} in {self.region}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, slots=True)
class CreateNodegroup:
    effect: ClassVar[Effect] = Effect.CREATE
    region: str
    cluster: str
    nodegroup: str
    zone: str
    nodes: int
    instance_type: str
    config: str = field(repr=False)
    reservation_id: str = ""

    def __str__(self) -> str:
        into = f" into {self.reservation_id}" if self.reservation_id else ""
        where = self.zone or self.region
        return f"create node group {self.nodegroup}: {self.nodes} x {self.instance_type} in {where}{into}"


@dataclass(frozen=True, slots=True)
class AwaitNodegroup:
    """Attach to a node group that is being made, instead of making a second one."""

    effect: ClassVar[Effect] = Effect.CHANGE
    region: str
    cluster: str
    nodegroup: str
    zone: str = ""

    def __str__(self) -> str:
        return f"wait for node group {self.nodegroup} that is already being made"


@dataclass(frozen=True, slots=True)
class DeleteNodegroup:
    effect: ClassVar[Effect] = Effect.DESTROY
    region: str
    cluster: str
    nodegroup: str
    why: str

    def __str__(self) -> str:
        return f"delete node group {self.nodegroup} of {self.cluster} ({self.why})"


@dataclass(frozen=True, slots=True)
class CreateAddon:
    effect: ClassVar[Effect] = Effect.CREATE
    region: str
    cluster: str
    addon: str

    def __str__(self) -> str:
        return f"add {self.addon}"


@dataclass(frozen=True, slots=True)
class ReplaceAddon:
    effect: ClassVar[Effect] = Effect.CHANGE
    region: str
    cluster: str
    addon: str
    why: str

    def __str__(self) -> str:
        return f"make {self.addon} anew ({self.why})"


@dataclass(frozen=True, slots=True)
class AssociateOidc:
    effect: ClassVar[Effect] = Effect.CREATE
    region: str
    cluster: str

    def __str__(self) -> str:
        return "make the IAM OIDC provider"


@dataclass(frozen=True, slots=True)
class WriteKubeconfig:
    effect: ClassVar[Effect] = Effect.CHANGE
    access: KubeAccess
    path: str

    def __str__(self) -> str:
        return f"write {self.path}"


@dataclass(frozen=True, slots=True)
class InstallRelease:
    effect: ClassVar[Effect] = Effect.CREATE
    access: KubeAccess
    component: Component
    values: str = field(repr=False)
    why: str = ""

    def __str__(self) -> str:
        chart = self.component.chart
        return f"install {self.component.title} ({chart.name} {chart.version})" + (f": {self.why}" if self.why else "")


@dataclass(frozen=True, slots=True)
class AwaitComponent:
    """What is installed next needs this one to serve: its pods run and its webhooks can be called."""

    effect: ClassVar[Effect] = Effect.CHANGE
    access: KubeAccess
    component: Component

    def __str__(self) -> str:
        return f"wait for {self.component.title} to serve"


@dataclass(frozen=True, slots=True)
class RemoveRelease:
    effect: ClassVar[Effect] = Effect.DESTROY
    access: KubeAccess
    component: Component

    def __str__(self) -> str:
        return f"uninstall {self.component.title} ({self.component.release} in {self.component.namespace})"


@dataclass(frozen=True, slots=True)
class ApplyManifests:
    effect: ClassVar[Effect] = Effect.CHANGE
    access: KubeAccess
    title: str
    manifests: str = field(repr=False)

    def __str__(self) -> str:
        return f"apply {self.title}"


@dataclass(frozen=True, slots=True)
class RunInPod:
    """A command in a running pod that starts something there."""

    effect: ClassVar[Effect] = Effect.CREATE
    access: KubeAccess
    namespace: str
    pod: str
    title: str
    words: tuple[str, ...] = field(repr=False)
    stdin: str = field(repr=False, default="")
    container: str = ""

    def __str__(self) -> str:
        return f"{self.title} in {self.pod}"


@dataclass(frozen=True, slots=True)
class DeleteWorkload:
    effect: ClassVar[Effect] = Effect.DESTROY
    access: KubeAccess
    ref: WorkloadRef
    why: str

    def __str__(self) -> str:
        return f"delete {self.ref} ({self.why})"


@dataclass(frozen=True, slots=True)
class DeleteNamed:
    """One object without a namespace of its own: a definition that nobody uses, a namespace that holds nothing."""

    effect: ClassVar[Effect] = Effect.DESTROY
    access: KubeAccess
    resource: str
    name: str

    def __str__(self) -> str:
        return f"delete {self.resource.removesuffix('s')} {self.name}"


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    effect: ClassVar[Effect] = Effect.DESTROY
    access: KubeAccess
    resource: str
    selector: str = ""
    names: tuple[str, ...] = ()  # NAMESPACE/NAME; all of them where none is named

    def __str__(self) -> str:
        which = f"{self.resource} {', '.join(self.names)}" if self.names else f"all {self.resource}"
        return f"delete {which}" + (f" with {self.selector}" if self.selector else "")


@dataclass(frozen=True, slots=True)
class RemoveResource:
    effect: ClassVar[Effect] = Effect.DESTROY
    resource: Resource

    def __str__(self) -> str:
        return f"delete {self.resource}"


@dataclass(frozen=True, slots=True)
class MoveExpiry:
    """Tag everything of a cluster with another end; `resources` are ARNs of EKS and ids of EC2."""

    effect: ClassVar[Effect] = Effect.CHANGE
    region: str
    cluster: str
    expires_at: str
    resources: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"let {len(self.resources)} resource(s) of {self.cluster} in {self.region} expire at {self.expires_at}"


@dataclass(frozen=True, slots=True)
class ForgetCluster:
    """Drop what this machine remembers: placement file, kubeconfig, journal."""

    effect: ClassVar[Effect] = Effect.DESTROY
    region: str
    cluster: str

    def __str__(self) -> str:
        return f"forget {self.cluster}: placement file and kubeconfig"


Action = (
    ProbeCapacity
    | ProveAgain
    | HoldCapacity
    | LeaveRegion
    | CancelReservation
    | RememberPlacement
    | CreateCluster
    | DeleteCluster
    | CreateNodegroup
    | AwaitNodegroup
    | DeleteNodegroup
    | CreateAddon
    | ReplaceAddon
    | AssociateOidc
    | WriteKubeconfig
    | InstallRelease
    | AwaitComponent
    | RemoveRelease
    | ApplyManifests
    | RunInPod
    | DeleteWorkload
    | DeleteNamed
    | DeleteObjects
    | RemoveResource
    | MoveExpiry
    | ForgetCluster
)
Plan = tuple[Action, ...]
