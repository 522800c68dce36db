# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""`clusterctl probe`: the capacity search alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import (
    AllRegions,
    Events,
    InstanceTypes,
    Nodes,
    Probe,
    Region,
    Regions,
    Zones,
)

if TYPE_CHECKING:
    from clusterctl.wiring.bench import Bench

Save = Annotated[bool, typer.Option("--save", help="Remember the best place in the placement file.")]


def register(app: typer.Typer) -> None:
    @command(app, "probe")
    def probe(
        invocation: Invocation,
        regions: Regions = "",
        all_regions: AllRegions = False,
        azs: Zones = "",
        prove: Probe = None,
        instance_types: InstanceTypes = "",
        nodes: Nodes = None,
        region: Region = "",
        save: Save = False,
        events: Events = False,
    ) -> int:
        """Rank zones by what they can offer now, with the reason for each.

        Example: clusterctl probe -a -t p5.48xlarge,p5en.48xlarge -n 4 --no-probe
        """
        from clusterctl.wiring.bench import open_bench

        search = Search(regions, all_regions, azs, instance_types, nodes, "", region)
        proof = True if prove is None else prove
        with open_bench(ask(invocation, search, probe=proof, save=save, events=events)) as bench:
            return _search(invocation, bench)


def _search(invocation: Invocation, bench: Bench) -> int:
    from clusterctl.cli.console import open_console
    from clusterctl.cli.result import as_error, error_document, note, schema, write_error, write_json, write_text
    from clusterctl.cli.tables import places_table

    with open_console(invocation, bench) as console, bench.lock(console):
        result = bench.apply(("probe",), console)
    found = bench.decision_document()
    error = as_error(result.error) if result.error else None
    if error:
        found = {**found, **(getattr(error, "document", None) or {})}
    if invocation.json:
        failed = {"error": error_document(error)} if error else {}
        write_json({"schema": schema("probe"), "ok": error is None, **found, **failed})
    elif found["candidates"]:
        write_text(places_table(found["candidates"], color=invocation.color))
    for line in bench.notices:
        note(f"note: {line}")
    if error is None:
        return 0
    write_error(error, verbose=bool(invocation.verbose))
    return error.exit_code
