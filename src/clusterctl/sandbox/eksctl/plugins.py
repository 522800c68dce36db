"""The device plugins that eksctl installs by itself, as old as its release."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.hardware import EFA_TYPES, NEURON_TYPES, has_nvidia_gpu, is_neuron

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.sandbox.eksctl.config import NodegroupConfig
    from clusterctl.sandbox.eksctl.kubernetes import Kubernetes
    from clusterctl.sandbox.eksctl.output import Console

_SOCKETS = "/var/lib/kubelet/device-plugins"
Toleration = dict[str, str]


@dataclass(frozen=True, slots=True)
class PluginChoice:
    """--install-nvidia-plugin and --install-neuron-plugin; there is none for EFA."""

    nvidia: bool = True
    neuron: bool = True


def install_plugins(
    kubernetes: Kubernetes, console: Console, nodegroups: Sequence[NodegroupConfig], choice: PluginChoice
) -> None:
    """Create or replace what the node groups call for."""
    for manifest, what in wanted_plugins(nodegroups, choice):
        kubernetes.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(manifest))
        console.info(f'created "{what}"')


def wanted_plugins(nodegroups: Sequence[NodegroupConfig], choice: PluginChoice) -> list[tuple[dict[str, Any], str]]:
    """The DaemonSets for these node groups, each with its name in the log."""
    linux = [one for one in nodegroups if one.ami_family in {"AmazonLinux2", "AmazonLinux2023"}]
    found = []
    if choice.nvidia and any(has_nvidia_gpu(kind) for one in linux for kind in one.instance_types):
        found.append((nvidia_plugin(linux), "kube-system:DaemonSet.apps/nvidia-device-plugin-daemonset"))
    if any(one.efa for one in nodegroups):
        found.append((efa_plugin(), "kube-system:DaemonSet.apps/aws-efa-k8s-device-plugin"))
    if choice.neuron and any(is_neuron(kind) for one in nodegroups for kind in one.instance_types):
        found.append((neuron_plugin(), "kube-system:DaemonSet.apps/neuron-device-plugin"))
    return found


def nvidia_plugin(nodegroups: Sequence[NodegroupConfig]) -> dict[str, Any]:
    """v0.20.0: on every node; tolerates the GPU taint with NoSchedule, and the other taints of GPU node groups."""
    gpu_groups = [one for one in nodegroups if any(has_nvidia_gpu(kind) for kind in one.instance_types)]
    others = sorted({taint["key"] for one in gpu_groups for taint in one.taints} - {"nvidia.com/gpu"})
    tolerations: list[Toleration] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    tolerations += [{"key": key, "operator": "Exists"} for key in others]
    return _daemonset(
        "nvidia-device-plugin-daemonset",
        "nvidia-device-plugin-ds",
        "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
        {"tolerations": tolerations},
    )


def efa_plugin() -> dict[str, Any]:
    """v0.5.4: for an old list of types, and blind to the GPU taint."""
    expressions = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(EFA_TYPES)},
        {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["auto"]},
    ]
    pod = {
        "tolerations": _critical("aws.amazon.com/efa"),
        "hostNetwork": True,
        "affinity": _affinity(expressions),
    }
    image = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.4"
    name = "aws-efa-k8s-device-plugin"
    return _daemonset(name, name, image, pod)


def neuron_plugin() -> dict[str, Any]:
    """2.23.30.0: for the Inferentia and Trainium types of its release."""
    expressions = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(NEURON_TYPES)}]
    pod = {"tolerations": _critical("aws.amazon.com/neuron"), "affinity": _affinity(expressions)}
    image = "public.ecr.aws/neuron/neuron-device-plugin:2.23.30.0"
    return _daemonset("neuron-device-plugin", "neuron-device-plugin-ds", image, pod)


def _critical(key: str) -> list[Toleration]:
    return [
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
        {"key": key, "operator": "Exists", "effect": "NoSchedule"},
    ]


def _affinity(expressions: list[dict[str, Any]]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _daemonset(name: str, label: str, image: str, pod: dict[str, Any]) -> dict[str, Any]:
    container = {
        "name": name.removesuffix("-daemonset") + "-ctr",
        "image": image,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "device-plugin", "mountPath": _SOCKETS}],
    }
    spec = pod | {
        "priorityClassName": "system-node-critical",
        "containers": [container],
        "volumes": [{"name": "device-plugin", "hostPath": {"path": _SOCKETS}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"name": label}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": {"name": label}}, "spec": spec},
        },
    }
