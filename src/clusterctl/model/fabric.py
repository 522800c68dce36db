"""How the nodes of a job talked to each other, judged by what NCCL and its EFA plugin printed in this very run.

The lines are those of NCCL (CCOM on Neuron) and of aws-ofi-nccl: `NET/OFI Selected provider is efa`,
`Using network AWS Libfabric`, `Channel 00/0 : 3[3] -> 4[0] [send] via NET/Libfabric/0/GDRDMA`; Socket in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

MARKER = "clusterctl-run:"
KEPT_LINES = 6

_HOST = re.compile(
    r"(?:^|[\s>:])(?P<host>[\w.-]+):\d+:\d+ \[\d+\] (?:NCCL|CCOM) "
    r"|^(?P<teller>[\w.-]+): (?:provider|domain|fi_getinfo|fi_info): "
)
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (?P<provider>[\w;-]+)(?:, fabric is (?P<fabric>[\w-]+))?")
_NICS = re.compile(r"NET/OFI Selected [Pp]rovider is .*\(found (?P<nics>\d+) nics?\)")
_NETWORK = re.compile(r"Using network (?P<network>[\w .-]+?)\s*$|Assigned NET plugin (?P<plugin>[\w .-]+?) to comm")
_CHANNEL = re.compile(r"Channel \S+ : .*via NET/(?P<network>[\w .-]+)/\d+\S*")
_SOCKETS = re.compile(r"NET/Socket : Using ")
_PROTOCOL = re.compile(r"NET/OFI Using transport protocol (?P<protocol>\w+)")
_DIRECT = re.compile(r"via NET/[\w .-]+/\S*GDRDMA")
_FI_INFO = re.compile(r"\bprovider:\s*efa\b|\bfi_getinfo: |\bfi_info: ")
_NO_DEVICE = re.compile(r"\bfi_getinfo: |\bfi_info: ")
_EVIDENCE = (_PROVIDER, _NETWORK, _CHANNEL, _SOCKETS, _PROTOCOL, _FI_INFO)


class Transport(Enum):
    """What carried the bytes between nodes. Unknown is its own answer, and no pass."""

    EFA = "efa"
    TCP = "tcp"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class Known(Enum):
    """Yes, no, or nobody said."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LogSource:
    """The log of one pod, and the node that it ran on."""

    pod: str
    node: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeEvidence:
    """What one node's lines show. `gpudirect` is DMA between GPU and network card; `rdma` is the network's own."""

    node: str
    transport: Transport
    provider: str = ""
    networks: tuple[str, ...] = ()
    nics: int | None = None
    rdma: Known = Known.UNKNOWN
    gpudirect: Known = Known.UNKNOWN
    fi_info: Known = Known.UNKNOWN
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FabricVerdict:
    """The verdict on a job. `required` says whether anything but EFA is a failure."""

    transport: Transport
    nodes: tuple[NodeEvidence, ...]
    required: bool = True
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.required or self.transport is Transport.EFA


def lines_of_run(lines: Iterable[str], run_id: str) -> tuple[str, ...]:
    """The lines after this run's marker, up to the marker of another run. A log without the marker counts nothing."""
    kept: list[str] = []
    ours = False
    for line in lines:
        if MARKER in line:
            ours = line.partition(MARKER)[2].split()[:1] == [run_id]
        elif ours:
            kept.append(line)
    return tuple(kept)


def attribute(sources: Iterable[LogSource], hosts: Mapping[str, str]) -> dict[str, list[str]]:
    """Lines by node. NCCL's lines name the host that they come from, which may be another than the log's own."""
    by_node: dict[str, list[str]] = {}
    for source in sources:
        for line in source.lines:
            found = _HOST.search(line)
            node = hosts.get(found["host"] or found["teller"], source.node) if found else source.node
            by_node.setdefault(node, []).append(line)
    return by_node


def examine(node: str, lines: Sequence[str]) -> NodeEvidence:
    """One node's evidence. Linear in the lines."""
    providers = [found["provider"] for line in lines if (found := _PROVIDER.search(line))]
    networks = tuple(dict.fromkeys(network for line in lines for network in _networks(line)))
    nics = [int(found["nics"]) for line in lines if (found := _NICS.search(line))]
    return NodeEvidence(
        node=node,
        transport=_transport(providers, networks),
        provider=providers[-1] if providers else "",
        networks=networks,
        nics=min(nics) if nics else None,
        rdma=_rdma(lines),
        gpudirect=_gpudirect(lines),
        fi_info=_fi_info(lines),
        lines=_kept(lines),
    )


def judge_fabric(nodes: Sequence[str], by_node: Mapping[str, Sequence[str]], *, required: bool) -> FabricVerdict:
    """The verdict over all nodes of a job: each has to show EFA by itself."""
    evidence = tuple(examine(node, by_node.get(node, ())) for node in nodes)
    seen = {one.transport for one in evidence}
    known = seen - {Transport.UNKNOWN}
    if not known:
        transport = Transport.UNKNOWN
    elif len(known) > 1:
        transport = Transport.MIXED
    elif known == {Transport.EFA} and Transport.UNKNOWN in seen:
        transport = Transport.UNKNOWN
    else:
        transport = known.pop()
    return FabricVerdict(transport, evidence, required, _reason(evidence))


def unjudged(nodes: Sequence[str], reason: str) -> FabricVerdict:
    """No verdict, and none wanted: one node alone, or a workload that sends nothing between nodes."""
    evidence = tuple(NodeEvidence(node, Transport.UNKNOWN) for node in nodes)
    return FabricVerdict(Transport.UNKNOWN, evidence, required=False, reason=reason)


def _networks(line: str) -> Iterable[str]:
    if found := _NETWORK.search(line):
        yield (found["network"] or found["plugin"]).strip()
    if found := _CHANNEL.search(line):
        yield found["network"].strip()
    if _SOCKETS.search(line):
        yield "Socket"


def _transport(providers: Sequence[str], networks: Sequence[str]) -> Transport:
    """Libfabric is EFA only if its provider is; a provider that nothing contradicts counts by itself."""
    carried = {_of_network(network, providers) for network in networks} or {_of_provider(one) for one in providers}
    carried.discard(Transport.UNKNOWN)
    if len(carried) > 1:
        return Transport.MIXED
    return carried.pop() if carried else Transport.UNKNOWN


def _of_network(network: str, providers: Sequence[str]) -> Transport:
    if "Libfabric" in network or network == "OFI":
        kinds = {_of_provider(one) for one in providers}
        return kinds.pop() if len(kinds) == 1 else Transport.MIXED if kinds else Transport.UNKNOWN
    return Transport.TCP if network == "Socket" else Transport.UNKNOWN


def _of_provider(provider: str) -> Transport:
    if provider == "efa" or provider.startswith("efa-"):
        return Transport.EFA
    return (
        Transport.TCP if provider.split(";", maxsplit=1)[0] in ("tcp", "sockets", "udp", "net") else Transport.UNKNOWN
    )


def _rdma(lines: Sequence[str]) -> Known:
    protocols = {found["protocol"].upper() for line in lines if (found := _PROTOCOL.search(line))}
    if not protocols:
        return Known.UNKNOWN
    return Known.YES if protocols == {"RDMA"} else Known.NO


def _gpudirect(lines: Sequence[str]) -> Known:
    """Told by the channels between nodes alone; without one of them nothing is known."""
    channels = [line for line in lines if _CHANNEL.search(line)]
    if not channels:
        return Known.UNKNOWN
    return Known.YES if all(_DIRECT.search(line) for line in channels) else Known.NO


def _fi_info(lines: Sequence[str]) -> Known:
    """Whether libfabric's fi_info finds EFA where the job runs."""
    if any(_NO_DEVICE.search(line) for line in lines):
        return Known.NO
    return Known.YES if any(_FI_INFO.search(line) for line in lines) else Known.UNKNOWN


def _kept(lines: Sequence[str]) -> tuple[str, ...]:
    """The first line of each kind of evidence and of each network, short enough to read."""
    chosen: dict[tuple[object, ...], str] = {}
    for line in lines:
        for pattern in _EVIDENCE:
            if pattern.search(line):
                chosen.setdefault((pattern.pattern, *_networks(line)), line.strip()[:300])
    return tuple(dict.fromkeys(chosen.values()))[:KEPT_LINES]


def _reason(evidence: Sequence[NodeEvidence]) -> str:
    counts = {kind: [one.node for one in evidence if one.transport is kind] for kind in Transport}
    said = {
        Transport.EFA: "over EFA", Transport.TCP: "over TCP", Transport.MIXED: "over both",
        Transport.UNKNOWN: "without a word of its network",
    }  # fmt: skip
    return ", ".join(f"{_few(names)} {said[kind]}" for kind, names in counts.items() if names)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 2 else f"{len(names)} nodes"
