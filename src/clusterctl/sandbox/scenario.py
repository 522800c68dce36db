"""What is rehearsed: capacity, quotas and faults, as the user's scenario file says them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from clusterctl.engine.effects import EFFECTS
from clusterctl.errors import UsageError
from clusterctl.model.names import nearest
from clusterctl.sandbox.clock import DEFAULT_SPEED

Outcome = Literal[
    "rollback",
    "timeout",
    "silent-nothing",
    "partial",  # eksctl
    "never-scheduled",
    "crash-loop",
    "not-ready",  # kube
    "sockets",
    "crash",  # a rank
]


class Free(BaseModel):
    """Instances that can be had in a zone; gone after a while where that is said."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    count: int = Field(ge=0)
    gone_after_s: float | None = None


class Reserved(BaseModel):
    """A capacity reservation that the account already has, with capacity of its own."""

    model_config = ConfigDict(extra="forbid")
    zone: str
    instance_type: str
    count: int = Field(ge=1)
    id: str | None = None
    ends_in_s: float | None = None
    match: Literal["open", "targeted"] = "targeted"
    placement_group_arn: str | None = None
    tags: dict[str, str] = Field(default_factory=dict)


class Block(BaseModel):
    """A capacity block that the account owns or, if `offered`, could buy; times from the scenario's start."""

    model_config = ConfigDict(extra="forbid")
    zone: str
    instance_type: str
    count: int = Field(ge=1)
    id: str | None = None
    starts_in_s: float = Field(default=0.0, ge=0)
    ends_in_s: float = Field(default=86_400.0, gt=0)
    offered: bool = False
    upfront_usd: float = 0.0


PLACES = (
    "ec2", "eks", "cloudformation", "autoscaling", "iam", "sts", "service-quotas", "pricing",
    "eksctl", "kube", "process",
)  # fmt: skip


PROCESS = "process:clusterctl"


def _known_place(on: str) -> str:
    place, _, what = on.partition(":")
    if place not in PLACES or not what:
        raise ValueError(f"{on!r} is not SERVICE:WHAT with a service of {', '.join(PLACES)}")
    if place == "process" and on != PROCESS:
        raise ValueError(f"{on!r} is no process that can be killed, {PROCESS} is")
    return on


def _known_effect(name: str) -> str:
    if name not in EFFECTS:
        meant = nearest(name, EFFECTS)
        ending = f", did you mean {meant}?" if meant else f" of {', '.join(EFFECTS)}"
        raise ValueError(f"{name!r} is no side effect{ending}")
    return name


EffectName = Annotated[str, AfterValidator(_known_effect)]


class Fault(BaseModel):
    """One thing that goes wrong, `times` times or always, where its selectors match."""

    model_config = ConfigDict(extra="forbid")
    on: Annotated[str, AfterValidator(_known_place)]
    region: str | None = None
    zone: str | None = None
    instance_type: str | None = None
    name: str | None = None
    error: str | None = None
    message: str | None = None
    status: int | None = None
    lose_response: bool = False
    delay_s: float = 0.0
    times: int | None = Field(default=None, ge=1)
    outcome: Outcome | None = None
    crash_before: EffectName | None = None
    crash_after: EffectName | None = None

    @model_validator(mode="after")
    def _kills_what_can_be_killed(self) -> Self:
        """A process dies before or after one effect; nothing else can die."""
        moments = [one for one in (self.crash_before, self.crash_after) if one]
        if (self.on == PROCESS) != bool(moments) or len(moments) > 1:
            raise ValueError(f"{PROCESS} takes one of crash_before and crash_after, and nothing else takes them")
        return self


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of true and false: to YAML 1.1, and so to PyYAML, the key `on` of a fault is the value true."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as its base has it
        first: [(tag, pattern) for tag, pattern in rules if first in "tTfF" or tag != "tag:yaml.org,2002:bool"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class Scenario(BaseModel):
    """A whole scenario file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid")
    speed: Annotated[float, Field(gt=0)] = DEFAULT_SPEED
    latency_ms: Annotated[float, Field(ge=0)] = 0.0
    zones: dict[str, dict[str, str]] = Field(default_factory=dict)
    quotas: dict[str, dict[str, float]] = Field(default_factory=dict)
    scores: dict[str, int] = Field(default_factory=dict)
    prices: dict[str, float] = Field(default_factory=dict)
    capacity: dict[str, dict[str, int | float | Free]] = Field(default_factory=dict)
    blocks: list[Block] = Field(default_factory=list)
    reservations: list[Reserved] = Field(default_factory=list)
    enabled_regions: list[str] | None = None
    faults: list[Fault] = Field(default_factory=list)


_SEE = "see docs/sandbox.md for the keys"
_FIELDS = sorted({key for kind in (Scenario, Fault, Free, Reserved, Block) for key in kind.model_fields})


def parse_scenario(text: str, source: str) -> Scenario:
    """Read a scenario. Raises UsageError naming the first wrong field of `source`."""
    try:
        data = yaml.load(text, Loader=_Loader) or {}  # noqa: S506 - a safe one
    except yaml.YAMLError as problem:
        words = " ".join(str(problem).split())
        raise UsageError(f"{source} is not YAML: {words}", hint=_SEE) from problem
    if not isinstance(data, dict):
        raise UsageError(f"{source} is no mapping of keys to values", hint=_SEE)
    try:
        return Scenario.model_validate(data)
    except ValidationError as problem:
        raise _wrong_field(problem, source) from problem


def load_scenario(path: Path) -> Scenario:
    try:
        return parse_scenario(path.read_text(), str(path))
    except OSError as problem:
        raise UsageError(f"cannot read scenario {path}: {problem.strerror}", hint=_SEE) from problem
    except UnicodeDecodeError as problem:
        raise UsageError(f"scenario {path} is no text", hint=_SEE) from problem


def plain_words(message: str) -> str:
    """pydantic's words without what it puts before ours."""
    return message.removeprefix("Value error, ")


def _wrong_field(problem: ValidationError, source: str) -> UsageError:
    first = problem.errors()[0]
    where, field = ".".join(map(str, first["loc"])), str(first["loc"][-1])
    if first["type"] != "extra_forbidden":
        return UsageError(f"{source}: {where}: {plain_words(first['msg'])}", hint=_SEE)
    meant = nearest(field, _FIELDS)
    return UsageError(f"{source}: {where} is no key of a scenario", hint=f"did you mean {meant}?" if meant else _SEE)
