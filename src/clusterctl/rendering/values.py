"""The values that each chart is given, by typed functions over the templates of manifests/."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterctl.rendering.eksctl_config import ROLE_GPU, ROLE_SYSTEM
from clusterctl.rendering.templates import render

CRITICAL = "CriticalAddonsOnly"
NVIDIA_TAINT = "nvidia.com/gpu"
NEURON_TAINT = "aws.amazon.com/neuron"
EFA_TAINT = "aws.amazon.com/efa"


def nvidia_values(taints: Sequence[str] = ()) -> str:
    """Values of the chart nvidia-device-plugin. `taints` are the keys of the nodes' own taints."""
    return render("manifests/nvidia/values.yaml.j2", tolerated=_keys(taints, NVIDIA_TAINT, CRITICAL), **ROLE_GPU)


def efa_values(instance_types: Sequence[str], taints: Sequence[str] = ()) -> str:
    """Values of the chart aws-efa-k8s-device-plugin: the instance types on which it may run, and no others."""
    tolerated = _keys(taints, NVIDIA_TAINT, NEURON_TAINT, EFA_TAINT)
    return render("manifests/efa/values.yaml.j2", instance_types=list(instance_types), tolerated=tolerated, **ROLE_GPU)


def neuron_values(instance_types: Sequence[str], taints: Sequence[str] = ()) -> str:
    """Values of the chart neuron-helm-chart: the instance types on which its device plugin may run."""
    tolerated = _keys(taints, NEURON_TAINT, NVIDIA_TAINT, CRITICAL)
    return render(
        "manifests/neuron/values.yaml.j2", instance_types=list(instance_types), tolerated=tolerated, **ROLE_GPU
    )


def kuberay_values() -> str:
    """Values of the chart kuberay-operator."""
    return render("manifests/kuberay/values.yaml.j2", **ROLE_SYSTEM)


def parse_values(text: str) -> dict[str, Any]:
    """Rendered values as helm will hold them."""
    import yaml

    return dict(yaml.safe_load(text) or {})


def _keys(taints: Sequence[str], *always: str) -> list[str]:
    return list(dict.fromkeys([*always, *sorted(taints)]))
