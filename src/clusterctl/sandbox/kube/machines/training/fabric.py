"""What NCCL, aws-ofi-nccl and fi_info print in a pod, by its requests, its image and its environment.

Wordings as of aws-ofi-nccl 1.16 and NCCL 2.27. GPUDirect RDMA exists on p4d and later P types; their protocol is RDMA
from p5 on, and SENDRECV before and on G types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines import resources
from clusterctl.sandbox.kube.machines.devices import EFA, GPU, NEURON, NEURON_CORE, image_parts

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.access import Machine
    from clusterctl.sandbox.kube.machines.kinds import Obj

WITH_PLUGIN = ("nccl-tests", "ray", "pytorch-training", "pytorch-training-neuronx", "base")
LINE_RATE_GBPS = {
    "g5.12xlarge": 40, "g5.48xlarge": 100, "g6.12xlarge": 40, "g6.48xlarge": 100, "g6e.12xlarge": 100,
    "g6e.48xlarge": 400, "p4d.24xlarge": 400, "p4de.24xlarge": 400, "p5.4xlarge": 100, "p5.48xlarge": 3200,
    "p5e.48xlarge": 3200, "p5en.48xlarge": 3200, "p6-b200.48xlarge": 3200, "p6-b300.48xlarge": 6400,
    "trn1.32xlarge": 800, "trn1n.32xlarge": 1600, "trn2.48xlarge": 3200,
}  # fmt: skip
EFA_SHARE, TCP_SHARE, TCP_LIMIT_GBS = 0.82, 0.4, 10.0  # of the line rate; one TCP path carries no more than the limit


@dataclass(frozen=True, slots=True)
class Seat:
    """One pod's place in a job: who it is, what it holds, and how its traffic would go."""

    host: str
    index: int
    nodes: int
    address: str
    instance_type: str
    devices: int  # ranks on this pod
    efa: int
    has_plugin: bool
    gpudirect: bool
    rdma: bool
    neuron: bool = False
    sockets: bool = False  # the scenario lets it fall back
    env: tuple[tuple[str, str], ...] = ()

    def with_env(self, more: Mapping[str, str]) -> Seat:
        return replace(self, env=tuple({**dict(self.env), **more}.items()))

    @property
    def transport(self) -> str:
        """efa, tcp (libfabric's), or socket (NCCL's own)."""
        env = dict(self.env)
        refused = env.get("NCCL_NET") == "Socket" or env.get("NCCL_NET_PLUGIN") == "none"
        if self.sockets or refused or not self.has_plugin:
            return "socket"
        provider = env.get("FI_PROVIDER", "efa" if self.efa else "tcp")
        if provider == "efa":
            return "efa" if self.efa else "socket"
        return "tcp" if provider in ("tcp", "sockets") else "socket"


def seat(pod: Obj, machine: Machine, index: int, nodes: int) -> Seat:
    """The place of a pod, from its spec and its machine."""
    container = pod["spec"]["containers"][0]
    asked = {name: int(amount) for name, amount in resources.container_requests(container).items() if "/" in name}
    name, _ = image_parts(container.get("image", ""))
    family = machine.instance_type.split(".")[0]
    return Seat(
        host=pod["spec"].get("hostname") or pod["metadata"]["name"],
        index=index,
        nodes=nodes,
        address=(pod.get("status") or {}).get("podIP", machine.private_ip),
        instance_type=machine.instance_type,
        devices=asked.get(GPU, 0) or asked.get(NEURON_CORE, 0) or _cores(asked.get(NEURON, 0), machine) or 1,
        efa=min(asked.get(EFA, 0), machine.efa_interfaces),
        has_plugin=name in WITH_PLUGIN,
        gpudirect=bool(re.match(r"p[4-9]", family)),
        rdma=bool(re.match(r"p[5-9]", family)),
        neuron=bool(machine.neuron_devices),
        env=tuple(environment(container).items()),
    )


def environment(container: Obj) -> dict[str, str]:
    """The plain variables of a container."""
    return {one["name"]: str(one["value"]) for one in container.get("env") or [] if one.get("value") is not None}


def fi_info(place: Seat) -> list[str]:
    """What `fi_info -p efa -t FI_EP_RDM` finds, with the host in front."""
    if not place.has_plugin:
        return [f"{place.host}: fi_info: not in this image"]
    if not place.efa:
        return [f"{place.host}: fi_getinfo: -61 (No data available)"]
    domains = [f"domain: rdmap{16 * number}s27-rdm" for number in range(place.efa)]
    return [f"{place.host}: {line}" for line in ("provider: efa", *domains)]


def nccl(place: Seat) -> list[str]:
    """The lines of one process of this pod; none unless NCCL_DEBUG asks for them."""
    if dict(place.env).get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
        return []
    library = "CCOM" if place.neuron else "NCCL"
    head = f"{place.host}:{41 + place.index}:{41 + place.index} [0] {library} INFO"
    said = [f"Bootstrap: Using eth0:{place.address}<0>", *_network(place), *_channels(place)]
    return [f"{head} {line}" for line in said]


def bus_bandwidth(place: Seat, transport: str, number: int) -> float:
    """GB/s of a large all-reduce: the same for the same number, a little different from run to run."""
    rate = LINE_RATE_GBPS.get(place.instance_type, 25) / 8
    best = rate * EFA_SHARE if transport == "efa" else min(rate * TCP_SHARE, TCP_LIMIT_GBS)
    return best * (1 + 0.01 * ((number * 7) % 5 - 2))


def slowest(places: Iterable[Seat]) -> str:
    """What a ring over all of them goes as fast as."""
    return "efa" if {place.transport for place in places} == {"efa"} else "tcp"


def _network(place: Seat) -> list[str]:
    transport = place.transport
    plugin = ["NET/OFI Initializing aws-ofi-nccl 1.16.3", "NET/OFI Using Libfabric version 2.1"]
    sockets = ["NET/IB : No device found.", f"NET/Socket : Using [0]eth0:{place.address}<0>", "Using network Socket"]
    if transport == "socket":
        disabled = dict(place.env).get("NCCL_NET_PLUGIN") == "none" or not place.has_plugin
        return sockets if disabled else [*plugin, "NET/OFI No eligible providers were found", *sockets]
    fabric, nics = ("efa", max(place.efa, 1)) if transport == "efa" else ("TCP_V4", 1)
    chosen = f"NET/OFI Selected provider is {transport}, fabric is {fabric} (found {nics} nics)"
    protocol = "RDMA" if place.rdma and transport == "efa" else "SENDRECV"
    return [*plugin, chosen, f"NET/OFI Using transport protocol {protocol}", "Using network Libfabric"]


def _channels(place: Seat) -> list[str]:
    if place.nodes < 2:
        return []
    mine, ranks = place.index * place.devices, place.nodes * place.devices
    network = "Socket/0" if place.transport == "socket" else "Libfabric/0"
    direct = "/GDRDMA" if place.transport == "efa" and place.gpudirect else ""
    last = mine + place.devices - 1
    before, after = (mine - 1) % ranks, (last + 1) % ranks
    return [
        f"Channel 00/0 : {before}[{place.devices - 1}] -> {mine}[0] [receive] via NET/{network}{direct}",
        f"Channel 00/0 : {last}[{place.devices - 1}] -> {after}[0] [send] via NET/{network}{direct}",
    ]


def _cores(devices: int, machine: Machine) -> int:
    return devices * machine.neuron_cores // machine.neuron_devices if devices and machine.neuron_devices else 0
