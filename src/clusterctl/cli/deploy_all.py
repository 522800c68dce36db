# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""`clusterctl deploy-all`: from nothing to a verified cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import (
    AllRegions,
    ClusterName,
    Events,
    Hold,
    InstanceTypes,
    Junit,
    MaxHourlyUsd,
    Nodes,
    Operators,
    PlanOnly,
    Probe,
    Region,
    Regions,
    Ttl,
    Yes,
    Zones,
)

Train = Annotated[str, typer.Option("--train", help="Then run this workload, and judge its fabric.", metavar="NAME")]


def register(app: typer.Typer) -> None:
    @command(app, "deploy-all")
    def deploy_all(
        invocation: Invocation,
        regions: Regions = "",
        all_regions: AllRegions = False,
        azs: Zones = "",
        probe: Probe = None,
        hold: Hold = False,
        instance_types: InstanceTypes = "",
        nodes: Nodes = None,
        cluster_name: ClusterName = "",
        region: Region = "",
        operators: Operators = "",
        ttl: Ttl = "",
        max_hourly_usd: MaxHourlyUsd = None,
        plan: PlanOnly = False,
        yes: Yes = False,
        events: Events = False,
        junit: Junit = None,
        train: Train = "",
    ) -> int:
        """Find capacity, create the cluster and its GPU nodes, install what training needs, and verify it.

        Example: clusterctl deploy-all --plan; clusterctl deploy-all -r us-east-2,us-west-2 --ttl 4h -y
        """
        from clusterctl.cli.flow import Steps, run_stages
        from clusterctl.wiring.bench import open_bench
        from clusterctl.wiring.training import refuse_without_operator

        search = Search(regions, all_regions, azs, instance_types, nodes, cluster_name, region)
        flags = {"TTL": ttl, "MAX_HOURLY_USD": max_hourly_usd, "OPERATORS": operators}
        proof = not plan if probe is None else probe
        more = {"hold": hold, "events": events, "junit": junit}
        with open_bench(ask(invocation, search, flags=flags, probe=proof, **more)) as bench:
            if train:
                refuse_without_operator(train, bench.settings.operators)
            return run_stages(invocation, bench, Steps(bench.deployment, plan_only=plan, yes=yes, train=train))
