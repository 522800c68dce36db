"""`clusterctl report`: the last run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName

Page = Annotated[Path, typer.Argument(metavar="[FILE.html]", help="Where the page goes.")]


def register(app: typer.Typer) -> None:
    @command(app, "report")
    def report(
        invocation: Invocation, page: Page = Path("clusterctl-report.html"), cluster_name: ClusterName = ""
    ) -> int:
        """Write one self-contained page of the last run: capacity, timeline, allocatable numbers, cost.

        Example: clusterctl report last-run.html
        """
        from clusterctl.cli.result import schema, write_json, write_text
        from clusterctl.wiring.bench import Ask
        from clusterctl.wiring.report import write_report

        ask = Ask(
            command="report",
            sandbox=invocation.sandbox,
            placement=invocation.placement,
            scenario=invocation.scenario,
            flags={"CLUSTER_NAME": cluster_name},
        )
        run = write_report(ask, page)
        if invocation.json:
            write_json({"schema": schema("report"), "ok": True, "file": str(page), "run": run})
        else:
            write_text(f"{page}: {run['command']} of {run['started'][:16].replace('T', ' ')} UTC")
        return 0
