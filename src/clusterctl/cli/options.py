"""The options that commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SEARCH = "Search"
SIZE = "Size"

Regions = Annotated[
    str,
    typer.Option("--regions", "-r", help="Regions to search, in order: R,R.", rich_help_panel=SEARCH, metavar="R,R"),
]
AllRegions = Annotated[
    bool,
    typer.Option("--all-regions", "-a", help="Search every region enabled for the account.", rich_help_panel=SEARCH),
]
Zones = Annotated[
    str,
    typer.Option(
        "--azs", help="Availability zones to consider: names or ids.", rich_help_panel=SEARCH, metavar="AZ,AZ"
    ),
]
Probe = Annotated[
    bool | None,
    typer.Option(
        "--probe/--no-probe", help="Prove capacity by a reservation made and cancelled.", rich_help_panel=SEARCH
    ),
]
Hold = Annotated[
    bool,
    typer.Option(
        "--hold", help="Keep the reservation that proved capacity until the nodes have joined.", rich_help_panel=SEARCH
    ),
]
InstanceTypes = Annotated[
    str,
    typer.Option(
        "--instance-types", "-t", help="Instance types in order of preference.", rich_help_panel=SIZE, metavar="T,T"
    ),
]
Nodes = Annotated[int | None, typer.Option("--nodes", "-n", help="GPU nodes wanted.", rich_help_panel=SIZE)]
ClusterName = Annotated[str, typer.Option("--cluster-name", help="The cluster (CLUSTER_NAME).", rich_help_panel=SIZE)]
Region = Annotated[str, typer.Option("--region", help="The region (REGION).", rich_help_panel=SIZE)]
Operators = Annotated[
    str, typer.Option("--with", help="Operators to install: ray,slurm,volcano,mpi.", metavar="NAME,NAME")
]
Ttl = Annotated[str, typer.Option("--ttl", help="Let the cluster expire after this long: 4h, 90m.", metavar="4h")]
MaxHourlyUsd = Annotated[
    float | None, typer.Option("--max-hourly-usd", help="Refuse anything that costs more an hour.")
]
Events = Annotated[bool, typer.Option("--events", help="Progress as JSON lines on stderr.")]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write the run as JUnit XML, too.", metavar="F.xml")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Show what would be done, and touch nothing.")]
Destroy = Annotated[bool, typer.Option("--destroy", help="Undo this stage.")]
