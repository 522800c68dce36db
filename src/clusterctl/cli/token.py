"""`clusterctl token`: the exec plugin of our kubeconfig, so that nobody needs the AWS CLI."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import Region
from clusterctl.cli.result import write_text


def register(app: typer.Typer) -> None:
    @command(app, "token")
    def token(
        invocation: Invocation,
        cluster_name: Annotated[str, typer.Option("--cluster-name", help="The EKS cluster.")],
        region: Region = "",
    ) -> None:
        """Print a Kubernetes ExecCredential with an EKS token of 14 minutes.

        Example: clusterctl token --cluster-name training --region us-east-2
        """
        from clusterctl.wiring.credentials import exec_credential

        write_text(exec_credential(cluster_name, region, sandbox=invocation.sandbox))
