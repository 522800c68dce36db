"""Kubernetes as we need to know it: how to reach a cluster, and the state of releases and workloads."""

from __future__ import annotations

from dataclasses import dataclass, field
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
class WorkloadRef:
    """A workload by kind, namespace and name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name} in {self.namespace}"


@dataclass(frozen=True, slots=True)
class Component:
    """Something we install by chart: what it is, where it goes and what shows that it works."""

    name: str
    title: str
    chart: Chart
    release: str
    namespace: str
    values_template: str
    workloads: tuple[WorkloadRef, ...]
    create_namespace: bool = True


@dataclass(frozen=True, slots=True)
class ReleaseState:
    """A helm release as helm shows it. `status` is empty when there is none."""

    name: str
    namespace: str
    status: str = ""
    chart: str = ""
    chart_version: str = ""
    values: dict[str, Any] = field(default_factory=dict, hash=False)


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
    problems: tuple[str, ...] = ()  # of its pods: CrashLoopBackOff, Unschedulable with the scheduler's words


def parse_version(text: str) -> tuple[int, ...]:
    """`v1.37.1` as (1, 37, 1); an empty tuple for what is no version."""
    numbers = text.strip().lstrip("v").split("-")[0].split("+")[0].split(".")
    return tuple(int(part) for part in numbers) if all(part.isdecimal() for part in numbers) else ()
