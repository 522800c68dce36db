"""Where a sandbox keeps its files, and how its processes find each other."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from clusterctl.sandbox.clock import SimClock

ACCOUNT_ID = "123456789012"
ACCESS_KEY = "AKIASANDBOXSANDBOX00"
SECRET_KEY = "sandbox-secret-key-that-opens-nothing"  # noqa: S105 - opens nothing but the loopback world


def write_private(path: Path, text: str) -> None:
    """Replace a file (0600) so that a reader sees the old or the new one."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The folder of one sandbox (0700)."""

    path: Path

    @classmethod
    def default(cls, environment: dict[str, str] | None = None) -> StateFolder:
        env = dict(os.environ) if environment is None else environment
        if given := env.get("CLUSTERCTL_SANDBOX_DIR"):
            return cls(Path(given))
        home = env.get("XDG_STATE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".local" / "state")
        return cls(Path(home) / "clusterctl" / "sandbox")

    @property
    def record(self) -> Path:
        return self.path / "sandbox.json"

    @property
    def scenario(self) -> Path:
        return self.path / "scenario.yaml"

    @property
    def bin(self) -> Path:
        return self.path / "bin"

    def log(self, process: str) -> Path:
        return self.path / f"{process}.log"

    def ready_file(self, process: str) -> Path:
        """Written by a process of the sandbox once it answers: {"url": ..., "pid": ...}."""
        return self.path / f"{process}.json"


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """A running sandbox: where its AWS and its Kubernetes control answer, and its clock."""

    aws_url: str
    aws_pid: int
    kube_url: str
    kube_pid: int
    clock: SimClock

    def to_json(self) -> str:
        data = {
            "aws": {"url": self.aws_url, "pid": self.aws_pid},
            "kube": {"url": self.kube_url, "pid": self.kube_pid},
            "clock": self.clock.to_json(),
        }
        return json.dumps(data, indent=1)

    @classmethod
    def from_json(cls, text: str) -> SandboxRecord:
        data = json.loads(text)
        return cls(
            aws_url=data["aws"]["url"],
            aws_pid=data["aws"]["pid"],
            kube_url=data["kube"]["url"],
            kube_pid=data["kube"]["pid"],
            clock=SimClock.from_json(data["clock"]),
        )
