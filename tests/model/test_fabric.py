"""The fabric's verdict: what every node's own lines of this very run prove, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.fabric import (
    FabricVerdict,
    Known,
    LogSource,
    Transport,
    attribute,
    examine,
    judge_fabric,
    lines_of_run,
    unjudged,
)

EFA = [
    "h0:41:41 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>",
    "h0:41:41 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.16.3",
    "h0:41:41 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
    "h0:41:41 [0] NCCL INFO NET/OFI Using transport protocol RDMA",
    "h0:41:41 [0] NCCL INFO Using network Libfabric",
    "h0:41:47 [0] NCCL INFO Channel 00/0 : 3[3] -> 8[0] [send] via NET/Libfabric/0/GDRDMA",
]
OLD_EFA = [
    "[1,0]<stdout>:h0:26:26 [0] NCCL INFO NET/OFI Selected Provider is efa",
    "[1,0]<stdout>:h0:26:26 [0] NCCL INFO Using network AWS Libfabric",
]
SOCKETS = [
    "h1:41:41 [0] NCCL INFO NET/IB : No device found.",
    "h1:41:41 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>",
    "h1:41:41 [0] NCCL INFO Using network Socket",
    "h1:41:47 [0] NCCL INFO Channel 00/0 : 3[3] -> 8[0] [send] via NET/Socket/0",
]
LIBFABRIC_TCP = [
    "h1:41:41 [0] NCCL INFO NET/OFI Selected provider is tcp, fabric is TCP_V4 (found 1 nics)",
    "h1:41:41 [0] NCCL INFO Using network Libfabric",
]
SILENT = ["h1:41:41 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.2<0>", "step=1 loss=2.0"]
KINDS = {Transport.EFA: EFA, Transport.TCP: SOCKETS, Transport.UNKNOWN: SILENT, Transport.MIXED: EFA + SOCKETS}


def judge(*logs: list[str]) -> FabricVerdict:
    names = tuple(f"node-{number}" for number in range(len(logs)))
    return judge_fabric(names, dict(zip(names, logs, strict=True)), required=True)


@pytest.mark.parametrize(
    ("lines", "transport"),
    [
        (EFA, Transport.EFA),
        (OLD_EFA, Transport.EFA),
        (SOCKETS, Transport.TCP),
        (LIBFABRIC_TCP, Transport.TCP),
        (SILENT, Transport.UNKNOWN),
        ([], Transport.UNKNOWN),
        (EFA + SOCKETS, Transport.MIXED),
        (EFA[:2], Transport.UNKNOWN),
        (["h:1:1 [0] NCCL INFO Using network Libfabric"], Transport.UNKNOWN),
        (["h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC"], Transport.UNKNOWN),
        (["h:1:1 [0] NCCL INFO Assigned NET plugin Socket to comm"], Transport.TCP),
        (["FI_PROVIDER=efa", "we want efa, and Selected nothing"], Transport.UNKNOWN),
    ],
)
def test_a_nodes_own_lines_say_what_carried_its_bytes(lines: list[str], transport: Transport) -> None:
    assert examine("node", lines).transport is transport


@given(st.lists(st.sampled_from(sorted(KINDS, key=lambda kind: kind.value)), min_size=1, max_size=6))
def test_a_job_passes_only_if_every_node_shows_efa(kinds: list[Transport]) -> None:
    verdict = judge(*(KINDS[kind] for kind in kinds))
    assert verdict.passed == (set(kinds) == {Transport.EFA})
    assert [node.transport for node in verdict.nodes] == kinds


def test_one_node_on_sockets_makes_the_job_mixed() -> None:
    assert judge(EFA, SOCKETS).transport is Transport.MIXED


def test_a_node_that_says_nothing_leaves_the_job_unknown() -> None:
    verdict = judge(EFA, SILENT)
    assert (verdict.transport, verdict.passed) == (Transport.UNKNOWN, False)
    assert judge_fabric((), {}, required=True).transport is Transport.UNKNOWN


def test_only_what_needs_no_fabric_passes_without_one() -> None:
    assert unjudged(("node",), "one node").passed
    assert not judge_fabric(("node",), {}, required=True).passed


def test_gpudirect_is_told_apart_from_rdma_of_the_network() -> None:
    plain = [line.replace("/GDRDMA", "") for line in EFA]
    send = [line.replace("protocol RDMA", "protocol SENDRECV") for line in EFA]
    shown = [(one.rdma, one.gpudirect) for one in (examine("n", lines) for lines in (EFA, plain, send, OLD_EFA))]
    assert shown == [
        (Known.YES, Known.YES),
        (Known.YES, Known.NO),
        (Known.NO, Known.YES),
        (Known.UNKNOWN, Known.UNKNOWN),
    ]


def test_fi_info_is_yes_no_or_not_known() -> None:
    found = [
        examine("n", [line]).fi_info for line in ("h: provider: efa", "h: fi_getinfo: -61 (No data available)", "")
    ]
    assert found == [Known.YES, Known.NO, Known.UNKNOWN]
    assert examine("n", ["h: fi_info: not in this image"]).fi_info is Known.NO


def test_lines_of_an_older_run_never_count() -> None:
    old, new = ["clusterctl-run: aaa host=h0", *EFA], ["clusterctl-run: bbb host=h0", *SOCKETS]
    assert list(lines_of_run([*old, *new], "bbb")) == SOCKETS
    assert list(lines_of_run([*new, *old], "bbb")) == SOCKETS
    assert lines_of_run(EFA, "bbb") == ()
    assert lines_of_run(old, "aa") == ()


def test_a_launchers_log_is_divided_by_the_hosts_that_its_lines_name() -> None:
    source = LogSource(
        "launcher", "system", (*EFA, *SOCKETS, "h1: provider: efa", "x:1:1 [0] NCCL INFO hello", "table")
    )
    by_node = attribute([source], {"h0": "node-0", "h1": "node-1"})
    assert by_node["node-0"] == EFA
    assert by_node["node-1"] == [*SOCKETS, "h1: provider: efa"]
    assert len(by_node["system"]) == 2


def test_torchruns_prefix_does_not_hide_the_host() -> None:
    source = LogSource("pod", "elsewhere", tuple(f"[default0]:{line}" for line in EFA))
    assert list(attribute([source], {"h0": "node-0"})) == ["node-0"]


def test_the_evidence_that_is_kept_is_short_and_holds_each_kind() -> None:
    kept = examine("node", EFA * 500).lines
    assert len(kept) <= 6
    assert any("Selected provider" in line for line in kept)
    assert any("via NET/" in line for line in kept)
