"""Which quota a type counts against, and what it brings."""

from __future__ import annotations

import pytest

from clusterctl.model.instances import ON_DEMAND_QUOTAS, Accelerator, InstanceType, quota_code, quota_family


@pytest.mark.parametrize(
    ("family", "types"),
    [
        ("g", "g6.12xlarge g5.48xlarge gr6.8xlarge g7e.48xlarge g4dn.xlarge vt1.3xlarge"),
        ("p", "p5.48xlarge p4d.24xlarge p5en.48xlarge p6-b200.48xlarge p6-b300.48xlarge"),
        ("trn", "trn1.32xlarge trn1n.32xlarge trn2.48xlarge"),
        ("inf", "inf2.48xlarge"),
        ("dl", "dl1.24xlarge dl2q.24xlarge"),
        ("hpc", "hpc7a.96xlarge"),
        ("f", "f2.48xlarge"),
        ("x", "x2iedn.32xlarge x8g.large"),
        ("high-memory", "u-6tb1.112xlarge u7i-12tb.224xlarge"),
        ("standard", "m7i.xlarge c7i.large r7i.large t3.micro d3.xlarge h1.2xlarge i4i.large z1d.large a1.large"),
    ],
)
def test_every_type_counts_against_the_quota_of_its_family(family: str, types: str) -> None:
    for name in types.split():
        assert quota_family(name) == family, name
        assert quota_code(name) == ON_DEMAND_QUOTAS[family]


def test_the_accelerator_decides_which_plugins_a_node_needs() -> None:
    assert InstanceType("g6.12xlarge", 48, 1, gpus=4).accelerator is Accelerator.NVIDIA
    assert InstanceType("trn1.32xlarge", 128, 1, neuron_devices=16).accelerator is Accelerator.NEURON
    assert InstanceType("m7i.xlarge", 4, 1).accelerator is Accelerator.NONE


def test_devices_are_told_in_words() -> None:
    assert InstanceType("p5.48xlarge", 192, 1, gpus=8, gpu_name="H100", efa_interfaces=32).devices == "8 H100, 32 EFA"
    assert InstanceType("g", 1, 1, gpus=1).devices == "1 GPU, 0 EFA"
    assert InstanceType("t", 1, 1, neuron_devices=16, efa_interfaces=8).devices == "16 Neuron devices, 8 EFA"
