"""The command line in processes of its own against a sandbox of its own, as a user or a pipeline runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3

from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 150.0  # of one command; a starved machine is slow


@dataclass
class CommandLine:
    """A home folder with its sandbox. `outputs` keeps what every command has printed."""

    home: Path
    environ: dict[str, str]
    outputs: list[str] = field(default_factory=list)

    @property
    def world(self) -> Path:
        """The folder of the sandbox."""
        return Path(self.environ["CLUSTERCTL_SANDBOX_DIR"])

    def run(
        self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end, which must have this exit code."""
        done = self.process([sys.executable, "-m", "clusterctl", *arguments], environ)
        assert done.returncode == code, f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}"
        return done

    def process(
        self, command: Sequence[str], environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run any program where clusterctl would run, in the home folder."""
        done = subprocess.run(
            command, cwd=self.home, env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
            umask=0,  # what is private must be so by itself
        )  # fmt: skip
        self.outputs += [done.stdout, done.stderr]
        return done

    def document(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """The JSON document of a command."""
        found: dict[str, Any] = json.loads(self.run(*arguments, "-o", "json", code=code).stdout)
        return found

    def client(self, service: str, region: str = "us-east-2") -> Any:
        """boto3 on the sandbox, for what happens outside of clusterctl."""
        return boto3.Session(ACCESS_KEY, SECRET_KEY).client(service, region_name=region, endpoint_url=self._url)

    def calls(self) -> list[dict[str, Any]]:
        """The AWS calls since the last time that they were taken."""
        found: list[dict[str, Any]] = self._control("calls")["calls"]
        self._control("calls", {"clear": True})
        return found

    def inventory(self) -> dict[str, Any]:
        """What exists in the account, by region and kind."""
        found: dict[str, Any] = self._control("state")
        return found

    @property
    def _url(self) -> str:
        return str(json.loads((self.world / "sandbox.json").read_text())["aws"]["url"])

    def _control(self, name: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._url}/moto-api/sandbox/{name}", data, {"Content-Type": "application/json"})
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def command_line(home: Path, **environ: str) -> Iterator[CommandLine]:
    """A home with a sandbox that ends with the block. `environ` comes on top of a bare environment."""
    kept = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), "LANG": "C.UTF-8"}
    own = {
        "HOME": str(home),
        "PYTHONPATH": str(ROOT / "src"),
        "CLUSTERCTL_SANDBOX": "1",
        "CLUSTERCTL_SANDBOX_DIR": str(home / "sandbox"),
    }
    line = CommandLine(home, {**kept, **own, **environ})
    try:
        yield line
    finally:
        line.process([sys.executable, "-m", "clusterctl", "sandbox", "stop"])
