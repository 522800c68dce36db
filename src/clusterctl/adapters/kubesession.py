"""How kubectl and helm reach a cluster: a kubeconfig without a secret, and the credential in the child's environment.

The kubeconfig's exec entry only prints a variable, so that no call pays for the start of a Python.
"""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.adapters.process import Tool, ToolProcess
from clusterctl.errors import AccessError, ClusterctlError, ToolFailedError, UnreachableError
from clusterctl.model.kube import KubeAccess

CREDENTIAL = "CLUSTERCTL_EXEC_CREDENTIAL"
RENEW_BEFORE = timedelta(minutes=2)
READ_TRIES = 4
_UNREACHABLE = (
    "connection refused", "i/o timeout", "no such host", "TLS handshake timeout", "connection reset by peer",
    "network is unreachable", "no route to host", "Unable to connect to the server", "Client.Timeout exceeded",
    "unexpected EOF", ": EOF", "server is currently unable to handle the request", "ServiceUnavailable",
    "etcdserver: request timed out", "cluster unreachable", "http2: client connection lost", "broken pipe",
)  # fmt: skip
_REFUSED = ("Unauthorized", "must be logged in to the server", "asked for the client to provide credentials")
_FORBIDDEN = ("(Forbidden)", "is forbidden:")


class KubeSession:
    """Runs Kubernetes tools against clusters. `credentials` makes an ExecCredential as JSON; it is kept until it ages.

    `home` holds caches and one kubeconfig for each cluster, none of them secret. Raises UnreachableError where the
    API does not answer, and AccessError where it refuses us.
    """

    def __init__(
        self,
        credentials: Callable[[KubeAccess], str],
        home: Path,
        sleep: Callable[[float], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._credentials = credentials
        self._home = home
        self._sleep = sleep
        self._now = now
        self._lock = threading.Lock()
        self._kept: dict[KubeAccess, tuple[str, datetime]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="clusterctl-")  # mkdtemp: 0700
        self._files: dict[KubeAccess, Path] = {}

    def read(self, tool: Tool, access: KubeAccess, arguments: Sequence[str], *, timeout_s: float) -> str:
        """Run a command that changes nothing; a passing failure is tried again a few times."""
        for attempt in range(1, READ_TRIES):
            try:
                return self.run(tool, access, arguments, timeout_s=timeout_s)
            except (UnreachableError, AccessError) as problem:
                if isinstance(problem, AccessError) and not _passing(problem):
                    raise
                self._forget(access)
                self._sleep(2.0**attempt)
        return self.run(tool, access, arguments, timeout_s=timeout_s)

    def run(
        self, tool: Tool, access: KubeAccess, arguments: Sequence[str], *, stdin: str = "", timeout_s: float
    ) -> str:
        """Run a command once and return what it printed."""
        try:
            return tool.run(arguments, stdin=stdin, environ=self._environ(access), timeout_s=timeout_s)
        except ToolFailedError as problem:
            raise _translated(problem, access) from problem

    def start(self, tool: Tool, access: KubeAccess, arguments: Sequence[str], *, timeout_s: float) -> ToolProcess:
        """Begin a command that is watched from outside."""
        return tool.start(arguments, environ=self._environ(access), timeout_s=timeout_s)

    def file(self, name: str, text: str) -> Path:
        """A file (0600) in a folder (0700) that goes with this session, for what a tool does not take on stdin."""
        path = Path(self._folder.name) / name
        write_atomically(path, text)
        return path

    def close(self) -> None:
        self._folder.cleanup()

    def _environ(self, access: KubeAccess) -> dict[str, str]:
        home = private_folder(self._home)
        return {
            "KUBECONFIG": str(self._kubeconfig(access)),
            CREDENTIAL: self._credential(access),
            "KUBECACHEDIR": str(home / "kubectl"),
            "HELM_CACHE_HOME": str(home / "helm" / "cache"),
            "HELM_CONFIG_HOME": str(home / "helm" / "config"),
            "HELM_DATA_HOME": str(home / "helm" / "data"),
        }

    def _kubeconfig(self, access: KubeAccess) -> Path:
        with self._lock:
            if access not in self._files:
                name = f"{len(self._files)}.kubeconfig"
                self._files[access] = self.file(name, json.dumps(kubeconfig_without_secret(access)))
            return self._files[access]

    def _credential(self, access: KubeAccess) -> str:
        with self._lock:
            kept = self._kept.get(access)
            if kept is None or kept[1] - RENEW_BEFORE <= self._now():
                text = self._credentials(access)
                kept = self._kept[access] = (text, _expiry(text))
            return kept[0]

    def _forget(self, access: KubeAccess) -> None:
        with self._lock:
            self._kept.pop(access, None)


def kubeconfig_without_secret(access: KubeAccess) -> dict[str, Any]:
    """A kubeconfig whose user is whatever ExecCredential the environment holds."""
    print_it = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/bin/sh",
        "args": ["-c", f'printf %s "${CREDENTIAL}"'],
        "interactiveMode": "Never",
    }
    cluster = {"server": access.endpoint, "certificate-authority-data": _encoded(access.certificate_authority)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": access.cluster, "cluster": cluster}],
        "users": [{"name": access.cluster, "user": {"exec": print_it}}],
        "contexts": [{"name": access.cluster, "context": {"cluster": access.cluster, "user": access.cluster}}],
        "current-context": access.cluster,
    }


def _encoded(authority: str) -> str:
    """EKS gives the certificate in base64 already; a plain PEM is taken as well."""
    return base64.b64encode(authority.encode()).decode() if authority.startswith("-----BEGIN") else authority


def _expiry(credential: str) -> datetime:
    until = json.loads(credential).get("status", {}).get("expirationTimestamp")
    return datetime.fromisoformat(until) if until else datetime.max.replace(tzinfo=UTC)


def _translated(problem: ToolFailedError, access: KubeAccess) -> ClusterctlError:
    said = problem.output
    if any(words in said for words in (*_REFUSED, *_FORBIDDEN)):
        return AccessError(
            f"the Kubernetes API of {access.cluster} refuses us: {_last_line(said)}",
            hint=f"aws eks create-access-entry --cluster-name {access.cluster} --region {access.region} "
            "--principal-arn YOUR-ROLE, or run as whoever made the cluster",
            details=said,
        )
    if any(words in said for words in _UNREACHABLE):
        return UnreachableError(
            f"the Kubernetes API of {access.cluster} does not answer: {_last_line(said)}",
            hint="clusterctl doctor; if it stays away: clusterctl teardown works without it",
            details=said,
        )
    return problem


def _passing(problem: AccessError) -> bool:
    """True for a token that is not taken yet: access entries need a moment, and a kept token may be too old."""
    return any(words in problem.details for words in _REFUSED)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][-300:] if lines else "no reason given"
