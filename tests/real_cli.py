"""The real command in a process of its own, on a sandbox of its own: to be run, killed and run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import clusterctl
from clusterctl.adapters.process import HELM, Tool
from clusterctl.errors import ToolMissingError
from clusterctl.sandbox import lifecycle
from clusterctl.sandbox.state import StateFolder

LIMIT_S = 150.0
DEPLOY = ("deploy-all", "-y", "-o", "json")
TEARDOWN = ("teardown", "-y", "-o", "json")
MOVING = ("RUN_ID", "GPU_SUBNET", "EXPIRES_AT")  # what two undisturbed runs differ in


@dataclass(frozen=True)
class Ended:
    """How a command ended. A signal is a negative code."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return dict(json.loads(self.out))


@dataclass(frozen=True)
class RealCli:
    """One sandbox with a folder to work in."""

    folder: Path
    state: StateFolder
    children: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def placement(self) -> Path:
        return self.folder / ".placement.env"

    @property
    def journal(self) -> Path:
        return self.folder / ".placement.env.journal"

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [*self.command(), *arguments, "--sandbox"], cwd=self.folder, env=self.environ(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.children.append(child)
        return child

    def run(self, *arguments: str) -> Ended:
        return self.finish(self.start(*arguments))

    def finish(self, child: subprocess.Popen[str]) -> Ended:
        try:
            out, err = child.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            pytest.fail(f"still running after {LIMIT_S:.0f} s: {child.communicate()[1][-2000:]}")
        return Ended(child.returncode, out, err)

    def killed_after(self, seconds: float, arguments: Sequence[str]) -> Ended:
        """Run, and SIGKILL that many real seconds later if it still runs."""
        child = self.start(*arguments)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        return self.finish(child)

    def rehearse(self, faults: Sequence[dict[str, Any]] = (), **scenario: Any) -> None:
        self._control("sandbox/scenario", {"faults": list(faults), **scenario})

    def fault(self, **fault: Any) -> None:
        self._control("sandbox/faults", {"faults": [fault]})

    def reset(self) -> None:
        """An empty world without faults, and no files of ours."""
        self.rehearse()
        self._control("reset", {})
        for file in (self.placement, self.journal):
            file.unlink(missing_ok=True)

    def world(self) -> dict[str, dict[str, int]]:
        """How many of each kind there are in each region; what costs nothing any more does not count."""
        counted: dict[str, dict[str, int]] = {}
        for region, kinds in self._control("sandbox/state").items():
            for kind, things in kinds.items():
                alive = [one for one in things if not _is_over(one)]
                if alive:
                    counted.setdefault(region, {})[kind] = len(alive)
        return counted

    def placed(self) -> dict[str, str]:
        """The placement file, without what differs from run to run."""
        if not self.placement.exists():
            return {}
        lines = [line.partition("=") for line in self.placement.read_text().splitlines()]
        return {key: value for key, _, value in lines if key not in MOVING}

    def calls(self, action: str) -> list[dict[str, Any]]:
        return [one for one in self._control("sandbox/calls")["calls"] if one["action"] == action]

    def eventually(self, holds: Any, limit_s: float = 60.0) -> None:
        until = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > until:
                pytest.fail(f"did not happen within {limit_s:.0f} s")
            time.sleep(0.05)

    def _control(self, path: str, body: Any = None) -> Any:
        return lifecycle.control(lifecycle.ensure(self.state), path, body)

    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-m", "clusterctl")

    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CLUSTERCTL_", "AWS_"))}
        source = str(Path(clusterctl.__file__).parents[1])
        return {**kept, "HOME": str(self.folder), "PYTHONPATH": source, "CLUSTERCTL_SANDBOX_DIR": str(self.state.path)}


def _is_over(thing: dict[str, Any]) -> bool:
    state = str(thing.get("state") or thing.get("status") or "").lower()
    return state in ("cancelled", "expired", "terminated", "delete_complete", "failed", "deleted")


@contextmanager
def real_cli(folder: Path, scenario: str | None = None) -> Iterator[RealCli]:
    """Skips where there is no helm."""
    try:
        _ = Tool(HELM, dict(os.environ)).checked_path
    except ToolMissingError as problem:
        pytest.skip(f"{problem}: scripts/get_helm.py brings it")
    cli = RealCli(folder, StateFolder(folder / "sandbox"))
    lifecycle.ensure(cli.state, scenario)
    try:
        yield cli
    finally:
        for child in cli.children:
            child.kill()
        lifecycle.stop(cli.state)
