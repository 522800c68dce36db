"""What the user asked for, where each value came from, and what cannot be asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from clusterctl.errors import UsageError
from clusterctl.model import pins
from clusterctl.model.names import check_names, nearest

DEFAULT_REGION = "us-east-2"
MIXES = ("ray", "slurm", "volcano", "mpi")

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_WIDER = (("REGION", "REGIONS"), ("GPU_AZ", "AZS"), ("GPU_NODE_TYPE", "INSTANCE_TYPES"))  # one, and a list of them


def parse_duration(text: str) -> timedelta:
    """`4h`, `90m`, `1d12h`. Raises UsageError for anything else, and for no time at all."""
    found = _DURATION.fullmatch(text.strip())
    if not found or not any(found.groups()):
        raise UsageError(f"{text!r} is not a duration", hint="write it like 4h, 90m or 1d12h")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    if not length:
        raise UsageError(f"{text!r} is no time at all", hint="write it like 4h, or leave it out for no end")
    return length


def _words(value: object) -> object:
    if isinstance(value, str):
        return tuple(part for part in re.split(r"[,\s]+", value.strip()) if part)
    return value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Settings(BaseModel):
    """Every setting, under the plain name that the environment uses (upper case)."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    cluster_name: str = "training"
    region: str = DEFAULT_REGION
    regions: Words = ()
    azs: Words = ()
    k8s_version: str = Field(default=pins.KUBERNETES, pattern=r"^1\.\d{2}$")
    node_ami_family: str = pins.AMI_FAMILY
    system_node_type: str = "m7i.xlarge"
    system_node_count: int = Field(default=2, ge=1, le=100)
    gpu_node_type: str = "g6.12xlarge"
    gpu_node_count: int = Field(default=2, ge=1, le=1000)
    gpu_nodegroup_name: str = "gpu"
    gpu_az: str = ""
    gpu_taint: bool = False
    gpus_per_node: int | None = None
    instance_types: Words = ()
    capacity_reservation_id: str = Field(default="", pattern=r"^(cr-[0-9a-f]{17})?$")
    assume_yes: bool = False
    owner: str = ""
    ttl: str = ""
    max_hourly_usd: float | None = Field(default=None, gt=0)
    operators: Words = ("ray",)
    dlc_image: str = pins.RAY_TRAIN_IMAGE
    kuberay_version: str = pins.KUBERAY
    volcano_version: str = pins.VOLCANO
    mpi_operator_version: str = pins.MPI_OPERATOR
    slinky_version: str = pins.SLINKY
    cert_manager_version: str = pins.CERT_MANAGER
    ebs_csi_driver_version: str = pins.EBS_CSI_DRIVER
    mariadb_operator_version: str = pins.MARIADB_OPERATOR
    ray_version: str = pins.RAY
    nvidia_device_plugin_version: str = pins.NVIDIA_DEVICE_PLUGIN
    efa_device_plugin_version: str = pins.EFA_DEVICE_PLUGIN
    neuron_helm_chart_version: str = pins.NEURON_HELM_CHART
    namespace: str = "training"
    ray_cluster_name: str = "ray"
    model_id: str = "Qwen/Qwen2.5-1.5B"
    steps: int = Field(default=50, ge=1)
    seq_len: int = Field(default=1024, ge=1)
    batch_size: int = Field(default=1, ge=1)
    learning_rate: float = Field(default=1e-5, gt=0)
    num_workers: int | None = Field(default=None, ge=1)

    @property
    def types(self) -> tuple[str, ...]:
        """The instance types in order of preference."""
        return self.instance_types or (self.gpu_node_type,)

    @property
    def search_regions(self) -> tuple[str, ...]:
        return self.regions or (self.region,)

    @property
    def lifetime(self) -> timedelta | None:
        return parse_duration(self.ttl) if self.ttl else None


KEYS = tuple(name.upper() for name in Settings.model_fields)


class Origin(IntEnum):
    """Who said a value; a smaller number beats a larger one."""

    FLAG = 0
    ENVIRONMENT = 1
    PLACEMENT = 2
    PROJECT = 3
    DEFAULT = 4


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one origin; `source` is how errors name it."""

    origin: Origin
    source: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResolvedSettings:
    """The settings, and the layer that each value came from."""

    settings: Settings
    sources: Mapping[str, Layer]

    def explicit(self, key: str) -> bool:
        """True if the caller said it in this run, by flag or environment."""
        layer = self.sources.get(key)
        return layer is not None and layer.origin <= Origin.ENVIRONMENT


def resolve(layers: Iterable[Layer]) -> ResolvedSettings:
    """Merge layers by precedence. Raises UsageError naming the key and the layer that is wrong."""
    chosen: dict[str, Layer] = {}
    for layer in sorted(layers, key=lambda one: one.origin):
        for key, value in layer.values.items():
            _known(key, layer)
            if value not in (None, ""):
                chosen.setdefault(key, layer)
    for one, several in _WIDER:  # a list from a weaker layer does not hide the one that a stronger layer names
        if one in chosen and several in chosen and chosen[one].origin < chosen[several].origin:
            del chosen[several]
    values = {key.lower(): layer.values[key] for key, layer in chosen.items()}
    settings = _validated(values, chosen)
    check_names(settings.cluster_name, (settings.gpu_nodegroup_name,))
    _check_operators(settings)
    _ = settings.lifetime
    return ResolvedSettings(settings, chosen)


def _known(key: str, layer: Layer) -> None:
    if key not in KEYS:
        meant = nearest(key, KEYS)
        raise UsageError(
            f"{layer.source}: unknown setting {key}",
            hint=f"did you mean {meant}?" if meant else "see clusterctl status --settings",
        )


def _validated(values: Mapping[str, Any], chosen: Mapping[str, Layer]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        key = str(first["loc"][0]).upper()
        given = first.get("input")
        raise UsageError(
            f"{key} cannot be {given!r}: {_plainly(str(first['msg']))}",
            hint=f"it comes from {chosen[key].source}",
        ) from problem


def _plainly(message: str) -> str:
    return message[0].lower() + message[1:].replace("String should match pattern", "it must match")


def _check_operators(settings: Settings) -> None:
    for name in settings.operators:
        if name not in MIXES:
            meant = nearest(name, MIXES)
            raise UsageError(
                f"unknown operator {name!r} in --with",
                hint=f"did you mean {meant}?" if meant else f"choose from {', '.join(MIXES)}",
            )
