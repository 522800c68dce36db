"""Pods of a job as we need to know them, and why one that does not run does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from clusterctl.model.kube import PodProblem

FINISHED = ("Succeeded", "Failed")
HOPELESS = frozenset(
    ["ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"]
)
PATIENT = frozenset(["Unschedulable", "ErrImagePull"])


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod. `requests` as model.quantities counts them; `problem` says why it does not run."""

    name: str
    namespace: str
    node: str
    phase: str
    container: str = ""
    hostname: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    requests: Mapping[str, int] = field(default_factory=dict, hash=False)
    ready: bool = False
    exit_code: int | None = None
    problem: PodProblem | None = None

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED


class Stuck(Enum):
    """Whether a pod that does not run yet may still do so."""

    NO = "no"
    MAYBE = "maybe"  # the scheduler or the registry may change its mind
    YES = "yes"


def stuck(pod: PodFacts) -> Stuck:
    if pod.finished or pod.problem is None:
        return Stuck.NO
    if pod.problem.reason in HOPELESS:
        return Stuck.YES
    return Stuck.MAYBE if pod.problem.reason in PATIENT else Stuck.NO


def remedy(problem: PodProblem) -> str:
    """What to do about a pod that cannot start."""
    said = problem.message
    if "vpc.amazonaws.com/efa" in said or "nvidia.com/gpu" in said or "aws.amazon.com/neuron" in said:
        return "clusterctl verify shows what the nodes offer; clusterctl train NAME --delete frees what a job holds"
    if "untolerated taint" in said:
        return "kubectl describe nodes shows the taint; take it away, or make the node group with GPU_TAINT"
    if "Insufficient" in said:
        return "something else runs on the GPU nodes: kubectl get pods -A -o wide"
    if "mage" in problem.reason:
        return "check the image's name and tag, and that the nodes reach its registry"
    return "kubectl describe pod shows its events"
