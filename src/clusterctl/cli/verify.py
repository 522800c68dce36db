"""`clusterctl verify`: what every GPU node offers against what EC2 says it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName, Junit, Region

if TYPE_CHECKING:
    from clusterctl.wiring.bench import Bench

ExpectNodes = Annotated[int | None, typer.Option("--expect-nodes", min=1, help="GPU nodes that must be there.")]


def register(app: typer.Typer) -> None:
    @command(app, "verify")
    def verify(
        invocation: Invocation,
        expect_nodes: ExpectNodes = None,
        cluster_name: ClusterName = "",
        region: Region = "",
        junit: Junit = None,
    ) -> int:
        """Read every GPU node's allocatable devices and judge them. Changes nothing.

        Example: clusterctl verify --expect-nodes 2 -o json
        """
        from clusterctl.wiring.bench import open_bench

        search = Search(cluster_name=cluster_name, region=region)
        with open_bench(ask(invocation, search, save=False, expect_nodes=expect_nodes, junit=junit)) as bench:
            return _verify(invocation, bench)


def _verify(invocation: Invocation, bench: Bench) -> int:
    from clusterctl.cli.result import error_document, note, schema, write_error, write_json, write_text
    from clusterctl.cli.tables import NODE_COLUMNS, check_lines, node_rows, table
    from clusterctl.model.documents import verification_document

    verification, error = bench.verify()
    document = verification_document(verification)
    for line in bench.publish({"ok": verification.ok, "verification": document}):
        note(f"note: {line}")
    if invocation.json:
        failed = {"error": error_document(error)} if error else {}
        write_json({"schema": schema("verify"), "ok": verification.ok, **document, **failed})
    else:
        rows = node_rows(document)
        write_text(table("Allocatable on every GPU node", NODE_COLUMNS, rows, color=invocation.color))
        write_text("\n".join(check_lines(document)))
    if error is None:
        return 0
    write_error(error, verbose=bool(invocation.verbose))
    return error.exit_code
