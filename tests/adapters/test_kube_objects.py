"""What kubectl prints for a node becomes what we know of it, also where a part is missing or holds odd characters."""

from __future__ import annotations

import json

from clusterctl.adapters.kubeobjects import node_facts, read_node_lines

LABELS = {"node.kubernetes.io/instance-type": "p5.48xlarge", "note": "tab\there, line\nthere, \x85 and \u2028"}
SPEC = {"providerID": "aws:///us-east-2b/i-0123", "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
ALLOCATABLE = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
CONDITIONS = [{"type": "Ready", "status": "True", "message": "kubelet is posting\tready status"}]


def line(name: str, *parts: object) -> str:
    return "\t".join([name, *(json.dumps(part, ensure_ascii=False) if part else "" for part in parts)]) + "\n"


def test_a_line_holds_all_that_is_looked_at() -> None:
    (node,) = map(node_facts, read_node_lines(line("ip-10-0-0-1", LABELS, SPEC, ALLOCATABLE, CONDITIONS)))
    assert (node.name, node.ready, node.gpus, node.efa, node.instance_id) == ("ip-10-0-0-1", True, 8, 32, "i-0123")
    assert node.labels == LABELS
    assert node.taints == (("nvidia.com/gpu", "", "NoSchedule"),)


def test_a_node_that_has_said_nothing_yet_is_not_ready_and_offers_nothing() -> None:
    nodes = [*map(node_facts, read_node_lines(line("fresh", {}, {}, {}, []) + line("other", LABELS, SPEC, {}, [])))]
    assert [(node.name, node.ready, node.gpus, node.efa) for node in nodes] == [
        ("fresh", False, 0, 0),
        ("other", False, 0, 0),
    ]


def test_no_line_is_no_node() -> None:
    assert list(read_node_lines("")) == list(read_node_lines("\n")) == []
