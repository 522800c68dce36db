"""The device plugins, described rather than coded, and what is there of a component beside what should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.kube import Chart, Component, KubeAccess, ReleaseState, WorkloadRef, WorkloadState
from clusterctl.model.settings import Settings
from clusterctl.model.verification import EFA, GPU, NEURON, NodeFacts


def nvidia(settings: Settings) -> Component:
    """NVIDIA's device plugin. Its chart refuses the default namespace."""
    return Component(
        name="nvidia",
        title="NVIDIA device plugin",
        chart=Chart(
            "https://nvidia.github.io/k8s-device-plugin", "nvidia-device-plugin", settings.nvidia_device_plugin_version
        ),
        release="nvdp",
        namespace="nvidia-device-plugin",
        workloads=(WorkloadRef("DaemonSet", "nvidia-device-plugin", "nvdp-nvidia-device-plugin"),),
        rivals=(WorkloadRef("DaemonSet", "kube-system", "nvidia-device-plugin-daemonset"),),
        resource=GPU,
    )


def efa(settings: Settings) -> Component:
    """AWS's EFA device plugin. eksctl puts an old one of the same name there, with no flag to stop it."""
    plugin = WorkloadRef("DaemonSet", "kube-system", "aws-efa-k8s-device-plugin")
    return Component(
        name="efa",
        title="EFA device plugin",
        chart=Chart(
            "https://aws.github.io/eks-charts", "aws-efa-k8s-device-plugin", settings.efa_device_plugin_version
        ),
        release="aws-efa-k8s-device-plugin",
        namespace="kube-system",
        workloads=(plugin,),
        rivals=(plugin,),
        resource=EFA,
    )


def neuron(settings: Settings) -> Component:
    """AWS's Neuron device plugin: its chart puts it into kube-system whatever the namespace asked for."""
    plugin = WorkloadRef("DaemonSet", "kube-system", "neuron-device-plugin")
    return Component(
        name="neuron",
        title="Neuron device plugin",
        chart=Chart("oci://public.ecr.aws/neuron", "neuron-helm-chart", settings.neuron_helm_chart_version),
        release="neuron-helm-chart",
        namespace="kube-system",
        workloads=(plugin,),
        rivals=(plugin,),
        resource=NEURON,
    )


def plugins_for(kind: InstanceType, settings: Settings) -> tuple[Component, ...]:
    """The device plugins that a type's nodes need."""
    accelerators = {Accelerator.NVIDIA: (nvidia(settings),), Accelerator.NEURON: (neuron(settings),)}
    fabric = (efa(settings),) if kind.efa_interfaces else ()
    return (*accelerators.get(kind.accelerator, ()), *fabric)


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What stands in the way of a component: somebody else's copy of it, an old definition, a namespace that goes."""

    copies: tuple[WorkloadRef, ...] = ()
    outdated: tuple[str, ...] = ()
    terminating: str = ""


@dataclass(frozen=True, slots=True)
class ComponentState:
    """A component as it should be, and as it is. `values` are wanted, `rivals` are those that are there.

    `unproved` says what its signals lack.
    """

    component: Component
    values: str
    release: ReleaseState
    workloads: tuple[WorkloadState, ...] = ()
    rivals: tuple[WorkloadState, ...] = ()
    parsed_values: dict[str, Any] = field(default_factory=dict, hash=False)
    unproved: tuple[str, ...] = ()
    obstacles: Obstacles = Obstacles()

    @property
    def drift(self) -> str:
        """How the release differs from what is wanted; empty if it does not."""
        return "" if self.borrowed else release_drift(self.component, self.parsed_values, self.release)

    @property
    def borrowed(self) -> bool:
        """True for a shared component that somebody else has installed: it is used as it is."""
        return self.component.shared and (self.release.foreign or bool(self.obstacles.copies))

    @property
    def healthy(self) -> bool:
        return not self.drift and not self.unsettled

    @property
    def unsettled(self) -> str:
        """What its workloads and signals still lack, with the words of the first pod that does not run."""
        workloads = () if self.obstacles.copies and self.borrowed else self.workloads
        for one in workloads:
            if not one.exists:
                return f"{one.ref} is not there yet"
            if not one.rolled_out:
                said = f": {one.problems[0]}" if one.problems else ""
                return f"{one.ref} runs {one.ready} of {one.wanted} pods{said}"
        return next(iter(self.unproved), "")


@dataclass(frozen=True, slots=True)
class PluginsState:
    """The device plugins of a cluster, and the nodes that they serve."""

    access: KubeAccess
    components: tuple[ComponentState, ...]
    nodes: tuple[NodeFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorState:
    """An operator's components, in the order in which they are installed."""

    access: KubeAccess
    components: tuple[ComponentState, ...]


class VolcanoState(OperatorState):
    """Volcano, the batch scheduler."""


class KuberayState(OperatorState):
    """The Ray operator."""


class MpiState(OperatorState):
    """The MPI operator."""


class SlinkyState(OperatorState):
    """Slurm, with all that it stands on."""


def release_drift(component: Component, values: Mapping[str, Any], release: ReleaseState) -> str:
    """Why a release has to be installed (again); empty if chart, version, values and status are as wanted."""
    if not release.exists:
        return "not installed"
    if release.status != "deployed":
        return f"its release is {release.status}"
    if release.chart != component.chart.name or not same_version(release.chart_version, component.chart.version):
        return f"{release.chart} {release.chart_version} is installed"
    return "" if release.values == dict(values) else "its values differ"


def same_version(one: str, other: str) -> bool:
    """Charts write versions with and without a `v`, and helm takes both."""
    return one.lstrip("v") == other.lstrip("v")
