"""Every pinned version of a chart, image, operator or tool, in one place, with the date it was checked."""

from __future__ import annotations

from dataclasses import dataclass

CHECKED_ON = "2026-11-30"

KUBERNETES = "1.34"
AMI_FAMILY = "AmazonLinux2023"

KUBERAY = "1.7.0"
VOLCANO = "1.15.2"
MPI_OPERATOR = "0.8.2"
SLINKY = "1.2.3"
CERT_MANAGER = "v1.21.1"
EBS_CSI_DRIVER = "2.64.0"
MARIADB_OPERATOR = "26.6.0"
RAY = "2.58.0"
NVIDIA_DEVICE_PLUGIN = "0.20.0"
EFA_DEVICE_PLUGIN = "v0.5.30"
NEURON_HELM_CHART = "1.10.0"
RAY_TRAIN_IMAGE = "public.ecr.aws/deep-learning-containers/ray:train-ml-cuda-v1.1"

# The oldest tools known to do what is asked of them (eksctl: reservations without a placement group, and managed
# node groups in capacity blocks; helm 4: server-side apply by default; kubectl: one minor version of skew).
MINIMUM_EKSCTL = (0, 230, 0)
MINIMUM_HELM = (3, 18, 0)
MINIMUM_KUBECTL = (1, 33, 0)


@dataclass(frozen=True, slots=True)
class Image:
    """A container image of a workload: where it is, and the architectures that it is built for."""

    reference: str
    architectures: tuple[str, ...] = ("amd64",)


# nccl-tests: Open MPI, sshd, NCCL and aws-ofi-nccl, the tag says of which versions. Neuron: the AWS DLC of the SDK.
NCCL_TESTS_IMAGE = "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1-efa1.43.2-ofiv1.16.3-ncclv2.27.7-1-testsv2.16.9"
NEURON_SDK = "2.32.0"
OPTIMUM_NEURON = "0.4.5"
NEURON_TRAIN_IMAGE = f"public.ecr.aws/neuron/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk{NEURON_SDK}-ubuntu24.04"

BIONEMO_RECIPES = "v3.0.0"  # the tag of NVIDIA-BioNeMo/bionemo-recipes whose esm2_native_te is run

IMAGES = {
    "ray-train": Image(RAY_TRAIN_IMAGE),
    "nccl-tests": Image(NCCL_TESTS_IMAGE),
    "neuron-train": Image(NEURON_TRAIN_IMAGE),
}
