# ruff: noqa: FBT002 - typer makes options of parameters
"""`clusterctl verify`: what every GPU node offers against what EC2 says it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName, Junit, Region

if TYPE_CHECKING:
    from clusterctl.errors import ClusterctlError
    from clusterctl.wiring.bench import Bench

ExpectNodes = Annotated[int | None, typer.Option("--expect-nodes", min=1, help="GPU nodes that must be there.")]

Fabric = Annotated[
    bool, typer.Option("--fabric", help="Run an NCCL test over all nodes as well, and judge its fabric.")
]


def register(app: typer.Typer) -> None:
    @command(app, "verify")
    def verify(
        invocation: Invocation,
        expect_nodes: ExpectNodes = None,
        cluster_name: ClusterName = "",
        region: Region = "",
        junit: Junit = None,
        fabric: Fabric = False,
    ) -> int:
        """Read every GPU node's allocatable devices and judge them. Changes nothing but for `--fabric`'s job.

        Example: clusterctl verify --expect-nodes 2 -o json; clusterctl verify --fabric
        """
        from clusterctl.wiring.bench import open_bench

        search = Search(cluster_name=cluster_name, region=region)
        with open_bench(ask(invocation, search, save=False, expect_nodes=expect_nodes, junit=junit)) as bench:
            return _verify(invocation, bench, fabric=fabric)


def _verify(invocation: Invocation, bench: Bench, *, fabric: bool) -> int:
    from clusterctl.cli.result import error_document, note, schema, write_error, write_json, write_text
    from clusterctl.cli.tables import NODE_COLUMNS, check_lines, node_rows, table
    from clusterctl.model.documents import verification_document

    verification, error = bench.verify()
    document = verification_document(verification)
    told: ClusterctlError | None = error
    if fabric:
        document, told = _with_fabric(invocation, bench, document, error)
    for line in bench.publish({"ok": told is None, "verification": document}):
        note(f"note: {line}")
    if invocation.json:
        failed = {"error": error_document(told)} if told else {}
        write_json({"schema": schema("verify"), "ok": told is None, **document, **failed})
    else:
        rows = node_rows(document)
        write_text(table("Allocatable on every GPU node", NODE_COLUMNS, rows, color=invocation.color))
        write_text("\n".join(check_lines(document)))
    if told is None:
        return 0
    write_error(told, verbose=bool(invocation.verbose))
    return told.exit_code


def _with_fabric(
    invocation: Invocation, bench: Bench, document: dict[str, Any], error: ClusterctlError | None
) -> tuple[dict[str, Any], ClusterctlError | None]:
    """A real NCCL test on nodes that are fine otherwise; on others it is skipped, and that is no pass."""
    from clusterctl.cli.train import run_outcome
    from clusterctl.wiring.fabrictest import FABRIC_TEST, fabric_check, skipped_fabric_check, untested
    from clusterctl.wiring.training import TrainAsk, Training

    if error is not None:
        return {**document, "checks": [*document["checks"], skipped_fabric_check()], "fabric": None}, error
    outcome = run_outcome(invocation, bench, Training(bench, TrainAsk(FABRIC_TEST)))
    checks = [*document["checks"], fabric_check(outcome)]
    return {**document, "checks": checks, "fabric": outcome.document}, outcome.error or untested(outcome)
