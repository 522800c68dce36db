"""`clusterctl extend`: let a cluster live longer."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName, Region

Length = Annotated[str, typer.Argument(help="How long from now on, at least: 4h, 90m, 1d12h.", metavar="DURATION")]


def register(app: typer.Typer) -> None:
    @command(app, "extend")
    def extend(invocation: Invocation, duration: Length, cluster_name: ClusterName = "", region: Region = "") -> int:
        """Let the cluster live for DURATION from now on: every tag that says its end, and the placement file.

        An end that is later already stays. A cluster that would never expire gets an end.

        Example: clusterctl extend 4h
        """
        from clusterctl.cli.console import LineConsole
        from clusterctl.cli.result import schema, write_json, write_text
        from clusterctl.model.settings import parse_duration
        from clusterctl.wiring.bench import open_bench

        length = parse_duration(duration)
        search = Search(cluster_name=cluster_name, region=region)
        with open_bench(ask(invocation, search, save=False)) as bench:
            watch = LineConsole(bench.clock.now())
            with bench.lock(watch):
                result = bench.extend(length, watch)
            if result.error is not None:
                raise result.error
            document = {"schema": schema("extend"), "ok": True, **_document(result)}
        if invocation.json:
            write_json(document)
        else:
            write_text(_line(document))
        return 0


def _document(result: Any) -> dict[str, Any]:
    from clusterctl.model.estate import Lease

    lease = result.outputs[Lease]
    tagged = sorted(one.resource_id for one in lease.taggable)
    changed = [line for stage in result.stages for line in stage.actions]
    return {
        "cluster": lease.estate.cluster,
        "region": lease.estate.region,
        "expires_at": lease.until,
        "changed": bool(changed),
        "actions": changed,
        "resources": tagged,
    }


def _line(document: dict[str, Any]) -> str:
    word = "now expires" if document["changed"] else "expires as before,"
    return f"{document['cluster']} in {document['region']} {word} at {document['expires_at']}"
