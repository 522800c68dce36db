"""Kubernetes as we need to know it: how to reach a cluster, and the state of releases and workloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class KubeAccess:
    """How a cluster's API is reached. Holds no credential."""

    region: str
    cluster: str
    endpoint: str
    certificate_authority: str = field(repr=False, default="")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart at one version: in a repository (https) or in a registry (oci)."""

    repository: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Plain resources at one version: published at an address, or written by us where `url` is empty."""

    url: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """A workload by kind, namespace and name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name} in {self.namespace}"


class Proof(Enum):
    """What about an object shows that the thing behind it works."""

    ESTABLISHED = "established"  # a CustomResourceDefinition is served
    CALLABLE = "callable"  # every webhook of a configuration has the certificate authority of its server
    READY = "ready"  # its condition Ready is true
    REPLICAS = "replicas"  # as many of its replicas are ready as it wants


@dataclass(frozen=True, slots=True)
class Signal:
    """An object of the API that has to exist and prove something; `resource` is what kubectl calls it."""

    resource: str
    name: str
    proof: Proof
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.resource.partition('.')[0]}/{self.name}"


@dataclass(frozen=True, slots=True)
class Component:
    """Something we install by chart or manifest: what it is, where it goes, what shows that it works, how it goes away.

    `template`, filled with `facts`, gives its values. `needs` are the components that have to serve before it is
    installed. `rivals` do the same job and come from elsewhere: they go before ours comes. A `shared` one is used as it
    is where somebody has it already. `resource` is what a device plugin makes nodes offer.
    `objects` are the kinds that its operator has to clean up after, and it stays while there is anything of the kinds
    in `users`. `crds` map the definitions it brings to the version that we speak.
    """

    name: str
    title: str
    chart: Chart | Manifest
    release: str
    namespace: str
    workloads: tuple[WorkloadRef, ...]
    rivals: tuple[WorkloadRef, ...] = ()
    resource: str = ""
    crds: Mapping[str, str] = field(default_factory=dict, hash=False)
    template: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    objects: tuple[str, ...] = ()
    own_namespace: bool = False
    users: tuple[str, ...] = ()
    shared: bool = False

    @property
    def proofs(self) -> tuple[Signal, ...]:
        """All that has to be proved, the definitions first."""
        definitions = (Signal("customresourcedefinitions", name, Proof.ESTABLISHED) for name in self.crds)
        return (*definitions, *self.signals)


@dataclass(frozen=True, slots=True)
class ReleaseState:
    """A helm release as helm shows it. `status` is empty when there is none."""

    name: str
    namespace: str
    status: str = ""
    chart: str = ""
    chart_version: str = ""
    revision: int = 0
    foreign: bool = False  # somebody else installed it
    values: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def exists(self) -> bool:
        return bool(self.status)


@dataclass(frozen=True, slots=True)
class PodProblem:
    """Why a pod does not run, in Kubernetes' own words: CrashLoopBackOff, ImagePullBackOff, Unschedulable."""

    pod: str
    node: str
    reason: str
    message: str = ""

    def __str__(self) -> str:
        where = f" on {self.node}" if self.node else ""
        return f"{self.pod}{where}: {self.reason}" + (f" ({self.message})" if self.message else "")


@dataclass(frozen=True, slots=True)
class WorkloadState:
    """A Deployment, StatefulSet or DaemonSet: wanted and ready pods, who made it, and its pod template's placement."""

    ref: WorkloadRef
    exists: bool = False
    wanted: int = 0
    ready: int = 0
    current: bool = False  # the controller has seen the newest generation
    release: str = ""  # the helm release that owns it
    image: str = ""
    spec: dict[str, Any] = field(default_factory=dict, hash=False)  # the pod template's spec
    problems: tuple[PodProblem, ...] = ()

    @property
    def rolled_out(self) -> bool:
        """True if the newest version runs everywhere it should. A DaemonSet that should run nowhere has, too."""
        return self.exists and self.current and self.ready >= self.wanted


def parse_version(text: str) -> tuple[int, ...]:
    """`v1.37.1` as (1, 37, 1); an empty tuple for what is no version."""
    numbers = text.strip().lstrip("v").split("-")[0].split("+")[0].split(".")
    return tuple(int(part) for part in numbers) if all(part.isdecimal() for part in numbers) else ()
