"""Mistakes in what pods ask of their nodes."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from clusterctl.model.lint.finding import Hit
from clusterctl.model.lint.hardware import HARDWARE, Hardware
from clusterctl.model.lint.pods import ACCELERATORS, EFA, GPU, NEURON, NEURON_CORE, Container, Manifest, Pods
from clusterctl.model.lint.yaml_lines import Map, walk

TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.k8s.aws/zone-id")
TERM = "requiredDuringSchedulingIgnoredDuringExecution"
SUFFIXES = {
    "m": Decimal("0.001"), "": Decimal(1), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "T": Decimal(10**12), "P": Decimal(10**15), "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30),
    "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip


def counts_unlike_type(manifest: Manifest) -> Iterator[Hit]:
    """More devices than the type has never schedule; fewer EFA interfaces for all GPUs waste bandwidth."""
    for pods in manifest.pods:
        kind = instance_type(pods.spec)
        if kind in HARDWARE:
            for container in pods.containers:
                yield from _unlike(container, kind, HARDWARE[kind])


def _unlike(container: Container, kind: str, has: Hardware) -> Iterator[Hit]:
    devices = ((GPU, has.gpus), (EFA, has.efa), (NEURON, has.neuron), (NEURON_CORE, has.neuron_cores))
    for resource, most in devices:
        asked = container.asks(resource)
        if asked > most:
            yield container.resource_line(resource), f"{resource}: {asked}, and a {kind} has {most}"
    efa = container.asks(EFA)
    if has.gpus and container.asks(GPU) == has.gpus and 0 < efa < has.efa:
        yield container.resource_line(EFA), f"{EFA}: {efa} with all GPUs, and a {kind} has {has.efa}"


def instance_type(spec: Map) -> str:
    """The one instance type that pods are bound to, or nothing."""
    for label in TYPE_LABELS:
        chosen = spec.at("nodeSelector", label)
        if isinstance(chosen, str):
            return chosen
    values = {value for label in TYPE_LABELS for one in _affinity_values(spec, label) for value in one[1]}
    return values.pop() if len(values) == 1 else ""


def _affinity_values(spec: Map, label: str) -> Iterator[tuple[int, list[str]]]:
    for term in spec.maps("affinity", "nodeAffinity", TERM, "nodeSelectorTerms"):
        for one in term.maps("matchExpressions"):
            if one.get("key") == label and one.get("operator") == "In":
                yield one.line, one.texts("values")


def many_zones(manifest: Manifest) -> Iterator[Hit]:
    """EFA does not leave a zone, and traffic that does is paid for."""
    for pods in manifest.pods:
        if any(one.has_accelerator or one.asks(EFA) for one in pods.containers):
            yield from _pod_zones(pods)
    if manifest.kind == "NodePool":
        yield from _pool_zones(manifest)
    if manifest.kind == "ClusterConfig" and manifest.group == "eksctl.io":
        yield from _group_zones(manifest)


def _pod_zones(pods: Pods) -> Iterator[Hit]:
    for label in ZONE_LABELS:
        for line, values in _affinity_values(pods.spec, label):
            if len(values) > 1:
                yield line, f"the pods may land in {len(values)} zones: {', '.join(values)}"
    spreads = [one for one in pods.spec.maps("topologySpreadConstraints") if one.get("topologyKey") in ZONE_LABELS]
    apart = [one for one in walk(pods.spec.map("affinity", "podAntiAffinity")) if one.get("topologyKey") in ZONE_LABELS]
    for one in (*spreads, *apart) if pods.many else ():
        yield one.line, "the pods are spread over zones on purpose"


def _pool_zones(manifest: Manifest) -> Iterator[Hit]:
    requirements = manifest.spec.maps("template", "spec", "requirements")
    accelerated = any(value in HARDWARE for one in requirements for value in one.texts("values"))
    for one in requirements:
        values = one.texts("values")
        if accelerated and one.get("key") in ZONE_LABELS and one.get("operator") == "In" and len(values) > 1:
            yield one.line, f"accelerated nodes in {len(values)} zones: {', '.join(values)}"


def _group_zones(manifest: Manifest) -> Iterator[Hit]:
    for kind in ("managedNodeGroups", "nodeGroups"):
        for one in manifest.body.maps(kind):
            zones = one.texts("availabilityZones")
            if one.get("efaEnabled") is True and len(zones) > 1:
                yield one.line_of("availabilityZones"), f"a node group with EFA in {len(zones)} zones"


def requests_unlike_limits(manifest: Manifest) -> Iterator[Hit]:
    """A pod whose requests are below its limits is throttled or evicted first, and with it the whole job."""
    for container in manifest.containers:
        resources = container.body.map("resources")
        requests, limits = resources.map("requests"), resources.map("limits")
        for name, asked in requests.items() if container.has_accelerator else ():
            if name in limits and quantity(asked) != quantity(limits[name]):
                yield requests.line_of(name), f"{name}: {asked} requested, {limits[name]} at most"
            elif name in (*ACCELERATORS, EFA) and limits and name not in limits:
                yield requests.line_of(name), f"{name} is requested without a limit, which Kubernetes refuses"


def quantity(value: Any) -> Decimal | str:
    """A Kubernetes quantity as a number; text that is none stays as it is."""
    text = str(value).strip()
    number = text.rstrip("mkMGTPEi")
    try:
        return Decimal(number) * SUFFIXES[text[len(number) :]]
    except (InvalidOperation, KeyError):
        return text
