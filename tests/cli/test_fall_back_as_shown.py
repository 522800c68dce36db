"""Fall-back as a user sees it: the real program against one sandbox, with what goes wrong told in scenario files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)]
FULL = "capacity: {%s}\n"
EAST = ("us-east-2a", "us-east-2b", "us-east-2c")


@dataclass(frozen=True)
class Answer:
    """What one command ended with."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A user with a home and a sandbox of his own."""

    home: Path

    def run(self, *arguments: str, scenario: str = "") -> Answer:
        extra: list[str] = []
        if scenario:
            file = self.home / "scenario.yaml"
            file.write_text(scenario, encoding="utf-8")
            self._call("sandbox", "fault", str(file))
            extra = ["--sandbox", "--scenario", str(file)]
        return self._call(*arguments, *extra)

    def _call(self, *arguments: str) -> Answer:
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CLUSTERCTL_SANDBOX"))}
        environ = {
            **plain,
            "HOME": str(self.home),
            "CLUSTERCTL_SANDBOX_DIR": str(self.home / "sandbox"),
            "COLUMNS": "200",
        }
        command = [sys.executable, "-m", "clusterctl", *arguments]
        done = subprocess.run(
            command, cwd=self.home, env=environ, capture_output=True, text=True, timeout=800, check=False
        )
        return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp("fall-back"))
    try:
        yield shell
    finally:
        shell.run("sandbox", "stop")


def deploy(shell: Shell, *arguments: str, scenario: str) -> Answer:
    return shell.run("deploy-all", "-y", *arguments, scenario=scenario)


def test_no_room_anywhere_is_exit_3_and_each_place_has_its_reason(shell: Shell) -> None:
    full = FULL % ", ".join(f"{zone}: {{g6.12xlarge: 0}}" for zone in EAST)
    answer = deploy(shell, "-o", "json", scenario=full)
    assert answer.code == 3, answer.err
    document = answer.document
    assert document["error"]["kind"] == "no-capacity"
    assert [(one["zone"], one["outcome"]) for one in sorted(document["attempts"], key=lambda one: one["zone"])] == [
        (zone, "no-capacity") for zone in EAST
    ]
    assert all(one["reason"] for one in document["attempts"])
    assert not (shell.home / ".placement.env").exists()
    told = deploy(shell, scenario=full)
    assert told.code == 3
    assert all(zone in told.out for zone in EAST)


def test_a_short_quota_is_exit_4_with_the_command_that_asks_for_more(shell: Shell) -> None:
    answer = deploy(shell, "-o", "json", scenario="quotas: {us-east-2: {L-DB2E81BA: 48}}\n")
    assert answer.code == 4, answer.err
    assert (
        "request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA" in answer.document["error"]["hint"]
    )
    assert "create cluster" not in answer.err


def test_zones_that_do_not_launch_lead_to_the_next_zone_and_then_to_the_region_that_was_asked_for(shell: Shell) -> None:
    dry = 'faults: [{on: "eksctl:create-nodegroup", zone: "us-east-2*", outcome: rollback}]\n'
    zones = "us-east-2a,us-east-2b,us-west-2a"
    answer = deploy(shell, "-r", "us-east-2,us-west-2", "--azs", zones, "-o", "json", scenario=dry)
    assert answer.code == 0, answer.err
    document = answer.document
    outcomes = {one["zone"]: one["outcome"] for one in document["attempts"]}
    assert outcomes == {"us-east-2a": "no-capacity", "us-east-2b": "no-capacity", "us-west-2a": "available"}
    assert document["attempts"][-1]["zone"] == "us-west-2a"
    assert document["placement"]["region"] == "us-west-2"
    assert {node["zone"] for node in document["verification"]["nodes"]} == {"us-west-2a"}
    deleted = [line for stage in document["stages"] for line in stage["actions"] if line.startswith("delete cluster")]
    assert deleted == ["delete cluster training in us-east-2 (teardown)"]
