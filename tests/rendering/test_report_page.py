"""The page of a run: whole by itself, with the numbers of the run's JSON, and safe with whatever text AWS sends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest

from clusterctl.model.report import report_of
from clusterctl.rendering.report_page import report_page

VOID = {"meta", "link", "br"}
HOSTILE = """</script><script>alert("1")</script><img src=x onerror=alert(2)> & 'so on'"""


@dataclass
class Page(HTMLParser):
    """A page as its elements, each with attributes and text; ends that do not match their beginning are faults."""

    html: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, str]] = []
        self.feed(self.html)
        self.close()
        self.faults += [f"{tag} is never closed" for tag, _ in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        keys = [f"{name}={value}" for name, value in attrs if name.startswith("data-") or name == "id"]
        if tag not in VOID:
            self._open.append((tag, " ".join(keys)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.faults.append(f"</{tag}> inside {self._open[-1:]}")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for _, keys in self._open:
            if keys:
                self.texts[keys] = self.texts.get(keys, "") + data

    def text(self, key: str) -> str:
        return " ".join(self.texts[key].split())

    def of(self, name: str) -> list[str]:
        return [str(attributes[name]) for _, attributes in self.elements if name in attributes]


def stage(name: str, needs: list[str], began: str | None, seconds: float, status: str = "done") -> dict[str, Any]:
    step = {"what": f"create {name}", "started": began, "seconds": seconds}
    return {
        "name": name, "needs": needs, "status": status, "started": began, "seconds": seconds, "message": "",
        "steps": [step] if status == "done" else [],
    }  # fmt: skip


def candidate(rank: int, zone: str, verdict: str, reason: str = "") -> dict[str, Any]:
    return {
        "region": zone[:-1], "zone": zone, "instance_type": "g6.12xlarge", "verdict": verdict, "spot_score": 3,
        "hourly_usd": 9.2032, "reason": reason, "rank": rank,
    }  # fmt: skip


def node(name: str, gpus: int) -> dict[str, Any]:
    return {
        "name": name, "zone": "us-east-2a", "instance_type": "g6.12xlarge", "ready": True, "gpus": gpus, "efa": 1,
        "neuron": 0, "problems": [] if gpus == 4 else ["3 of 4 GPUs"],
    }  # fmt: skip


def deployed(reason: str = "no room") -> dict[str, Any]:
    """A run that fell back once and ended on a cluster with a GPU too few."""
    failed = {"region": "us-east-2", "zone": "us-east-2b", "instance_type": "g6.12xlarge", "outcome": "no-capacity"}
    check = {"id": "gpus", "ok": False, "skipped": False, "severity": "error", "message": "a GPU is missing"}
    return {
        "schema": "clusterctl/run/v1", "command": "deploy-all", "cluster": "training",
        "run_id": "run-1", "world": "aws",
        "started": "2026-11-30T12:00:00+00:00", "seconds": 1000.0, "critical_path": ["probe", "cluster", "verify"],
        "timeline": [
            stage("probe", [], "2026-11-30T12:00:00+00:00", 100.0),
            stage("cluster", ["probe"], "2026-11-30T12:01:40+00:00", 800.0),
            stage("kuberay", ["cluster"], None, 0.0, "skipped"),
            stage("verify", ["cluster"], "2026-11-30T12:15:00+00:00", 100.0, "failed"),
        ],
        "notes": [reason],
        "result": {
            "ok": False,
            "error": {"kind": "verification", "message": reason, "hint": "clusterctl verify", "exit_code": 5},
            "placement": {"cluster_name": "training", "region": "us-east-2", "gpu_az": "us-east-2a",
                          "gpu_node_type": "g6.12xlarge"},
            "candidates": [candidate(1, "us-east-2a", "available"), candidate(2, "us-east-2b", "no-capacity", reason)],
            "attempts": [{**failed, "reason": reason}],
            "hourly_usd": 9.7514,
            "cost": {"hourly_usd": 9.7514, "lines": [{"what": reason, "count": 2, "hourly_usd": None}]},
            "verification": {
                "expected": {"nodes": 2, "gpus_per_node": 4, "efa_per_node": 1, "neuron_per_node": 0},
                "nodes": [node("node-1", 4), node(reason, 3)],
                "totals": {"nodes": 2, "ready": 2, "gpus": 7, "efa": 2, "neuron": 0},
                "checks": [{**check, "remedy": "clusterctl plugins"}],
            },
        },
    }  # fmt: skip


def removed() -> dict[str, Any]:
    left = {"kind": "volume", "id": "vol-1", "region": "us-east-2", "monthly_usd": 8.0, "command": "aws ec2 delete"}
    result = {"ok": False, "deleted": ["cluster"], "kept": [{"id": "vol-2", "why": "data"}], "leftovers": [left]}
    return {**deployed(), "command": "teardown", "result": result}


def page(run: Mapping[str, Any]) -> Page:
    return Page(report_page(report_of(run)))


@pytest.mark.parametrize("run", [deployed(), deployed(HOSTILE), removed()])
def test_the_page_is_well_formed_and_asks_for_nothing(run: dict[str, Any]) -> None:
    found = page(run)
    assert found.faults == []
    assert found.of("src") == []
    assert found.of("href") == ["data:,"]
    assert not re.search(r"url\(|@import|https?:", found.html.split("</style>")[0])
    assert [name for tag, attributes in found.elements for name in attributes if name.startswith("on")] == []
    assert [attributes.get("type") for tag, attributes in found.elements if tag == "script"] == ["application/json"]


def test_hostile_text_stays_text() -> None:
    found = page(deployed(HOSTILE))
    assert found.text("id=error") == HOSTILE
    assert json.loads(found.texts["id=run"])["result"]["error"]["message"] == HOSTILE


def test_the_numbers_are_those_of_the_json() -> None:
    run = deployed()
    found, totals = page(run), run["result"]["verification"]["totals"]
    assert json.loads(found.texts["id=run"]) == run
    for figure in ("nodes", "gpus", "efa"):
        assert found.text(f"data-figure={figure}") == str(totals[figure])
    assert found.text("data-figure=hourly_usd") == "9.75"
    assert dict(zip(found.of("data-stage"), found.of("data-seconds"), strict=True)) == {
        one["name"]: str(one["seconds"]) for one in run["timeline"]
    }


def test_a_node_with_too_little_stands_out_with_what_was_expected() -> None:
    found = page(deployed())
    assert found.of("data-node") == ["node-1", "no room"]
    assert "4 of 4" in found.text("data-node=node-1")
    assert "3 of 4" in found.text("data-node=no room")
    assert "0 of 0" not in found.text("data-node=node-1")  # a type without Neuron has no such column


def test_every_place_is_there_with_its_verdict_and_the_chosen_one_is_marked() -> None:
    found = page(deployed())
    assert found.of("data-zone") == ["us-east-2a", "us-east-2b"]
    assert "chosen" in found.text("data-zone=us-east-2a data-type=g6.12xlarge")
    assert "no-capacity" in found.text("data-zone=us-east-2b data-type=g6.12xlarge")
    assert found.of("data-attempt") == ["us-east-2b"]


def test_bars_stand_where_their_stages_ran_and_the_critical_ones_are_marked() -> None:
    bars = {bar.stage: bar for bar in report_of(deployed()).bars}
    assert (bars["cluster"].left, bars["cluster"].width) == (10, 80)
    assert [name for name, bar in bars.items() if bar.critical] == ["probe", "cluster", "verify"]
    assert report_of(deployed()).critical_seconds == 1000


def test_what_a_teardown_left_is_named_with_the_command() -> None:
    found = page(removed())
    assert found.of("data-leftover") == ["vol-1"]
    assert "aws ec2 delete" in found.text("data-leftover=vol-1")
    assert "data-figure=gpus" not in found.texts
