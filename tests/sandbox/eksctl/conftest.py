"""One AWS daemon at a hundred minutes a second, the eksctl stand-in as a process, and a cluster to work on."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

SPEED = 1200.0  # a node group that fails is there for a second: time to see it on a starved machine
REGION = "us-east-2"
SOURCES = Path(__file__).parents[3] / "src"
CLUSTER = """
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: us-east-2, version: "1.34", tags: {"clusterctl:run": r1}}
availabilityZones: [us-east-2a, us-east-2b]
"""


@dataclass(frozen=True)
class Sandbox:
    """AWS on loopback, and the stand-in that is pointed at it."""

    url: str
    folder: Path

    def client(self, service: str) -> Any:
        session = boto3.Session(ACCESS_KEY, SECRET_KEY)
        config = Config(retries={"total_max_attempts": 1})
        return session.client(service, region_name=REGION, endpoint_url=self.url, config=config)

    def control(self, method: str, path: str, data: Any = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/moto-api/{path}", data=body, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def rehearse(self, **scenario: Any) -> None:
        self.control("POST", "sandbox/scenario", {"speed": SPEED, **scenario})

    def begin(self, *arguments: str, config: str = "") -> subprocess.Popen[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(SOURCES),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "CLUSTERCTL_SANDBOX_DIR": str(self.folder),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "clusterctl.sandbox.eksctl", *arguments],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(config)
        process.stdin.close()
        process.stdin = None
        return process

    def eksctl(self, *arguments: str, config: str = "") -> tuple[int, str, str]:
        """Run the stand-in to its end: exit code, stdout, stderr."""
        process = self.begin(*arguments, config=config)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def create_nodegroup(self, name: str, *flags: str, **keys: Any) -> tuple[int, str, str]:
        return self.eksctl("create", "nodegroup", "-f", "-", *flags, config=nodegroup_config(name, **keys))

    def stack_status(self, name: str) -> str:
        """The status of a stack, by name; "" when there is none."""
        rows = self.client("cloudformation").list_stacks()["StackSummaries"]
        return next((row["StackStatus"] for row in rows if row["StackName"] == name), "")

    def events(self, name: str) -> list[dict[str, Any]]:
        return list(self.client("cloudformation").describe_stack_events(StackName=name)["StackEvents"])


def nodegroup_config(name: str, **keys: Any) -> str:
    """A config with one GPU node group that nobody waits for."""
    entry = {
        "name": name,
        "instanceType": "g6.12xlarge",
        "desiredCapacity": 2,
        "minSize": 0,
        "maxSize": 2,
        "privateNetworking": True,
        "availabilityZones": ["us-east-2b"],
    }
    config = {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "demo", "region": REGION},
        "managedNodeGroups": [entry | keys],
    }
    return json.dumps(config)


def eventually(look: Callable[[], bool], limit_s: float = 60.0) -> None:
    """Wait, in real seconds, until it is so."""
    deadline = time.monotonic() + limit_s
    while not look():
        assert time.monotonic() < deadline, "it never became so"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("sandbox")
    (folder / "clock.json").write_text(json.dumps(SimClock.starting_now(SPEED).to_json()))
    with (folder / "aws.log").open("wb") as log:
        command = [sys.executable, "-m", "clusterctl.sandbox.cloud", "--state", str(folder)]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    eventually((folder / "aws.json").exists, 30)
    yield Sandbox(json.loads((folder / "aws.json").read_text())["url"], folder)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert "a scheduled job failed" not in (folder / "aws.log").read_text()


@pytest.fixture(scope="module")
def demo(sandbox: Sandbox) -> Sandbox:
    """The sandbox with the cluster `demo`, which has no nodes and whose API nobody serves."""
    authority = base64.b64encode(b"nobody").decode()
    endpoint = {"cluster": "demo", "region": REGION, "endpoint": "https://127.0.0.1:1"}
    sandbox.control("POST", "sandbox/endpoints", endpoint | {"certificate_authority": authority})
    code, out, err = sandbox.eksctl("create", "cluster", "-f", "-", "--write-kubeconfig=false", config=CLUSTER)
    assert code == 0, out + err
    return sandbox
