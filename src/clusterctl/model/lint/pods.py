"""The pods that a manifest asks for: how many of a kind, with which containers, and what these run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clusterctl.model.lint.shell import SHELLS, Command, Word, command_of, read_commands
from clusterctl.model.lint.yaml_lines import Map, Text

GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
NEURON = "aws.amazon.com/neuron"
NEURON_CORE = "aws.amazon.com/neuroncore"
ACCELERATORS = (GPU, NEURON, NEURON_CORE)
ROLES = "ReplicaSpecs"  # mpiReplicaSpecs, pytorchReplicaSpecs, tfReplicaSpecs …


@dataclass(frozen=True)
class Container:
    """One container, as the manifest has it."""

    body: Map

    @property
    def line(self) -> int:
        return self.body.line

    def asks(self, resource: str) -> int:
        """How many of a device it asks for; a request or a limit alone stands for both."""
        limit = self.body.at("resources", "limits", resource)
        return whole(self.body.at("resources", "requests", resource) if limit is None else limit) or 0

    def resource_line(self, resource: str) -> int:
        for kind in ("limits", "requests"):
            block = self.body.map("resources", kind)
            if resource in block:
                return block.line_of(resource)
        return self.line

    @property
    def has_accelerator(self) -> bool:
        return any(self.asks(one) for one in ACCELERATORS)

    @property
    def env(self) -> list[Map]:
        return self.body.maps("env")

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """What it runs: its command and arguments, and the commands of a script given to a shell there."""
        words = [
            Word(str(word), word.line if isinstance(word, Text) else self.body.line_of(key))
            for key in ("command", "args")
            for word in _listed(self.body.at(key))
        ]
        names = [word.text.rpartition("/")[2] for word in words]
        if len(words) > 1 and names[0] in SHELLS and not any(one.startswith("-") for one in names[1:]):
            return ()  # a script file of the image
        return tuple(command_of(words)) if words else ()


@dataclass(frozen=True)
class Pods:
    """Pods of one template. `count` is None where the manifest does not say how many there will be."""

    role: str
    count: int | None
    spec: Map
    owner: Map
    containers: tuple[Container, ...]

    @property
    def many(self) -> bool:
        return self.count is not None and self.count > 1

    @property
    def commands(self) -> Iterator[tuple[Container, Command]]:
        return ((one, command) for one in self.containers for command in one.commands)


@dataclass(frozen=True)
class Manifest:
    """One Kubernetes object of a file."""

    body: Map

    @property
    def kind(self) -> str:
        return str(self.body.get("kind", ""))

    @property
    def group(self) -> str:
        return str(self.body.get("apiVersion", "")).rpartition("/")[0]

    @property
    def version(self) -> str:
        return str(self.body.get("apiVersion", "")).rpartition("/")[2]

    @property
    def spec(self) -> Map:
        return self.body.map("spec")

    @cached_property
    def pods(self) -> tuple[Pods, ...]:
        return tuple(_pods(self))

    @property
    def containers(self) -> Iterator[Container]:
        return (one for pods in self.pods for one in pods.containers)

    @property
    def commands(self) -> Iterator[Command]:
        return (command for one in self.containers for command in one.commands)


def whole(value: Any) -> int | None:
    """A count as a number; None for text that is none, such as a variable."""
    text = str(value).strip()
    return int(text) if text.isdecimal() else None


def _listed(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _pods(manifest: Manifest) -> Iterator[Pods]:
    spec = manifest.spec
    match manifest.kind:
        case "Pod":
            yield _made("pod", 1, spec, spec)
        case "Job" if manifest.group == "batch.volcano.sh":
            for task in spec.maps("tasks"):
                yield _made(str(task.get("name", "task")), _count(task, "replicas"), task.map("template", "spec"), task)
        case "Job":
            yield _made("pod", _count(spec, "parallelism"), spec.map("template", "spec"), spec)
        case "CronJob":
            job = spec.map("jobTemplate", "spec")
            yield _made("pod", _count(job, "parallelism"), job.map("template", "spec"), job)
        case "JobSet":
            yield from _job_set(spec)
        case "RayCluster" | "RayJob" | "RayService":
            yield from _ray(spec if manifest.kind == "RayCluster" else _ray_spec(spec))
        case "NodeSet" if manifest.group == "slinky.slurm.net":
            yield _slurm_nodes(spec)
        case _:
            yield from _by_roles(spec)


def _by_roles(spec: Map) -> Iterator[Pods]:
    roles = [name for name in spec if name.endswith(ROLES)]
    for name in roles:
        for role, one in spec.map(name).items():
            if isinstance(one, Map):
                yield _made(role, _count(one, "replicas"), one.map("template", "spec"), one)
    if not roles and isinstance(spec.at("template", "spec"), Map):
        yield _made("pod", whole(spec.get("replicas", 1)), spec.map("template", "spec"), spec)


def _job_set(spec: Map) -> Iterator[Pods]:
    for one in spec.maps("replicatedJobs"):
        job = one.map("template", "spec")
        replicas, parallel = _count(one, "replicas"), _count(job, "parallelism")
        count = replicas * parallel if replicas is not None and parallel is not None else None
        yield _made(str(one.get("name", "job")), count, job.map("template", "spec"), job)


def _ray_spec(spec: Map) -> Map:
    return spec.map("rayClusterSpec") if "rayClusterSpec" in spec else spec.map("rayClusterConfig")


def _ray(spec: Map) -> Iterator[Pods]:
    head = spec.map("headGroupSpec")
    yield _made("head", 1, head.map("template", "spec"), head)
    for group in spec.maps("workerGroupSpecs"):
        replicas, hosts = _count(group, "replicas"), _count(group, "numOfHosts")
        count = replicas * hosts if replicas is not None and hosts is not None else None
        yield _made(str(group.get("groupName", "worker")), count, group.map("template", "spec"), group)


def _slurm_nodes(spec: Map) -> Pods:
    made = _made("slurmd", _count(spec, "replicas"), spec.map("template", "spec"), spec)
    slurmd = spec.get("slurmd")
    own = (Container(slurmd),) if isinstance(slurmd, Map) else ()
    return Pods(made.role, made.count, made.spec, made.owner, (*own, *made.containers))


def _count(owner: Map, key: str) -> int | None:
    return whole(owner.get(key, 1))


def _made(role: str, count: int | None, spec: Map, owner: Map) -> Pods:
    containers = tuple(Container(one) for kind in ("initContainers", "containers") for one in spec.maps(kind))
    return Pods(role, count, spec, owner, containers)


def script_commands(text: Text) -> list[Command]:
    """The commands of a script that stands in a manifest."""
    return list(read_commands(str(text), text.line))
