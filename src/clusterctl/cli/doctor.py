"""`clusterctl doctor`: what is needed, what is there, and the remedy for each thing that is not."""

from __future__ import annotations

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import Region


def register(app: typer.Typer) -> None:
    @command(app, "doctor")
    def doctor(invocation: Invocation, region: Region = "") -> int:
        """Check tools, credentials, permissions, quotas and kubeconfig.

        Example: clusterctl doctor -o json
        """
        from clusterctl.cli.result import error_document, schema, write_error, write_json, write_text
        from clusterctl.cli.tables import check_lines
        from clusterctl.wiring.bench import open_bench
        from clusterctl.wiring.doctor import examine

        with open_bench(ask(invocation, Search(region=region), save=False)) as bench:
            checks, error = examine(bench)
        if invocation.json:
            failed = {"error": error_document(error)} if error else {}
            write_json({"schema": schema("doctor"), "ok": error is None, "checks": checks, **failed})
        else:
            write_text("\n".join(check_lines({"checks": checks})))
        if error is None:
            return 0
        write_error(error, verbose=bool(invocation.verbose))
        return error.exit_code
