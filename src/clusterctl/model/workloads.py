"""A training workload as its folder under manifests/workloads describes it: what runs, and what proves that it ran."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from clusterctl.errors import UsageError
from clusterctl.model.names import nearest


class Launcher(Enum):
    """Who starts the ranks."""

    JOB = "job"  # an Indexed Job, one pod a node
    VOLCANO = "volcano"
    MPI = "mpi"
    RAY = "ray"
    SLURM = "slurm"


class Fabric(Enum):
    """Whose lines tell how the nodes talked to each other; none where only one of them works."""

    NCCL = "nccl"
    NEURON = "neuron"
    NONE = "none"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as problem:
        raise ValueError(f"{text!r} is not a regular expression: {problem}") from problem
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


class ModelSize(BaseModel):
    """What the memory estimate needs of a model. `bytes_per_parameter` is weights, gradients and optimizer together."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    parameters: int = Field(gt=0)
    layers: int = Field(gt=0)
    hidden: int = Field(gt=0)
    vocabulary: int = Field(gt=0)
    bytes_per_parameter: int = Field(gt=0)
    sharded: bool = False


class Parallelism(BaseModel):
    """How many ranks share one copy of the model; data parallelism is what is left of the ranks."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    tensor: int = Field(default=1, ge=1)
    pipeline: int = Field(default=1, ge=1)
    data: int | None = Field(default=None, ge=1)


class Batch(BaseModel):
    """`micro` samples a rank and step, `accumulation` steps an update; `total` samples an update, if that is fixed."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    accumulation: int = Field(default=1, ge=1)
    total: int | None = Field(default=None, ge=1)


class Workload(BaseModel):
    """One workload. `scripts` are files of scripts/train that travel to the pods; `success` is a line of its output."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")
    title: str
    launcher: Launcher
    accelerator: Literal["nvidia", "neuron", "none"] = "nvidia"
    image: str
    fabric: Fabric = Fabric.NCCL
    scripts: tuple[str, ...] = ()
    success: Pattern
    progress: Pattern = r"\bstep[= ](?P<step>\d+)"
    min_nodes: int = Field(default=1, ge=1)
    max_nodes: int | None = Field(default=None, ge=1)
    model: ModelSize | None = None
    parallelism: Parallelism = Parallelism()
    batch: Batch | None = None


def parse_workload(data: Mapping[str, Any], source: str) -> Workload:
    """Read a description. Raises UsageError naming the first wrong field of `source`."""
    try:
        return Workload.model_validate(dict(data))
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{source}: {where}: {first['msg']}") from problem


def no_such_workload(name: str, known: tuple[str, ...]) -> UsageError:
    meant = nearest(name, known)
    hint = f"did you mean {meant}?" if meant else f"workloads: {', '.join(known)}"
    return UsageError(f"there is no workload {name!r}", hint=hint)
