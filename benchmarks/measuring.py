"""What the benchmarks share: a sandbox of their own, child processes with a stopwatch, and the table at the end."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterctl.sandbox import lifecycle
from clusterctl.sandbox.state import SandboxRecord, StateFolder

BIN = Path(sys.executable).parent
CLUSTERCTL = [str(BIN / "clusterctl")] if (BIN / "clusterctl").exists() else [sys.executable, "-m", "clusterctl"]
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in one unit of ru_maxrss


@dataclass(frozen=True, slots=True)
class Finished:
    """A child process that is over: real seconds, and the most memory that it ever had."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    peak_mib: float

    def succeeded(self) -> Finished:
        """Ends the benchmark if the command failed: then there is nothing to measure."""
        if self.code:
            sys.exit(f"a command failed with {self.code}:\n{self.stderr}")
        return self

    def document(self) -> dict[str, Any]:
        """Its JSON."""
        found: dict[str, Any] = json.loads(self.succeeded().stdout)
        return found


@dataclass(slots=True)
class Table:
    """Measured values, each held to a target where there is one."""

    title: str
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    missed: bool = False

    def say(self, what: str, value: str) -> None:
        self.rows.append((what, value, "", ""))

    def at_least(self, what: str, value: float, target: float, unit: str = "x") -> None:
        self._judge(what, value, f">= {target:g} {unit}", value >= target, unit)

    def at_most(self, what: str, value: float, target: float, unit: str = "x") -> None:
        self._judge(what, value, f"<= {target:g} {unit}", value <= target, unit)

    def end(self) -> int:
        """Print the table; the exit code."""
        width = max(len(row[0]) for row in self.rows)
        print(self.title)
        for what, value, target, verdict in self.rows:
            print(f"  {what:<{width}}  {value:>12}  {target:<12} {verdict}".rstrip())
        print()
        return int(self.missed)

    def _judge(self, what: str, value: float, target: str, holds: bool, unit: str) -> None:  # noqa: FBT001
        self.missed = self.missed or not holds
        self.rows.append((what, f"{value:.2f} {unit}", target, "ok" if holds else "MISSED"))


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A running sandbox, and the environment in which commands find it and nothing of the user's."""

    record: SandboxRecord
    folder: Path
    environ: dict[str, str]

    def clusterctl(self, *arguments: str) -> Finished:
        return measured([*CLUSTERCTL, *arguments, "--sandbox"], self.environ, self.folder)

    def calls(self) -> list[dict[str, Any]]:
        """The AWS calls since the last time, oldest first."""
        found: list[dict[str, Any]] = lifecycle.control(self.record, "sandbox/calls")["calls"]
        lifecycle.control(self.record, "sandbox/calls", {"clear": True})
        return found

    def forget_answers(self) -> None:
        """Remove the answers of AWS that clusterctl keeps for a while."""
        shutil.rmtree(Path(self.environ["CLUSTERCTL_SANDBOX_DIR"]) / "client" / "cache", ignore_errors=True)


@contextlib.contextmanager
def sandbox(scenario: str) -> Iterator[Sandbox]:
    """A sandbox in a temporary folder, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="clusterctl-bench-") as name:
        folder = Path(name)
        state = StateFolder(folder / "sandbox")
        environ = own_environment(folder) | {"CLUSTERCTL_SANDBOX_DIR": str(state.path)}
        try:
            yield Sandbox(lifecycle.ensure(state, scenario), folder, environ)
        finally:
            lifecycle.stop(state)


def own_environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's but what programs need to start; Python keeps its bytecode, as it does for a user."""
    kept = {key: os.environ[key] for key in ("LANG", "PYTHONPATH", "TMPDIR", "CLUSTERCTL_CHARTS") if key in os.environ}
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "HOME": str(folder)}


def measured(command: Sequence[str], environ: dict[str, str], folder: Path) -> Finished:
    """Run a program to its end, with its output in memory."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command, env=environ, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=lambda name=name, pipe=pipe: output.update({name: pipe.read()}))
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr))
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    return Finished(child.returncode, output["stdout"].decode(), output["stderr"].decode(), seconds, _mib(used))


def _mib(used: resource.struct_rusage) -> float:
    return used.ru_maxrss * RSS_UNIT / 2**20
