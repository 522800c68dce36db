"""The sandbox's AWS in a process of its own, for adapters that are to meet it as they meet the real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest

import clusterctl
from clusterctl.adapters.aws.session import AwsSession, Credentials
from clusterctl.adapters.clock import RunClock
from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

SPEED = 600.0
START_LIMIT_S = 40.0


@dataclass
class LocalAws:
    """A running AWS: a session to it, clocks in its time, and its control interface."""

    url: str
    time: SimClock
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def clock(self) -> RunClock:
        """A clock that `stop` interrupts."""
        return RunClock(self.time, self.stop)

    @property
    def steady(self) -> RunClock:
        return RunClock(self.time, threading.Event())

    def session(self, access_key: str = ACCESS_KEY) -> AwsSession:
        return AwsSession(credentials=Credentials(access_key, SECRET_KEY), endpoint_url=self.url)

    def boto(self, service: str, region: str) -> Any:
        """A client that knows every action, for what only somebody else would do."""
        keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY}
        return boto3.Session(**keys).client(service, region_name=region, endpoint_url=self.url)

    def rehearse(self, **scenario: Any) -> None:
        self.control("POST", "scenario", scenario)

    def calls(self, action: str) -> list[dict[str, Any]]:
        """The calls of one action so far, oldest first."""
        return [one for one in self.control("GET", "calls")["calls"] if one["action"] == action]

    def reservations(self, region: str = "us-east-2") -> list[dict[str, Any]]:
        """Every reservation of a region, whatever its state."""
        answer = self.session().client("ec2", region).describe_capacity_reservations()
        return list(answer["CapacityReservations"])

    def reset(self) -> None:
        self.rehearse()
        self._post(f"{self.url}/moto-api/reset", None)
        self.control("POST", "calls", {"clear": True})
        self.stop.clear()

    def control(self, method: str, name: str, data: Any = None) -> Any:
        return self._post(f"{self.url}/moto-api/sandbox/{name}", data, method)

    @staticmethod
    def _post(url: str, data: Any, method: str = "POST") -> Any:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def running_aws(folder: Path, scenario: str = "", speed: float = SPEED) -> Iterator[LocalAws]:
    """AWS on loopback until the block ends."""
    clock = SimClock.starting_now(speed)
    (folder / "clock.json").write_text(json.dumps(clock.to_json()))
    (folder / "scenario.yaml").write_text(scenario)
    source = str(Path(clusterctl.__file__).parents[1])
    with (folder / "aws.log").open("wb") as log:
        command = [sys.executable, "-m", "clusterctl.sandbox.cloud", "--state", str(folder)]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": source}, stdout=log, stderr=log)
    try:
        yield LocalAws(_await_url(folder, process), clock)
    finally:
        process.terminate()
        process.wait(timeout=60)


def _await_url(folder: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_LIMIT_S
    while not (folder / "aws.json").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail((folder / "aws.log").read_text())
        time.sleep(0.05)
    return str(json.loads((folder / "aws.json").read_text())["url"])
