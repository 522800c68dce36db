# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""`clusterctl teardown`: everything in reverse order, then the proof that it is gone."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName, Events, Junit, PlanOnly, Region, Yes

KeepCluster = Annotated[bool, typer.Option("--keep-cluster", help="Leave the cluster and its system nodes.")]
PurgeVolumes = Annotated[bool, typer.Option("--purge-volumes", help="Delete claims, their volumes and snapshots, too.")]


def register(app: typer.Typer) -> None:
    @command(app, "teardown")
    def teardown(
        invocation: Invocation,
        cluster_name: ClusterName = "",
        region: Region = "",
        keep_cluster: KeepCluster = False,
        purge_volumes: PurgeVolumes = False,
        plan: PlanOnly = False,
        yes: Yes = False,
        events: Events = False,
        junit: Junit = None,
    ) -> int:
        """Delete workloads, releases, GPU nodes and the cluster, then search for what they left.

        Example: clusterctl teardown --plan; clusterctl teardown -y
        """
        from clusterctl.cli.removing import Removal, remove
        from clusterctl.wiring.bench import open_bench

        search = Search(cluster_name=cluster_name, region=region)
        with open_bench(ask(invocation, search, save=False, events=events, junit=junit)) as bench:
            what = "keep-cluster" if keep_cluster else "everything"
            return remove(invocation, bench, Removal(what, plan, yes, purge_volumes))
