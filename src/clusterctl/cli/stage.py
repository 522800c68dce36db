# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""The single stages, from the cluster to the operators. Each can be run again at any time."""

from __future__ import annotations

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import (
    AllRegions,
    ClusterName,
    Destroy,
    Events,
    InstanceTypes,
    Junit,
    Nodes,
    PlanOnly,
    Probe,
    Region,
    Regions,
    Ttl,
    Yes,
    Zones,
)

STAGES = {
    "cluster": "Create the EKS cluster, or mend what is missing of it.",
    "nodegroup": "Create the GPU node group in the best zone that has room.",
    "plugins": "Install the device plugins; done when every GPU node offers what its type has.",
    "kuberay": "Install the KubeRay operator on the system nodes.",
    "volcano": "Install Volcano, the batch scheduler.",
    "mpi": "Install the MPI operator.",
    "slinky": "Install Slurm: operator, database, controller, login, and a slurmd on every GPU node.",
}


def register(app: typer.Typer) -> None:
    for name, text in STAGES.items():
        _register(app, name, text)


def _register(app: typer.Typer, name: str, text: str) -> None:
    def stage(
        invocation: Invocation,
        regions: Regions = "",
        all_regions: AllRegions = False,
        azs: Zones = "",
        probe: Probe = None,
        instance_types: InstanceTypes = "",
        nodes: Nodes = None,
        cluster_name: ClusterName = "",
        region: Region = "",
        ttl: Ttl = "",
        plan: PlanOnly = False,
        destroy: Destroy = False,
        yes: Yes = False,
        events: Events = False,
        junit: Junit = None,
    ) -> int:
        from clusterctl.cli.flow import Steps, run_stages
        from clusterctl.cli.removing import Removal, remove
        from clusterctl.wiring.bench import open_bench

        search = Search(regions, all_regions, azs, instance_types, nodes, cluster_name, region)
        asked = ask(invocation, search, flags={"TTL": ttl}, probe=bool(probe), events=events, junit=junit)
        with open_bench(asked) as bench:
            if destroy:
                return remove(invocation, bench, Removal(name, plan_only=plan, yes=yes))
            return run_stages(invocation, bench, Steps((name,), plan_only=plan, yes=yes))

    stage.__doc__ = f"{text}\n\nExample: clusterctl {name} --plan; clusterctl {name} -y"
    command(app, name)(stage)
