"""eksctl: begins its runs. Whether they did anything is read from AWS, since eksctl's exit code proves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clusterctl.adapters.process import Tool, ToolProcess

_PATIENT = "--timeout=45m"  # counts for each of eksctl's waits, not for the whole run
CREATE_CLUSTER_S = 100 * 60.0
CREATE_NODEGROUP_S = 60 * 60.0
DELETE_CLUSTER_S = 100 * 60.0
OIDC_S = 10 * 60.0
_NO_PLUGINS = ("--install-nvidia-plugin=false", "--install-neuron-plugin=false")


class EksctlTool:
    """Implements ports.Eksctl. `kubeconfig` is a file of ours that eksctl may edit in place of the user's own."""

    def __init__(self, tool: Tool, kubeconfig: Path) -> None:
        self._tool = tool
        self._kubeconfig = kubeconfig

    def create_cluster(self, config: str) -> ToolProcess:
        arguments = ["create", "cluster", "-f", "-", "--write-kubeconfig=false", *_NO_PLUGINS, _PATIENT]
        return self._start(arguments, CREATE_CLUSTER_S, config)

    def create_nodegroup(self, config: str) -> ToolProcess:
        return self._start(["create", "nodegroup", "-f", "-", *_NO_PLUGINS, _PATIENT], CREATE_NODEGROUP_S, config)

    def delete_cluster(self, region: str, cluster: str) -> ToolProcess:
        """By name, never by file: an old config must not be able to block a teardown."""
        arguments = ["delete", "cluster", "--name", cluster, "--region", region]
        arguments += ["--wait", "--force", "--disable-nodegroup-eviction", _PATIENT]
        return self._start(arguments, DELETE_CLUSTER_S)

    def associate_oidc(self, region: str, cluster: str) -> ToolProcess:
        arguments = ["utils", "associate-iam-oidc-provider", "--cluster", cluster, "--region", region, "--approve"]
        return self._start(arguments, OIDC_S)

    def _start(self, arguments: Sequence[str], limit_s: float, config: str = "") -> ToolProcess:
        return self._tool.start(
            [*arguments, "--color=false"],
            stdin=config,
            environ={"KUBECONFIG": str(self._kubeconfig)},
            timeout_s=limit_s,
        )
