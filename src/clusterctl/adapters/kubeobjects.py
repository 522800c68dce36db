"""Kubernetes objects as the API gives them, turned into our facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterctl.model import quantities
from clusterctl.model.kube import PodProblem, WorkloadRef, WorkloadState
from clusterctl.model.pods import PodFacts
from clusterctl.model.verification import EFA, GPU, NEURON, NodeFacts

Json = Mapping[str, Any]
HELM_RELEASE = "meta.helm.sh/release-name"
_SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}

_NODE_PARTS = (".metadata.labels", ".spec", ".status.allocatable", ".status.conditions")
NODE_LINES = (
    "{range .items[*]}{.metadata.name}" + "".join(f'{{"\\t"}}{{{part}}}' for part in _NODE_PARTS) + '{"\\n"}{end}'
)
"""kubectl's jsonpath template for what `node_facts` looks at: a line for each node, its parts as JSON between tabs."""


def read_node_lines(text: str) -> Iterator[Json]:
    """The nodes in what kubectl prints for `NODE_LINES`; a part that a node lacks is printed as nothing."""
    for line in filter(None, text.split("\n")):
        name, *parts = line.split("\t")
        labels, spec, allocatable, conditions = (json.loads(part) if part else None for part in parts)
        status = {"allocatable": allocatable, "conditions": conditions}
        yield {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


def node_facts(node: Json) -> NodeFacts:
    """A node and the devices that it offers to pods."""
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    labels = metadata.get("labels") or {}
    allocatable = status.get("allocatable") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    return NodeFacts(
        name=metadata["name"],
        ready=(conditions.get("Ready") or {}).get("status") == "True",
        instance_type=labels.get("node.kubernetes.io/instance-type", ""),
        zone=labels.get("topology.kubernetes.io/zone", ""),
        nodegroup=labels.get("eks.amazonaws.com/nodegroup", ""),
        gpus=_count(allocatable.get(GPU)),
        efa=_count(allocatable.get(EFA)),
        neuron=_count(allocatable.get(NEURON)),
        schedulable=not spec.get("unschedulable", False),
        instance_id=spec.get("providerID", "").rpartition("/")[2],
        labels=dict(labels),
        taints=tuple((one["key"], one.get("value", ""), one["effect"]) for one in spec.get("taints") or ()),
        conditions=tuple(_wrong(conditions)),
        architecture=labels.get("kubernetes.io/arch", ""),
        allocatable=quantities.offers(allocatable),
    )


def pod_facts(pod: Json) -> PodFacts:
    """A pod, what it takes from its node, and why it does not run if it does not."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    first = spec["containers"][0]["name"]
    statuses = {one["name"]: one for one in status.get("containerStatuses") or ()}
    ended = ((statuses.get(first) or {}).get("state") or {}).get("terminated") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    return PodFacts(
        name=metadata["name"],
        namespace=metadata["namespace"],
        node=spec.get("nodeName", ""),
        phase=status.get("phase", "Pending"),
        container=first,
        hostname=spec.get("hostname") or metadata["name"],
        labels=dict(metadata.get("labels") or {}),
        requests=_pod_requests(spec),
        ready=(conditions.get("Ready") or {}).get("status") == "True",
        exit_code=ended.get("exitCode"),
        problem=pod_problem(pod),
    )


def _pod_requests(spec: Json) -> quantities.Amounts:
    """The sum of its containers; init containers that end take nothing beside them."""
    lasting = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    return quantities.total(quantities.requests(_asked(one)) for one in (*spec["containers"], *lasting))


def _asked(container: Json) -> dict[str, Any]:
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def workload_state(ref: WorkloadRef, workload: Json, pods: Iterable[Json] = ()) -> WorkloadState:
    """A DaemonSet, Deployment or StatefulSet, with the reasons of those of its pods that do not run."""
    metadata, spec, status = workload["metadata"], workload["spec"], workload.get("status") or {}
    pod_spec = spec["template"]["spec"]
    wanted, ready, updated = _counts(ref.kind, spec, status)
    seen = status.get("observedGeneration", 0) >= metadata.get("generation", 0)
    return WorkloadState(
        ref=ref,
        exists=True,
        wanted=wanted,
        ready=ready,
        current=seen and updated >= wanted and not metadata.get("deletionTimestamp"),
        release=(metadata.get("annotations") or {}).get(HELM_RELEASE, ""),
        image=pod_spec["containers"][0].get("image", ""),
        spec=pod_spec,
        problems=tuple(problem for pod in pods if (problem := pod_problem(pod))),
    )


def pod_problem(pod: Json) -> PodProblem | None:
    """Why a pod does not run; None for one that does, that is done, or that is going."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    if metadata.get("deletionTimestamp") or status.get("phase") == "Succeeded":
        return None
    name, node = metadata["name"], _node_of(pod)
    statuses = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    for container in statuses:
        if stopped := _stopped(container):
            return PodProblem(name, node, *stopped)
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return PodProblem(name, node, scheduled.get("reason", "Unschedulable"), scheduled.get("message", ""))
    if (conditions.get("Ready") or {}).get("status") == "True":
        return None
    return PodProblem(name, node, status.get("reason") or status.get("phase", "Pending"), status.get("message", ""))


def held_by(found: Json) -> str:
    """Why an object that was deleted is still there, in the words of its conditions or finalizers."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    stuck = ("NamespaceFinalizersRemaining", "NamespaceContentRemaining", "NamespaceDeletionContentFailure",
             "NamespaceDeletionDiscoveryFailure")  # fmt: skip
    said = [one["message"] for kind in stuck for one in conditions if one["type"] == kind and one["status"] == "True"]
    finalizers = ", ".join(found["metadata"].get("finalizers") or ())
    return "; ".join(said) or (f"its finalizers {finalizers} are not done" if finalizers else "nobody says why")


def _stopped(container: Json) -> tuple[str, str] | None:
    """The reason and message of a container that waits or has ended badly."""
    state = container.get("state") or {}
    ended = state.get("terminated") or {}
    if ended.get("exitCode"):
        return ended.get("reason", "Error"), ended.get("message") or f"exit code {ended['exitCode']}"
    waiting = state.get("waiting") or {}
    if waiting.get("reason") in (None, "PodInitializing"):
        return None
    last = (container.get("lastState") or {}).get("terminated") or {}
    return waiting["reason"], last.get("message") or waiting.get("message", "")


def _node_of(pod: Json) -> str:
    """Its node. A DaemonSet's pod names the one it is meant for before it is scheduled."""
    spec = pod.get("spec") or {}
    if name := spec.get("nodeName"):
        return str(name)
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    for term in (required or {}).get("nodeSelectorTerms") or ():
        for match in term.get("matchFields") or ():
            if match.get("key") == "metadata.name" and match.get("values"):
                return str(match["values"][0])
    return ""


def _counts(kind: str, spec: Json, status: Json) -> tuple[int, int, int]:
    """Wanted, ready and updated pods."""
    if kind == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        return wanted, status.get("numberReady", 0), status.get("updatedNumberScheduled", 0)
    return spec.get("replicas", 1), status.get("readyReplicas", 0), status.get("updatedReplicas", 0)


def _wrong(conditions: Mapping[str, Json]) -> Iterable[str]:
    """The reasons of the conditions that are not as they should be: `…Ready` true, all others false."""
    for kind, condition in conditions.items():
        if (condition.get("status") == "True") != kind.endswith("Ready"):
            yield condition.get("reason") or kind


def _count(quantity: str | None) -> int:
    """An extended resource's quantity, which Kubernetes may also write as `1k`."""
    text = str(quantity or "0")
    digits = text.rstrip("kMGi")
    return int(digits or 0) * _SUFFIXES.get(text[len(digits) :], 1)
