"""What Slurm would say of its nodes, for the pods in which somebody asks: `sinfo` and the like."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.client import ApiError
from clusterctl.sandbox.kube.machines.kinds import POD, is_ready, labels_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Obj

_NAME = "app.kubernetes.io/name"
_DEVICES = {"gpu": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node as slurmctld knows it. `gres` is `(null)` where it registered none."""

    name: str
    partition: str
    state: str
    gres: str
    cpus: int


def nodes_of(cluster: Cluster, node_sets: Sequence[Obj], types: frozenset[str]) -> list[SlurmNode]:
    """The nodes whose slurmd has registered. `types` are those of slurmctld's GresTypes."""
    nodes = []
    for wanted in node_sets:
        partition = wanted["metadata"]["name"].rpartition("-")[2]
        for pod in cluster.informer(POD).owned_by(wanted):
            if is_ready(pod):
                gres = gres_of(wanted)
                shown = gres if gres.partition(":")[0] in types else "(null)"
                limits = pod["spec"]["containers"][0].get("resources", {}).get("limits") or {}
                cpus = int(float(str(limits.get("cpu", "0")).removesuffix("m") or 0))
                nodes.append(SlurmNode(pod["spec"].get("hostname", ""), partition, state_of(pod, wanted), shown, cpus))
    return nodes


def gres_of(wanted: Obj) -> str:
    found = re.search(r"\bGres=(\S+)", wanted["spec"].get("extraConf") or "")
    return found[1] if found else ""


def state_of(pod: Obj, wanted: Obj) -> str:
    """`idle`, or `inval` where slurmd finds another number of devices than its Gres says."""
    kind, _, count = gres_of(wanted).partition(":")
    limits = pod["spec"]["containers"][0].get("resources", {}).get("limits") or {}
    found = str(limits.get(_DEVICES.get(kind, ""), "0"))
    return "idle" if not kind or count == found else "inval"


async def answer(cluster: Cluster, namespace: str, node_sets: Sequence[Obj]) -> None:
    """Let every slurmctld and login pod of the namespace say what Slurm knows."""
    mine = [one for one in node_sets if one["metadata"]["namespace"] == namespace]
    for pod in cluster.informer(POD):
        daemon = labels_of(pod).get(_NAME)
        if pod["metadata"]["namespace"] == namespace and daemon in ("slurmctld", "login") and is_ready(pod):
            nodes = nodes_of(cluster, mine, frozenset(_gres_types(cluster, namespace)))
            with suppress(ApiError):
                await cluster.client.set_answer(pod, r"^sinfo\b.*(-N|--Node|-o|--format)", table(nodes))
                await cluster.client.set_answer(pod, r"^sinfo$", summary(nodes))


def _gres_types(cluster: Cluster, namespace: str) -> list[str]:
    from clusterctl.sandbox.kube.machines.operators.slinky import CONTROLLER

    lines = "\n".join(
        one["spec"].get("extraConf") or ""
        for one in cluster.informer(CONTROLLER)
        if one["metadata"]["namespace"] == namespace
    )
    found = re.search(r"^GresTypes=(\S+)", lines, re.MULTILINE)
    return found[1].split(",") if found else []


def table(nodes: Sequence[SlurmNode]) -> str:
    """A line for each node, whatever columns were asked for."""
    lines = ["NODELIST PARTITION STATE CPUS GRES"]
    lines += [f"{one.name} {one.partition} {one.state} {one.cpus} {one.gres}" for one in nodes]
    return "\n".join(lines) + "\n"


def summary(nodes: Sequence[SlurmNode]) -> str:
    """sinfo's own columns, a line for each partition and state."""
    lines = ["PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"]
    groups: dict[tuple[str, str], list[str]] = {}
    for one in nodes:
        groups.setdefault((one.partition, one.state), []).append(one.name)
    for (partition, state), names in groups.items():
        lines.append(f"{partition + '*':<9} {'up':>5} {'infinite':>10} {len(names):>6} {state:>6} {_listed(names)}")
    return "\n".join(lines) + "\n"


def _listed(names: Sequence[str]) -> str:
    """Slurm's short form: `gpu-[0-1]`."""
    numbers = sorted(int(name.rpartition("-")[2]) for name in names)
    prefix = names[0].rpartition("-")[0]
    if len(numbers) == 1:
        return f"{prefix}-{numbers[0]}"
    dense = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{prefix}-[{numbers[0]}-{numbers[-1]}]" if dense else f"{prefix}-[{','.join(map(str, numbers))}]"
