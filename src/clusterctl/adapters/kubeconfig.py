"""A kubeconfig of our own for each cluster: it asks clusterctl for a token, and holds no secret."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.model.kube import KubeAccess
from clusterctl.model.names import kubeconfig_name

EXEC_VERSION = "client.authentication.k8s.io/v1"


def own_program() -> tuple[str, ...]:
    """How this clusterctl is started again from anywhere: its script, or the running Python with its module."""
    script = Path(sys.executable).with_name("clusterctl")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "clusterctl")


class KubeconfigFiles:
    """Implements ports.KubeconfigWriter. The user's own kubeconfig is neither read nor written.

    `environ` is what `clusterctl token` needs beside the user's environment, such as which sandbox it is for.
    """

    def __init__(
        self, folder: Path, program: Sequence[str] | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._program = tuple(program or own_program())
        self._environ = dict(environ or {})

    def path(self, cluster: str, region: str) -> str:
        return str(self._file(cluster, region))

    def exists(self, cluster: str, region: str) -> bool:
        return self._file(cluster, region).exists()

    def current(self, access: KubeAccess) -> bool:
        """Whether the file is there and leads to this very API."""
        try:
            return self._file(access.cluster, access.region).read_text() == self._text(access)
        except OSError:
            return False

    def write(self, access: KubeAccess) -> str:
        """Write the file (0600) and return its path."""
        file = self._file(access.cluster, access.region)
        private_folder(file.parent)
        write_atomically(file, self._text(access))
        return str(file)

    def remove(self, cluster: str, region: str) -> None:
        self._file(cluster, region).unlink(missing_ok=True)

    def _file(self, cluster: str, region: str) -> Path:
        return self._folder / kubeconfig_name(region, cluster)

    def _text(self, access: KubeAccess) -> str:
        import yaml

        return str(yaml.safe_dump(self._document(access), sort_keys=False))

    def _document(self, access: KubeAccess) -> dict[str, Any]:
        name = f"{access.cluster}.{access.region}"
        cluster = {"server": access.endpoint, "certificate-authority-data": access.certificate_authority}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"exec": self._exec(access)}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }

    def _exec(self, access: KubeAccess) -> dict[str, Any]:
        command, *first = self._program
        return {
            "apiVersion": EXEC_VERSION,
            "interactiveMode": "Never",
            "command": command,
            "args": [*first, "token", "--cluster-name", access.cluster, "--region", access.region],
            "env": [{"name": key, "value": value} for key, value in sorted(self._environ.items())] or None,
        }
