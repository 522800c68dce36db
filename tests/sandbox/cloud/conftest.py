"""One AWS daemon for all tests of this folder, reset before each; and a world with a clock turned by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.cloud.world import World
from clusterctl.sandbox.scenario import Scenario
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

SPEED = 3600.0
SOURCES = Path(__file__).parents[3] / "src"


def start_daemon(folder: Path, scenario: str = "") -> tuple[subprocess.Popen[bytes], str]:
    """Start the AWS daemon on a state folder; the process and its URL once it answers."""
    (folder / "clock.json").write_text(json.dumps(SimClock.starting_now(SPEED).to_json()))
    if scenario:
        (folder / "scenario.yaml").write_text(scenario)
    env = {**os.environ, "PYTHONPATH": str(SOURCES)}
    with (folder / "aws.log").open("wb") as log:
        command = [sys.executable, "-m", "clusterctl.sandbox.cloud", "--state", str(folder)]
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    deadline = time.monotonic() + 30
    while not (folder / "aws.json").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail((folder / "aws.log").read_text())
        time.sleep(0.05)
    return process, json.loads((folder / "aws.json").read_text())["url"]


def call(url: str, method: str, path: str, data: Any = None) -> tuple[int, Any]:
    """One control call: the HTTP status and the JSON."""
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(
        f"{url}{path}", data=body, method=method, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


@dataclass
class Aws:
    """AWS as a test sees it: boto3 clients, and the control API."""

    url: str
    session: boto3.Session = field(default_factory=lambda: boto3.Session(ACCESS_KEY, SECRET_KEY))

    def client(self, service: str, region: str = "us-east-2", attempts: int = 1, **config: Any) -> Any:
        settings = Config(retries={"total_max_attempts": attempts}, **config)
        return self.session.client(service, region_name=region, endpoint_url=self.url, config=settings)

    def control(self, method: str, name: str, data: Any = None) -> Any:
        status, answer = call(self.url, method, f"/moto-api/sandbox/{name}", data)
        assert status == 200, answer
        return answer

    def rehearse(self, **scenario: Any) -> None:
        self.control("POST", "scenario", scenario)

    def add_fault(self, **fault: Any) -> None:
        self.control("POST", "faults", fault)

    def calls(self) -> list[dict[str, Any]]:
        return self.control("GET", "calls")["calls"]


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process, url = start_daemon(tmp_path_factory.mktemp("sandbox"))
    yield url
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.fixture
def aws(daemon: str) -> Aws:
    fresh = Aws(daemon)
    fresh.rehearse()
    assert call(daemon, "POST", "/moto-api/reset")[0] == 200
    return fresh


class HandClock(SimClock):
    """A clock that stands still until a test turns it."""

    __slots__ = ("_passed",)

    def __init__(self) -> None:
        super().__init__(real_origin=0.0, sim_origin=1_800_000_000.0, speed=1.0)
        object.__setattr__(self, "_passed", [0.0])

    def timestamp(self) -> float:
        return self.sim_origin + self._passed[0]

    def turn(self, seconds: float) -> None:
        self._passed[0] += seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def world(clock: HandClock) -> World:
    return World(clock, Scenario())
