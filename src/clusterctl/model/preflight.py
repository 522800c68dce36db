"""What has to hold before a job may cost anything: nodes, devices, ranks, batch, memory, image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from clusterctl.errors import VerificationError
from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.jobsize import JobSize, free_on
from clusterctl.model.pins import Image
from clusterctl.model.pods import PodFacts
from clusterctl.model.verification import EFA, GPU, NEURON, Check, CheckState, NodeFacts
from clusterctl.model.workloads import ModelSize, Workload

_GIB = 1024.0
_ACTIVATION_BYTES = 34  # a token, hidden unit and layer in 16 bit: Korthikanti et al. 2022, without the attention term
_LOGIT_BYTES = 6  # a token and word of the vocabulary: 16 bit logits and their 32 bit gradient


@dataclass(frozen=True, slots=True)
class Ground:
    """What is known before a job: its nodes, the pods that are there, EC2's facts, and what the user set."""

    workload: Workload
    kind: InstanceType
    nodes: tuple[NodeFacts, ...]
    pods: tuple[PodFacts, ...]
    image: Image
    size: JobSize | None
    asked_nodes: int
    micro_batch: int = 1
    sequence: int = 1024
    model_id: str = ""
    operator: str = ""  # what its launcher needs in the cluster and does not find there
    remedy: str = ""
    notes: tuple[str, ...] = field(default=())


def preflight(ground: Ground) -> tuple[Check, ...]:
    """Every check, in the order in which they should be mended."""
    if ground.operator:
        return (_wrong("operator", f"{ground.operator} is not installed", ground.remedy),)
    checks = [*_node_checks(ground)]
    size = ground.size
    if size is None or any(check.state is CheckState.FAILED for check in checks):
        return tuple(checks)
    return (*checks, *_gang(ground, size), _ranks(ground, size), *_batch(ground, size), *_memory(ground, size))


def refuse_unready(checks: Sequence[Check]) -> None:
    """Raise VerificationError with the first check that failed; what was skipped stops nothing."""
    failed = [check for check in checks if check.state is CheckState.FAILED]
    if failed:
        raise VerificationError(
            "; ".join(check.message for check in failed),
            hint=next((check.remedy for check in failed if check.remedy), ""),
        )


def memory_estimate(model: ModelSize, ground: Ground, size: JobSize) -> tuple[float, str]:
    """GiB that one GPU needs, and how that was reckoned."""
    shards = size.ranks if model.sharded else 1
    state = model.parameters * model.bytes_per_parameter / shards / 2**30
    tokens = ground.micro_batch * ground.sequence
    activations = tokens * (_ACTIVATION_BYTES * model.hidden * model.layers + _LOGIT_BYTES * model.vocabulary) / 2**30
    how = f"{model.parameters / 1e9:.2f} B parameters x {model.bytes_per_parameter} B"
    how += f" over {shards} ranks" if model.sharded else ""
    return state + activations, f"{how} = {state:.1f} GiB, activations of {tokens} tokens {activations:.1f} GiB"


def _node_checks(ground: Ground) -> Iterable[Check]:
    workload, nodes = ground.workload, ground.nodes
    if workload.accelerator == "none":
        yield _check("nodes", bool(nodes), f"{len(nodes)} nodes to run on", "clusterctl cluster")
    else:
        right = len(nodes) >= ground.asked_nodes
        yield _check("nodes", right, f"{len(nodes)} of {ground.asked_nodes} nodes ready", "clusterctl nodegroup")
        yield _accelerator(ground)
        yield from _devices(ground)
        zones = sorted({node.zone for node in nodes})
        yield _check("one-zone", len(zones) <= 1, f"nodes in {', '.join(zones)}", "clusterctl nodegroup --destroy")
    yield _count(ground)
    yield _image(ground)


def _accelerator(ground: Ground) -> Check:
    have = ground.kind.accelerator
    right = have is Accelerator(ground.workload.accelerator)
    message = f"{ground.workload.name} is for {ground.workload.accelerator}, {ground.kind.name} has {have.value}"
    return _check("accelerator", right, message, "choose a workload for this instance type")


def _devices(ground: Ground) -> Iterable[Check]:
    """Allocatable, read again: a plugin may have gone since the cluster was verified."""
    kind = ground.kind
    for check_id, resource, want in (
        ("gpus", GPU, kind.gpus), ("efa", EFA, kind.efa_interfaces), ("neuron", NEURON, kind.neuron_devices),
    ):  # fmt: skip
        bad = [node.name for node in ground.nodes if node.allocatable.get(resource, 0) != want]
        message = f"{len(ground.nodes) - len(bad)} of {len(ground.nodes)} nodes offer {want} {resource}"
        yield _check(check_id, not bad, message + (f", not {bad[0]}" if bad else ""), "clusterctl plugins")


def _count(ground: Ground) -> Check:
    workload, nodes = ground.workload, min(len(ground.nodes), ground.asked_nodes)
    most = workload.max_nodes or nodes
    message = f"{workload.name} takes {workload.min_nodes} to {most} nodes, there are {nodes}"
    return _check("node-count", workload.min_nodes <= nodes <= most, message, "GPU_NODE_COUNT, or --nodes")


def _image(ground: Ground) -> Check:
    image, has = ground.image, {node.architecture for node in ground.nodes}
    missing = sorted(has - set(image.architectures))
    built = ", ".join(image.architectures)
    message = f"{image.reference} is built for {built}" + (f", the nodes are {missing[0]}" if missing else "")
    return _check("image", not missing, message, "choose another instance type, or an image of your own")


def _gang(ground: Ground, size: JobSize) -> Iterable[Check]:
    """All of the job at once, on what is free now: a gang that fits in part holds GPUs and does nothing."""
    wanted = {GPU: size.gpus, EFA: size.efa, NEURON: size.neuron}
    for node in (one for one in ground.nodes if one.name in size.nodes):
        free = free_on(node, ground.pods)
        short = [name for name, amount in wanted.items() if amount > max(free.get(name, 0), 0)]
        if short:
            holders = [
                f"{pod.namespace}/{pod.name}"
                for pod in ground.pods
                if pod.node == node.name and not pod.finished and any(pod.requests.get(one) for one in short)
            ]
            held = f", held by {', '.join(holders[:3])}" if holders else ""
            lack = ", ".join(f"{max(free.get(one, 0), 0)} of {wanted[one]} {one}" for one in short)
            yield _wrong("gang", f"{node.name} has {lack} free{held}", "end what holds them, or wait for it")
            return
    message = f"{size.node_count} pods of {size.processes} ranks fit at once"
    yield Check("gang", CheckState.OK, "error", message)


def _ranks(ground: Ground, size: JobSize) -> Check:
    split = ground.workload.parallelism
    share = split.tensor * split.pipeline
    data = split.data or size.ranks // share
    message = f"TP {split.tensor} x PP {split.pipeline} x DP {data} = {share * data}, the nodes make {size.ranks} ranks"
    return _check("ranks", share * data == size.ranks and data > 0, message, "change the parallelism, or the nodes")


def _batch(ground: Ground, size: JobSize) -> Iterable[Check]:
    """Samples an update: micro batch x accumulation x data parallelism, and not x all ranks."""
    batch, split = ground.workload.batch, ground.workload.parallelism
    if batch is None:
        return
    data = size.ranks // (split.tensor * split.pipeline)
    real = ground.micro_batch * batch.accumulation * data
    message = f"{ground.micro_batch} x {batch.accumulation} x DP {data} = {real} samples an update"
    wanted = "" if batch.total in (None, real) else f", {batch.total} are wanted"
    yield _check("global-batch", not wanted, message + wanted, "change BATCH_SIZE, or the workload's accumulation")


def _memory(ground: Ground, size: JobSize) -> Iterable[Check]:
    model, kind = ground.workload.model, ground.kind
    if model is None or not kind.gpu_memory_mib:
        return
    if ground.model_id and ground.model_id != model.name:
        yield Check("memory", CheckState.SKIPPED, "warning", f"the size of {ground.model_id} is not known")
        return
    need, how = memory_estimate(model, ground, size)
    have = kind.gpu_memory_mib / _GIB
    message = f"about {need:.1f} of {have:.1f} GiB a GPU ({how})"
    yield _check("memory", need <= have, message, "smaller BATCH_SIZE or SEQ_LEN, more nodes, or a larger GPU")


def _check(check_id: str, holds: bool, message: str, remedy: str) -> Check:  # noqa: FBT001 - a comparison's result
    state = CheckState.OK if holds else CheckState.FAILED
    return Check(check_id, state, "error", message, "" if holds else remedy)


def _wrong(check_id: str, message: str, remedy: str) -> Check:
    return Check(check_id, CheckState.FAILED, "error", message, remedy)
