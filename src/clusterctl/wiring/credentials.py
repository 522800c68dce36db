"""The token of the kubeconfig's exec plugin."""

from __future__ import annotations

from clusterctl.adapters.aws.token import EksTokens
from clusterctl.model.kube import KubeAccess
from clusterctl.wiring.world import open_world


def exec_credential(cluster: str, region: str, *, sandbox: bool) -> str:
    """An ExecCredential as JSON. Raises AccessError without credentials."""
    world = open_world(sandbox=sandbox)
    return EksTokens(world.session).exec_credential(KubeAccess(region, cluster, ""))
