"""Whole journeys through the command line: from nothing to a verified cluster, again, and back to nothing."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.program import LocalWorld, Program, Ran
from local_kube import eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]

STAGES = ["probe", "cluster", "nodegroup", "plugins", "kuberay", "verify"]


def statuses(ran: Ran) -> dict[str, str]:
    return {stage["name"]: stage["status"] for stage in ran.document["stages"]}


@dataclass
class Journey:
    """One deployment, and what the world was like before it."""

    world: LocalWorld
    before: Any
    first: Ran


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the journey goes on from test to test."""
    return tmp_path_factory.mktemp("journey")


@pytest.fixture
def at_home(sandboxed: Program, home: Path) -> Program:
    sandboxed.folder = home
    return sandboxed


@pytest.fixture(scope="module")
def state() -> dict[str, Journey]:
    return {}


@pytest.fixture
def journey(at_home: Program, world: LocalWorld, state: dict[str, Journey]) -> Journey:
    """deploy-all, once for the tests of this module."""
    if "main" not in state:
        before = world.aws()
        state["main"] = Journey(world, before, at_home("deploy-all", "-y", "-o", "json"))
    return state["main"]


def test_deploy_all_ends_with_a_verified_cluster(journey: Journey) -> None:
    document = journey.first.document
    assert (journey.first.code, document["ok"]) == (0, True), journey.first.stderr
    assert document["schema"] == "clusterctl/deploy-all/v1"
    assert (document["verification"]["totals"]["gpus"], document["verification"]["totals"]["efa"]) == (8, 2)
    assert statuses(journey.first) == dict.fromkeys(STAGES[:-1], "done") | {"verify": "unchanged"}
    assert document["hourly_usd"] > 0
    assert journey.world.mutations()
    assert journey.world.kube_changes("training")


def test_a_second_run_finds_nothing_to_do_and_changes_nothing(journey: Journey, at_home: Program) -> None:
    journey.world.forget_calls()
    known = journey.world.kube_changes("training")
    again = at_home("deploy-all", "-y", "-o", "json")
    assert again.code == 0, again.stderr
    assert statuses(again) == dict.fromkeys(STAGES, "unchanged")
    assert journey.world.mutations() == []
    assert journey.world.kube_changes("training") == known


def test_the_placement_file_sources_in_bash(journey: Journey, home: Path) -> None:
    script = 'set -euo pipefail; set -a; . ./.placement.env; echo "$CLUSTER_NAME $REGION $GPU_AZ $GPU_NODE_COUNT"'
    said = subprocess.run(["bash", "-c", script], cwd=home, capture_output=True, text=True, check=True)
    placement = journey.first.document["placement"]
    assert said.stdout.split() == ["training", "us-east-2", placement["gpu_az"], "2"]
    assert said.stderr == ""


def test_each_stage_by_itself_finds_nothing_to_do(journey: Journey, at_home: Program) -> None:
    journey.world.forget_calls()
    for stage in STAGES[1:-1]:
        ran = at_home(stage, "-y", "-o", "json")
        assert (ran.code, set(statuses(ran).values())) == (0, {"unchanged"}), stage
    assert at_home("verify", "--expect-nodes", "2").code == 0
    assert at_home("verify", "--expect-nodes", "3").code == 5
    assert journey.world.mutations() == []


def test_teardown_leaves_the_world_as_it_was(journey: Journey, at_home: Program, home: Path) -> None:
    gone = at_home("teardown", "-y", "-o", "json")
    assert gone.code == 0, gone.stderr
    assert gone.document["leftovers"] == gone.document["kept"] == []
    assert journey.world.aws() == journey.before
    assert eventually(journey.world.kube_clusters, lambda names: names == []) == []
    assert not (home / ".placement.env").exists()
    assert at_home("teardown", "-y").code == 0


@pytest.mark.parametrize(
    ("kind", "nodes", "each"),
    [
        ("p5.48xlarge", 4, {"gpus": 8, "efa": 32, "neuron": 0}),
        ("p6-b200.48xlarge", 2, {"gpus": 8, "efa": 8, "neuron": 0}),
        ("trn2.48xlarge", 2, {"gpus": 0, "efa": 16, "neuron": 16}),
    ],
)
def test_a_node_of_each_kind_shows_what_its_type_has(
    sandboxed: Program, kind: str, nodes: int, each: dict[str, int]
) -> None:
    name = kind.split(".", maxsplit=1)[0]
    ran = sandboxed(
        "deploy-all", "-y", "-o", "json", GPU_NODE_TYPE=kind, GPU_NODE_COUNT=str(nodes), CLUSTER_NAME=name
    )  # fmt: skip
    assert ran.code == 0, ran.stderr
    shown = ran.document["verification"]["nodes"]
    assert [{key: node[key] for key in each} for node in shown] == [each] * nodes
    assert all(node["instance_type"] == kind and not node["problems"] for node in shown)
