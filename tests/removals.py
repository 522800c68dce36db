"""clusterctl against one sandbox of its own, called as a shell would call it, in an account that others use too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clusterctl
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

LIMIT_S = 170
OURS = {"clusterctl:run": "r1"}


@dataclass
class Told:
    """What a call printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed


@dataclass
class Sandbox:
    """A sandbox in a folder."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *words: str) -> Told:
        done = self.start(*words)
        out, err = done.communicate(timeout=LIMIT_S)
        return Told(done.returncode, out, err)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "clusterctl", *words],
            cwd=self.folder, env=self.environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def boto(self, service: str, region: str) -> Any:
        """AWS as others use it."""
        import boto3

        url = json.loads((self.folder / "world" / "aws.json").read_text())["url"]
        session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
        return session.client(service, region_name=region, endpoint_url=url)

    def world(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """Everything that the account holds."""
        found: dict[str, Any] = self("sandbox", "status", "-o", "json").document["world"]
        return found

    def vpc(self, region: str, cluster: str) -> tuple[str, str]:
        """The VPC of a cluster and one of its subnets."""
        network = self.boto("eks", region).describe_cluster(name=cluster)["cluster"]["resourcesVpcConfig"]
        return network["vpcId"], network["subnetIds"][0]

    def reserve(self, region: str, zone: str, tags: dict[str, str]) -> str:
        rows = [{"Key": key, "Value": value} for key, value in tags.items()]
        made = self.boto("ec2", region).create_capacity_reservation(
            InstanceType="m5.xlarge", InstancePlatform="Linux/UNIX", InstanceCount=1, AvailabilityZone=zone,
            TagSpecifications=[{"ResourceType": "capacity-reservation", "Tags": rows}] if rows else [],
        )  # fmt: skip
        return str(made["CapacityReservation"]["CapacityReservationId"])


@contextmanager
def running_sandbox(folder: Path) -> Iterator[Sandbox]:
    """A sandbox until the block ends; nothing of the user's environment reaches it."""
    source = str(Path(clusterctl.__file__).parents[1])
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "TMPDIR", "LANG")}
    sandbox = Sandbox(folder, kept | {
        "HOME": str(folder), "CLUSTERCTL_SANDBOX": "1", "CLUSTERCTL_SANDBOX_DIR": str(folder / "world"),
        "PYTHONPATH": source,
    })  # fmt: skip
    started = sandbox("sandbox", "start")
    assert started.code == 0, started.err
    try:
        yield sandbox
    finally:
        sandbox("sandbox", "stop")


def tagged(kind: str, tags: dict[str, str]) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}]
