"""A running API server with kubectl and helm pointed at it, and a core whose background work is run by hand."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clusterctl.sandbox.kube.api.core import Core
from clusterctl.sandbox.kube.api.resources import Resource
from clusterctl.sandbox.kube.api.server import ApiServer
from clusterctl.sandbox.kube.authentication import Authenticator
from clusterctl.sandbox.kube.certificates import Certificates

CLUSTER = "trainer"
ADMIN_TOKEN = "the-simulation's-own"
BIN = Path(sys.executable).parent


def program(name: str) -> str | None:
    """A client beside the Python that runs the tests, or on PATH; never an old kubectl from elsewhere."""
    beside = shutil.which(name, path=str(BIN))
    return beside or (None if name == "kubectl" else shutil.which(name))


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class HandTurned:
    """An in-memory cluster whose controllers act when `settle` is called."""

    pending: list[Callable[[], None]] = field(default_factory=list)
    moment: datetime = field(default_factory=utc_now)

    def __post_init__(self) -> None:
        self.core = Core.with_contents(lambda: self.moment, "PEM", self._later)

    def _later(self, _delay: float, call: Callable[[], None]) -> None:
        self.pending.append(call)

    def settle(self) -> None:
        while self.pending:
            self.pending.pop(0)()

    def kind(self, plural: str, group: str = "", version: str = "v1") -> Resource:
        found = self.core.registry.find(group, version, plural)
        assert found is not None, plural
        return found

    def create(self, plural: str, obj: dict[str, Any], namespace: str | None = "default", group: str = "") -> Any:
        resource = self.kind(plural, group)
        return self.core.lifecycle.create(resource, namespace if resource.namespaced else None, obj)

    def names(self, plural: str, namespace: str | None = None, group: str = "") -> list[str]:
        return [obj["metadata"]["name"] for obj in self.core.store.select((group, plural), namespace)]


class RunningServer:
    """An API server in a thread of its own, on a free port."""

    def __init__(self) -> None:
        self.certificates = Certificates.issue(CLUSTER)
        self.server = ApiServer(
            Authenticator(CLUSTER, ADMIN_TOKEN),
            self.certificates.server_context(),
            self.certificates.authority,
            utc_now,
            version="1.37",
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.run(self.server.start())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        self.run(self.server.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def kubeconfig(self, token: str = ADMIN_TOKEN) -> str:
        authority = b64encode(self.certificates.authority.encode()).decode()
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [
                    {"name": "c", "cluster": {"server": self.server.url, "certificate-authority-data": authority}}
                ],
                "users": [{"name": "u", "user": {"token": token}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )


@dataclass(frozen=True)
class Clients:
    """kubectl and helm with a home, caches and a kubeconfig of their own."""

    home: Path

    def environment(self) -> dict[str, str]:
        folders = {f"HELM_{kind}_HOME": str(self.home / "helm" / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
        return {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.home),
            "KUBECONFIG": str(self.home / "kubeconfig"),
            "KUBECACHEDIR": str(self.home / "cache"),
            **folders,
        }

    def call(self, *words: str, stdin: str | None = None, timeout: float = 30) -> subprocess.CompletedProcess[str]:
        command = [program(words[0]) or words[0], *words[1:]]
        return subprocess.run(
            command,
            input=stdin,
            env=self.environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [program(words[0]) or words[0], *words[1:]]
        return subprocess.Popen(
            command, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def kubectl(self, line: str, stdin: str | None = None) -> str:
        """What kubectl prints; it must succeed."""
        done = self.call("kubectl", *line.split(), stdin=stdin)
        assert done.returncode == 0, f"kubectl {line}: {done.stderr}"
        return done.stdout

    def apply(self, manifest: str | dict[str, Any], flags: str = "") -> str:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        return self.kubectl(f"apply {flags} -f -", text)

    def refused(self, line: str, stdin: str | None = None) -> str:
        """Why kubectl fails; it must fail."""
        done = self.call("kubectl", *line.split(), stdin=stdin)
        assert done.returncode != 0, f"kubectl {line}: {done.stdout}"
        return done.stderr

    def read(self, line: str) -> Any:
        return json.loads(self.kubectl(f"{line} -o json"))

    def helm(self, *words: str) -> str:
        done = self.call("helm", *words)
        assert done.returncode == 0, f"helm {words}: {done.stderr}"
        return done.stdout
