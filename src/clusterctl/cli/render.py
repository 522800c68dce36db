# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""`clusterctl render`: everything that a deployment would apply, as files for review or GitOps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import AllRegions, ClusterName, InstanceTypes, Nodes, Operators, Region, Regions, Zones

GIT = "Argo CD"
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where the files go: new, empty, or rendered before.")]
Repo = Annotated[
    str,
    typer.Option("--repo", help="The git repository that will hold DIR.", rich_help_panel=GIT, metavar="URL"),
]
RepoPath = Annotated[
    str, typer.Option("--repo-path", help="Where DIR is in the repository.", rich_help_panel=GIT, metavar="PATH")
]
Revision = Annotated[
    str, typer.Option("--repo-revision", help="The branch or tag to follow.", rich_help_panel=GIT, metavar="REF")
]


def register(app: typer.Typer) -> None:
    @command(app, "render")
    def render(
        invocation: Invocation,
        folder: Folder,
        regions: Regions = "",
        all_regions: AllRegions = False,
        azs: Zones = "",
        instance_types: InstanceTypes = "",
        nodes: Nodes = None,
        cluster_name: ClusterName = "",
        region: Region = "",
        operators: Operators = "",
        repo: Repo = "",
        repo_path: RepoPath = "",
        repo_revision: Revision = "",
    ) -> int:
        """Write every file that a deployment would apply: eksctl configs, values, resources, Argo CD Applications.

        Example: clusterctl render deploy/; clusterctl render gpu/ --with slurm --repo https://git.example.com/ml.git
        """
        from clusterctl.cli.result import note, schema, write_json, write_text
        from clusterctl.wiring.bench import open_bench
        from clusterctl.wiring.rendering import git_place, render_folder

        git = git_place(repo, repo_path, repo_revision)
        search = Search(regions, all_regions, azs, instance_types, nodes, cluster_name, region)
        with open_bench(ask(invocation, search, flags={"OPERATORS": operators}, save=False)) as bench:
            document = render_folder(bench, folder, git)
        if invocation.json:
            write_json({"schema": schema("render"), "ok": True, **document})
        else:
            lines = [f"{one['status']:<10} {folder / one['path']}" for one in document["files"]]
            write_text("\n".join([*lines, *(f"removed    {folder / path}" for path in document["removed"])]))
        for line in document["notices"]:
            note(f"note: {line}")
        return 0
