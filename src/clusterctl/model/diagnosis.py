"""Why a node does not offer the devices it has: one cause for each way in which this goes wrong, with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from clusterctl.model.kube import PodProblem, WorkloadState
from clusterctl.model.placing import Misfit, Obstacle, obstacles
from clusterctl.model.verification import EFA, GPU, NEURON, NodeFacts

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"


class Fault(Enum):
    """What is wrong."""

    NODE_NOT_READY = "node-not-ready"
    STARTING = "starting"
    TYPE_NOT_LISTED = "type-not-listed"
    LABEL_MISSING = "label-missing"
    TAINT_NOT_TOLERATED = "taint-not-tolerated"
    NOT_PLACED = "not-placed"
    IMAGE = "image"
    CRASH_LOOP = "crash-loop"
    NO_DRIVER = "no-driver"
    NO_EFA_INTERFACE = "no-efa-interface"
    WRONG_COUNT = "wrong-count"


REPAIRABLE = frozenset({Fault.TYPE_NOT_LISTED, Fault.TAINT_NOT_TOLERATED})  # by installing with our values
FATAL = frozenset({Fault.LABEL_MISSING})  # no waiting helps, and nothing of ours to repair


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One fault, the nodes that have it, and what to do about it."""

    fault: Fault
    resource: str
    message: str
    remedy: str
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        some = ", ".join(self.nodes[:3]) + (f" and {len(self.nodes) - 3} more" if len(self.nodes) > 3 else "")
        return f"{self.resource} on {some or 'no node'}: {self.message}"


def offered(node: NodeFacts, resource: str) -> int:
    """How many devices of a resource a node offers to pods."""
    return {GPU: node.gpus, EFA: node.efa, NEURON: node.neuron}.get(resource, 0)


def diagnose(resource: str, wanted: int, plugin: WorkloadState, nodes: Iterable[NodeFacts]) -> tuple[Diagnosis, ...]:
    """The faults of one device plugin, the nodes that share a fault together. Empty if every node offers `wanted`."""
    by_node = {problem.node: problem for problem in plugin.problems}
    found: dict[Diagnosis, list[str]] = {}
    for node in nodes:
        if offered(node, resource) != wanted:
            found.setdefault(_cause(resource, wanted, plugin, by_node, node), []).append(node.name)
    return tuple(Diagnosis(one.fault, resource, one.message, one.remedy, tuple(names)) for one, names in found.items())


def _cause(
    resource: str, wanted: int, plugin: WorkloadState, problems: Mapping[str, PodProblem], node: NodeFacts
) -> Diagnosis:
    if not node.ready:
        reasons = ", ".join(node.conditions) or "its kubelet has not reported"
        return Diagnosis(Fault.NODE_NOT_READY, resource, f"not Ready: {reasons}", "kubectl describe node")
    if in_the_way := obstacles(plugin.spec, node):
        return _misplaced(resource, plugin, in_the_way, node)
    if problem := problems.get(node.name) or problems.get(""):
        return _not_running(resource, plugin, problem)
    if plugin.wanted == 0:
        return Diagnosis(
            Fault.NOT_PLACED, resource, f"{plugin.ref} has DESIRED 0 though the node fits it",
            f"kubectl -n {plugin.ref.namespace} describe daemonset {plugin.ref.name}",
        )  # fmt: skip
    if not plugin.rolled_out:
        message = f"{plugin.ref} runs on {plugin.ready} of {plugin.wanted} nodes"
        return Diagnosis(Fault.STARTING, resource, message, "wait")
    return _miscounted(resource, wanted, offered(node, resource), plugin)


def _misplaced(resource: str, plugin: WorkloadState, found: tuple[Obstacle, ...], node: NodeFacts) -> Diagnosis:
    taints = [one for one in found if one.misfit is Misfit.TAINT]
    types = [one for one in found if one.key == INSTANCE_TYPE_LABEL]
    if types:
        message = f"{plugin.ref} does not list {node.instance_type}, so it runs on none of these nodes"
        return Diagnosis(Fault.TYPE_NOT_LISTED, resource, message, "clusterctl plugins")
    if taints and len(taints) == len(found):
        message = f"{plugin.ref} does not tolerate {', '.join(one.message for one in taints)}"
        return Diagnosis(Fault.TAINT_NOT_TOLERATED, resource, message, "clusterctl plugins")
    labels = [one for one in found if one.misfit is Misfit.LABEL]
    message = f"{plugin.ref} wants " + " or ".join(one.message for one in labels) + ", and the node has none of it"
    return Diagnosis(Fault.LABEL_MISSING, resource, message, _label_remedy(labels, node))


def _label_remedy(labels: list[Obstacle], node: NodeFacts) -> str:
    ours = next((one.key for one in labels if one.key in ("nvidia.com/gpu.present", "role")), labels[-1].key)
    value = {"nvidia.com/gpu.present": "true", "role": "gpu-worker"}.get(ours, "VALUE")
    group = node.nodegroup or "NODEGROUP"
    return (
        f"kubectl label nodes -l eks.amazonaws.com/nodegroup={group} {ours}={value}, and for nodes to come: "
        f"aws eks update-nodegroup-config --nodegroup-name {group} --labels addOrUpdateLabels={{{ours}={value}}}"
    )


def _not_running(resource: str, plugin: WorkloadState, problem: PodProblem) -> Diagnosis:
    namespace, pod = plugin.ref.namespace, problem.pod
    said = problem.reason + (f": {problem.message}" if problem.message else "")
    if "Image" in problem.reason:
        return Diagnosis(
            Fault.IMAGE,
            resource,
            f"its image {plugin.image} does not come: {said}",
            f"kubectl -n {namespace} describe pod {pod}",
        )
    if problem.reason == "Unschedulable":
        return Diagnosis(
            Fault.NOT_PLACED, resource, f"its pod waits: {said}", f"kubectl -n {namespace} describe pod {pod}"
        )
    if problem.reason not in ("CrashLoopBackOff", "Error", "OOMKilled", "StartError", "RunContainerError"):
        return Diagnosis(Fault.STARTING, resource, f"its pod is not running yet: {said}", "wait")
    if resource == EFA:
        message = f"the instance was launched without EFA interfaces, so the plugin does not stay up ({said})"
        return Diagnosis(
            Fault.NO_EFA_INTERFACE, resource, message, "clusterctl nodegroup --destroy, then clusterctl nodegroup"
        )
    return Diagnosis(
        Fault.CRASH_LOOP,
        resource,
        f"the plugin does not stay up: {said}",
        f"kubectl -n {namespace} logs {pod} --previous",
    )


def _miscounted(resource: str, wanted: int, have: int, plugin: WorkloadState) -> Diagnosis:
    remake = "clusterctl nodegroup --destroy, then clusterctl nodegroup"
    logs = f"kubectl -n {plugin.ref.namespace} logs daemonset/{plugin.ref.name}"
    if resource == EFA and have < wanted:
        message = f"the instance was launched with {have} of {wanted} EFA interfaces"
        return Diagnosis(Fault.NO_EFA_INTERFACE, resource, message, remake)
    if have == 0:
        message = "the plugin runs and finds no device: the node's image has no driver for it, or the driver failed"
        return Diagnosis(Fault.NO_DRIVER, resource, message, f"NODE_AMI_FAMILY=AmazonLinux2023; {logs}")
    message = f"the plugin counts {have}, EC2 says {wanted}" + (": a device has failed" if have < wanted else "")
    return Diagnosis(Fault.WRONG_COUNT, resource, message, f"replace the node; {logs}" if have < wanted else logs)
