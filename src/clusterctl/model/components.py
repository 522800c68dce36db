"""What we install into a cluster, described rather than coded: device plugins and the Ray operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.kube import Chart, Component, KubeAccess, ReleaseState, WorkloadRef, WorkloadState
from clusterctl.model.settings import Settings
from clusterctl.model.verification import EFA, GPU, NEURON, NodeFacts

RAY_CRDS = ("rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io", "raycronjobs.ray.io")


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


def kuberay(settings: Settings) -> Component:
    """The KubeRay operator."""
    return Component(
        name="kuberay",
        title="KubeRay operator",
        chart=Chart("https://ray-project.github.io/kuberay-helm", "kuberay-operator", settings.kuberay_version),
        release="kuberay-operator",
        namespace="kuberay-system",
        workloads=(WorkloadRef("Deployment", "kuberay-system", "kuberay-operator"),),
        crds=RAY_CRDS,
    )


def plugins_for(kind: InstanceType, settings: Settings) -> tuple[Component, ...]:
    """The device plugins that a type's nodes need."""
    accelerators = {Accelerator.NVIDIA: (nvidia(settings),), Accelerator.NEURON: (neuron(settings),)}
    fabric = (efa(settings),) if kind.efa_interfaces else ()
    return (*accelerators.get(kind.accelerator, ()), *fabric)


@dataclass(frozen=True, slots=True)
class ComponentState:
    """A component as it should be, and as it is. `values` are wanted, `rivals` are those that are there."""

    component: Component
    values: str
    release: ReleaseState
    workloads: tuple[WorkloadState, ...] = ()
    rivals: tuple[WorkloadState, ...] = ()
    parsed_values: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def drift(self) -> str:
        """How the release differs from what is wanted; empty if it does not."""
        return release_drift(self.component, self.parsed_values, self.release)

    @property
    def healthy(self) -> bool:
        return not self.drift and all(one.rolled_out for one in self.workloads)

    @property
    def unsettled(self) -> str:
        """What its workloads still lack, with the words of the first pod that does not run."""
        for one in self.workloads:
            if not one.exists:
                return f"{one.ref} is not there yet"
            if not one.rolled_out:
                said = f": {one.problems[0]}" if one.problems else ""
                return f"{one.ref} runs {one.ready} of {one.wanted} pods{said}"
        return ""


@dataclass(frozen=True, slots=True)
class PluginsState:
    """The device plugins of a cluster, and the nodes that they serve."""

    access: KubeAccess
    components: tuple[ComponentState, ...]
    nodes: tuple[NodeFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class KuberayState:
    """The Ray operator of a cluster."""

    access: KubeAccess
    operator: ComponentState


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
