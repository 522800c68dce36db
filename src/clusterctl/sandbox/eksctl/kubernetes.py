"""The cluster's API, reached with kubectl as eksctl reaches it with its own client."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.signing import cluster_token

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.aws import Aws

_CALL_S = 60.0  # real


def kubectl_path() -> str:
    """kubectl beside the interpreter, or in PATH. Raises EksctlError."""
    beside = Path(sys.executable).parent / "kubectl"
    found = str(beside) if beside.is_file() else shutil.which("kubectl")
    if not found:
        raise EksctlError('creating Kubernetes client: exec: "kubectl": executable file not found in $PATH')
    return found


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """One cluster's API: `cluster` as DescribeCluster gave it."""

    aws: Aws
    cluster: dict[str, Any]

    def run(self, *arguments: str, stdin: str = "", limit_s: float = _CALL_S) -> str:
        """kubectl with these arguments; what it printed. Raises EksctlError."""
        with tempfile.TemporaryDirectory(prefix="eksctl-") as folder:
            config = Path(folder) / "config"
            config.touch(0o600)
            config.write_text(json.dumps(self._kubeconfig()))
            command = [kubectl_path(), f"--kubeconfig={config}", *arguments]
            environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"} | {"HOME": folder}
            try:
                done = subprocess.run(
                    command, input=stdin, capture_output=True, text=True, timeout=limit_s, check=False, env=environment
                )
            except subprocess.TimeoutExpired as problem:
                raise EksctlError("context deadline exceeded") from problem
        if done.returncode != 0:
            raise EksctlError(done.stderr.strip().removeprefix("error: ") or "kubectl failed")
        return done.stdout

    def _kubeconfig(self) -> dict[str, Any]:
        token = cluster_token(self.aws.credentials, self.aws.region, self.cluster["name"])
        return kubeconfig(self.cluster, "eksctl", {"token": token})

    def ready_nodes(self, nodegroup: str) -> list[str]:
        """The names of a node group's Ready nodes."""
        answer = self.run("get", "nodes", "-l", f"alpha.eksctl.io/nodegroup-name={nodegroup}", "-o", "json")
        return [item["metadata"]["name"] for item in json.loads(answer)["items"] if _is_ready(item)]


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def kubeconfig(cluster: dict[str, Any], name: str, user: dict[str, Any]) -> dict[str, Any]:
    """A kubeconfig with this one cluster."""
    authority = cluster["certificateAuthority"]["data"]
    base64.b64decode(authority)
    server = {"server": cluster["endpoint"], "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": cluster["name"], "cluster": server}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": cluster["name"], "user": name}}],
    }


def write_kubeconfig(aws: Aws, cluster: dict[str, Any], path: Path) -> None:
    """Merge the cluster into a kubeconfig, as the current context."""
    import yaml

    host = f"{cluster['name']}.{aws.region}.eksctl.io"
    name = f"sandbox@{host}"
    arguments = ["eks", "get-token", "--output", "json", "--cluster-name", cluster["name"], "--region", aws.region]
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": arguments}}
    fresh = kubeconfig(cluster, name, user)
    fresh["clusters"][0]["name"] = fresh["contexts"][0]["context"]["cluster"] = host
    old = (yaml.safe_load(path.read_text()) if path.exists() else None) or {}
    for section in ("clusters", "users", "contexts"):
        taken = {item["name"] for item in fresh[section]}
        fresh[section] = [*(item for item in old.get(section) or [] if item["name"] not in taken), *fresh[section]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)
    path.write_text(yaml.safe_dump(old | fresh, sort_keys=False))
