"""The program as its caller sees it: words in; exit code, stdout, stderr, and what it left in folder and world out."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from clusterctl.cli.main import main
from clusterctl.sandbox import lifecycle
from clusterctl.sandbox.state import SandboxRecord, StateFolder


@dataclass(frozen=True)
class Ran:
    """How one call ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; anything beside it fails."""
        found: dict[str, Any] = json.loads(self.stdout)
        return found


@dataclass
class Program:
    """clusterctl in this process, in a folder of its own, with nothing of the user's in its environment."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, **environ: str) -> Ran:
        with self.monkeypatch.context() as patch:
            patch.chdir(self.folder)
            for key, value in {"HOME": str(self.folder / "home"), **self.environ, **environ}.items():
                patch.setenv(key, value)
            code = main(list(arguments))
        said = self.capsys.readouterr()
        return Ran(code, said.out, said.err)

    @property
    def files(self) -> list[str]:
        """What lies in the folder where the command was called."""
        return sorted(path.name for path in self.folder.iterdir() if path.name != "home")


@dataclass(frozen=True)
class LocalWorld:
    """A running sandbox, what it holds, and the calls that were made to it."""

    state: StateFolder
    record: SandboxRecord

    def aws(self) -> Any:
        return lifecycle.control(self.record, "sandbox/state")

    def mutations(self) -> list[str]:
        """The AWS calls so far that may have changed something."""
        calls = lifecycle.control(self.record, "sandbox/calls")["calls"]
        return [f"{one['service']}:{one['action']}" for one in calls if one["mutating"]]

    def forget_calls(self) -> None:
        lifecycle.control(self.record, "sandbox/calls", {"clear": True})

    def kube_changes(self, cluster: str) -> list[str]:
        """What anybody but the simulation has asked this cluster's API to change so far."""
        with urllib.request.urlopen(f"{self.record.kube_url}/clusters", timeout=30) as answer:
            clusters = json.load(answer)["clusters"]
        (changes,) = (one["changes"] for one in clusters if one["name"] == cluster)
        return list(changes)

    def kube_clusters(self) -> list[str]:
        with urllib.request.urlopen(f"{self.record.kube_url}/clusters", timeout=30) as answer:
            return [one["name"] for one in json.load(answer)["clusters"]]

    @property
    def environ(self) -> Mapping[str, str]:
        return {"CLUSTERCTL_SANDBOX": "1", "CLUSTERCTL_SANDBOX_DIR": str(self.state.path)}


@contextmanager
def local_world(folder: Path, scenario: str) -> Iterator[LocalWorld]:
    """A sandbox in a folder of its own, gone afterwards."""
    state = StateFolder(folder / "sandbox")
    try:
        yield LocalWorld(state, lifecycle.ensure(state, scenario))
    finally:
        lifecycle.stop(state)
