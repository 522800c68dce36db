"""The two files that eksctl is given: one for the cluster, one for its GPU node group."""

from __future__ import annotations

from clusterctl.model.instances import Accelerator
from clusterctl.model.specs import SYSTEM_NODEGROUP, ClusterSpec, NodegroupSpec
from clusterctl.rendering.templates import render

ROLE_SYSTEM = {"role": "system"}
ROLE_GPU = {"role": "gpu-worker"}
NVIDIA_LABEL = {"nvidia.com/gpu.present": "true"}  # the NVIDIA chart schedules by it, and nothing else would set it


def render_cluster(spec: ClusterSpec) -> str:
    """The ClusterConfig of `eksctl create cluster`."""
    return render("eksctl/cluster.yaml.j2", spec=spec, system_nodegroup=SYSTEM_NODEGROUP, labels=ROLE_SYSTEM)


def render_nodegroup(spec: NodegroupSpec) -> str:
    """The ClusterConfig of `eksctl create nodegroup`."""
    labels = ROLE_GPU | (NVIDIA_LABEL if spec.accelerator is Accelerator.NVIDIA else {})
    return render("eksctl/nodegroup.yaml.j2", spec=spec, labels=labels)
