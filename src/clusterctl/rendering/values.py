"""The values that each chart is given, by typed functions over the templates of manifests/."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from clusterctl.model.kube import Component, Manifest
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


def component_values(component: Component) -> str:
    """Values of any component, from its own template; nothing for one without."""
    if not component.template:
        return ""
    roles = {**ROLE_SYSTEM, "gpu_role": ROLE_GPU["role"]}
    return render(f"manifests/{component.template}", **roles, **component.facts)


def parsed_component(component: Component, text: str) -> dict[str, Any]:
    """What tells one installation of a component from another: a chart's values, or a manifest's fingerprint."""
    if isinstance(component.chart, Manifest):
        return {"fingerprint": hashlib.sha256(text.encode()).hexdigest()[:16]}
    return parse_values(text)


def wanted(component: Component) -> tuple[Component, str, dict[str, Any]]:
    """A component with its values, as text and as what they are compared by."""
    text = component_values(component)
    return component, text, parsed_component(component, text)


def parse_values(text: str) -> dict[str, Any]:
    """Rendered values as helm will hold them."""
    import yaml

    return dict(yaml.safe_load(text) or {})


def _keys(taints: Sequence[str], *always: str) -> list[str]:
    return list(dict.fromkeys([*always, *sorted(taints)]))
