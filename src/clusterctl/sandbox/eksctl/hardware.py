"""What eksctl's static table knows of instance types; it has no entry for families newer than its release."""

from __future__ import annotations

_NVIDIA = frozenset(
    {
        "g4dn", "g5", "g5g", "g6", "g6e", "g6f", "gr6", "gr6f", "g7e", "p2", "p3", "p3dn", "p4d", "p4de", "p5", "p5e",
        "p5en", "p6-b200", "p6-b300",
    }
)  # fmt: skip
_NEURON = frozenset({"inf1", "inf2", "trn1", "trn1n", "trn2", "trn2u"})
_ARM = frozenset({"g5g"})
NEURON_TYPES = (
    "inf1.xlarge", "inf1.2xlarge", "inf1.6xlarge", "inf1.24xlarge", "inf2.xlarge", "inf2.8xlarge", "inf2.24xlarge",
    "inf2.48xlarge", "trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge", "trn2.3xlarge", "trn2.48xlarge",
    "trn2u.48xlarge",
)  # fmt: skip
# The allow-list of the bundled EFA plugin: accelerated types, and the processor types that clusters use for EFA.
# It lacks p5.4xlarge, p6-b200, p6-b300, g7 and g7e.
EFA_TYPES = (
    "c5n.9xlarge", "c5n.18xlarge", "c5n.metal", "c6a.48xlarge", "c6gn.16xlarge", "c6i.32xlarge", "c6in.32xlarge",
    "c7a.48xlarge", "c7g.16xlarge", "c7gn.16xlarge", "c7i.48xlarge", "dl1.24xlarge", "g4dn.8xlarge", "g4dn.12xlarge",
    "g4dn.16xlarge", "g4dn.metal", "g5.8xlarge", "g5.12xlarge", "g5.16xlarge", "g5.24xlarge", "g5.48xlarge",
    "g6.8xlarge", "g6.12xlarge", "g6.16xlarge", "g6.24xlarge", "g6.48xlarge", "g6e.8xlarge", "g6e.12xlarge",
    "g6e.16xlarge", "g6e.24xlarge", "g6e.48xlarge", "gr6.8xlarge", "hpc6a.48xlarge", "hpc6id.32xlarge",
    "hpc7a.96xlarge", "hpc7g.16xlarge", "inf1.24xlarge", "m5n.24xlarge", "m5dn.24xlarge", "m6i.32xlarge",
    "m6in.32xlarge", "m7a.48xlarge", "m7i.48xlarge", "p3dn.24xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge",
    "p5e.48xlarge", "p5en.48xlarge", "r6i.32xlarge", "r7a.48xlarge", "r7i.48xlarge", "trn1.32xlarge",
    "trn1n.32xlarge", "trn2.48xlarge", "trn2u.48xlarge", "vt1.24xlarge",
)  # fmt: skip


def _family(instance_type: str) -> str:
    return instance_type.partition(".")[0]


def has_nvidia_gpu(instance_type: str) -> bool:
    """Whether eksctl takes it for a GPU type."""
    return _family(instance_type) in _NVIDIA


def is_neuron(instance_type: str) -> bool:
    """Whether eksctl takes it for an Inferentia or Trainium type."""
    return _family(instance_type) in _NEURON


def ami_type(family: str, instance_types: list[str]) -> str:
    """The amiType that eksctl writes into a node group; a type it does not know gets the standard image."""
    arm = any(_is_arm(one) for one in instance_types)
    gpu = any(has_nvidia_gpu(one) for one in instance_types)
    neuron = any(is_neuron(one) for one in instance_types)
    if family.startswith("Bottlerocket"):
        suffix = "_NVIDIA" if gpu else ""
        return f"BOTTLEROCKET_{'ARM_64' if arm else 'x86_64'}{suffix}"
    if family == "AmazonLinux2":
        return "AL2_ARM_64" if arm else "AL2_x86_64_GPU" if gpu or neuron else "AL2_x86_64"
    if family != "AmazonLinux2023":
        return "CUSTOM"
    if neuron:
        return "AL2023_x86_64_NEURON"
    return f"AL2023_{'ARM_64' if arm else 'x86_64'}_{'NVIDIA' if gpu else 'STANDARD'}"


def _is_arm(instance_type: str) -> bool:
    family = _family(instance_type)
    generation = family.lstrip("abcdefghijklmnopqrstuvwxyz-")
    return family in _ARM or family == "a1" or (family[0] in "cmrtxi" and "g" in generation)
