"""What one node of a type has, for checks that must not need AWS: EC2's DescribeInstanceTypes, read on 2026-11-30.

Only types used for training are here; of any other type nothing is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hardware:
    """GPUs, EFA interfaces, Neuron devices and their cores of one node."""

    gpus: int = 0
    efa: int = 0
    neuron: int = 0
    neuron_cores: int = 0


HARDWARE = {
    "g4dn.12xlarge": Hardware(gpus=4, efa=1),
    "g5.12xlarge": Hardware(gpus=4, efa=1),
    "g5.48xlarge": Hardware(gpus=8, efa=1),
    "g6.12xlarge": Hardware(gpus=4, efa=1),
    "g6.48xlarge": Hardware(gpus=8, efa=1),
    "g6e.12xlarge": Hardware(gpus=4, efa=1),
    "g6e.48xlarge": Hardware(gpus=8, efa=4),
    "g7e.48xlarge": Hardware(gpus=8, efa=4),
    "p3dn.24xlarge": Hardware(gpus=8, efa=1),
    "p4d.24xlarge": Hardware(gpus=8, efa=4),
    "p4de.24xlarge": Hardware(gpus=8, efa=4),
    "p5.4xlarge": Hardware(gpus=1, efa=1),
    "p5.48xlarge": Hardware(gpus=8, efa=32),
    "p5e.48xlarge": Hardware(gpus=8, efa=32),
    "p5en.48xlarge": Hardware(gpus=8, efa=16),
    "p6-b200.48xlarge": Hardware(gpus=8, efa=8),
    "p6-b300.48xlarge": Hardware(gpus=8, efa=16),
    "trn1.2xlarge": Hardware(neuron=1, neuron_cores=2),
    "trn1.32xlarge": Hardware(efa=8, neuron=16, neuron_cores=32),
    "trn1n.32xlarge": Hardware(efa=16, neuron=16, neuron_cores=32),
    "trn2.3xlarge": Hardware(efa=1, neuron=1, neuron_cores=8),
    "trn2.48xlarge": Hardware(efa=16, neuron=16, neuron_cores=128),
}
