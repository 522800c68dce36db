"""What a node can give to pods against what EC2 says its type has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from clusterctl.errors import VerificationError
from clusterctl.model.instances import InstanceType

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
NEURON = "aws.amazon.com/neuron"


class CheckState(Enum):
    """What came of a check. One that did not run is skipped, never ok."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at, and what to do when it is wrong."""

    check_id: str
    state: CheckState
    severity: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """What each node of the group must show."""

    nodes: int
    gpus_per_node: int
    efa_per_node: int
    neuron_per_node: int
    instance_type: str = ""
    zone: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as the Kubernetes API shows it; devices are allocatable counts."""

    name: str
    ready: bool
    instance_type: str
    zone: str
    nodegroup: str
    gpus: int = 0
    efa: int = 0
    neuron: int = 0
    schedulable: bool = True
    instance_id: str = ""
    labels: dict[str, str] = field(default_factory=dict, hash=False)
    taints: tuple[tuple[str, str, str], ...] = ()
    conditions: tuple[str, ...] = ()  # the reasons of the conditions that are wrong
    problems: tuple[str, ...] = ()
    architecture: str = ""  # as Kubernetes spells it: amd64, arm64
    allocatable: dict[str, int] = field(default_factory=dict, hash=False)  # in the units of model.quantities


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict on a cluster."""

    expected: Expected
    nodes: tuple[NodeFacts, ...]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return bool(self.checks) and all(check.state is CheckState.OK for check in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that are not ok, those that failed before those that could not run."""
        wrong = [check for check in self.checks if check.state is not CheckState.OK]
        return tuple(sorted(wrong, key=lambda check: check.state is CheckState.SKIPPED))


class FailedVerificationError(VerificationError):
    """The verdict with everything that led to it, for whoever prints it."""

    def __init__(self, verification: Verification) -> None:
        failures = verification.failures
        bad = [node for node in verification.nodes if node.problems]
        super().__init__(
            "; ".join(check.message for check in failures) or "nothing was checked",
            hint=next((check.remedy for check in failures if check.remedy), ""),
            details="\n".join(f"{node.name}: {', '.join(node.problems)}" for node in bad),
        )
        self.verification = verification


def expect(nodes: int, kind: InstanceType, zone: str = "") -> Expected:
    """What `nodes` nodes of a type must show, from EC2's own numbers."""
    return Expected(nodes, kind.gpus, kind.efa_interfaces, kind.neuron_devices, kind.name, zone)


def judge(expected: Expected, nodes: Iterable[NodeFacts]) -> Verification:
    """Compare every node with what is expected of it. Zero nodes is a failure. Linear in the nodes."""
    judged = tuple(replace(node, problems=tuple(_problems(expected, node))) for node in nodes)
    return Verification(expected, judged, tuple(_checks(expected, judged)))


def _problems(expected: Expected, node: NodeFacts) -> Iterable[str]:
    if not node.ready:
        yield "not Ready" + (f" ({', '.join(node.conditions)})" if node.conditions else "")
    if not node.schedulable:
        yield "cordoned"
    if expected.instance_type and node.instance_type != expected.instance_type:
        yield f"is a {node.instance_type}, not a {expected.instance_type}"
    if expected.zone and node.zone != expected.zone:
        yield f"is in {node.zone}, not in {expected.zone}"
    for what, have, want in (
        ("GPUs", node.gpus, expected.gpus_per_node),
        ("EFA interfaces", node.efa, expected.efa_per_node),
        ("Neuron devices", node.neuron, expected.neuron_per_node),
    ):
        if have != want:
            yield f"{have} of {want} {what} allocatable"


def _checks(expected: Expected, nodes: tuple[NodeFacts, ...]) -> Iterable[Check]:
    yield _check(
        "nodes-present", len(nodes) == expected.nodes,
        f"{len(nodes)} of {expected.nodes} nodes in the node group", "clusterctl nodegroup",
    )  # fmt: skip
    yield _all(nodes, "nodes-ready", "Ready", lambda node: node.ready and node.schedulable, "kubectl describe nodes")
    yield _all(
        nodes, "instance-type", f"of type {expected.instance_type or 'any'}",
        lambda node: expected.instance_type in ("", node.instance_type), "clusterctl nodegroup --destroy",
    )  # fmt: skip
    yield _one_zone(expected, nodes)
    yield from _device_checks(expected, nodes)


def _device_checks(expected: Expected, nodes: tuple[NodeFacts, ...]) -> Iterable[Check]:
    devices = (
        ("gpus", GPU, expected.gpus_per_node, [node.gpus for node in nodes]),
        ("efa", EFA, expected.efa_per_node, [node.efa for node in nodes]),
        ("neuron", NEURON, expected.neuron_per_node, [node.neuron for node in nodes]),
    )
    for check_id, resource, want, counts in devices:
        right = sum(count == want for count in counts)
        message = f"{right} of {len(counts)} nodes show {want} {resource}"
        if not counts:
            yield Check(check_id, CheckState.SKIPPED, "error", "no node to look at", "clusterctl nodegroup")
        else:
            yield _check(check_id, right == len(counts), message, "clusterctl plugins")


def _one_zone(expected: Expected, nodes: tuple[NodeFacts, ...]) -> Check:
    zones = sorted({node.zone for node in nodes})
    if not zones:
        return Check("one-zone", CheckState.SKIPPED, "error", "no node to look at", "clusterctl nodegroup")
    right = len(zones) == 1 and expected.zone in ("", zones[0])
    return _check("one-zone", right, f"all nodes in {', '.join(zones)}", "clusterctl nodegroup --destroy")


def _all(
    nodes: tuple[NodeFacts, ...], check_id: str, what: str, holds: Callable[[NodeFacts], bool], remedy: str
) -> Check:
    right = sum(holds(node) for node in nodes)
    if not nodes:
        return Check(check_id, CheckState.SKIPPED, "error", "no node to look at", remedy)
    return _check(check_id, right == len(nodes), f"{right} of {len(nodes)} nodes {what}", remedy)


def _check(check_id: str, holds: bool, message: str, remedy: str) -> Check:  # noqa: FBT001 - a comparison's result
    state = CheckState.OK if holds else CheckState.FAILED
    return Check(check_id, state, "error", message, "" if holds else remedy)
