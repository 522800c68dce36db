"""`clusterctl lint`: launch files against the mistakes that waste GPU hours."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from clusterctl.cli.command import Invocation, command

Files = Annotated[
    list[str], typer.Argument(help="Manifests, batch scripts, training code, folders of them, or - .", metavar="FILE…")
]


def register(app: typer.Typer) -> None:
    @command(app, "lint")
    def lint(invocation: Invocation, files: Files) -> int:
        """Check launch files: manifests, batch scripts, launch commands. Needs no cluster and changes nothing.

        Example: clusterctl lint job.yaml train.sbatch
        """
        from clusterctl.cli.result import error_document, note, schema, write_error, write_json, write_text
        from clusterctl.wiring.lint import lint_files

        document, error = lint_files(files)
        if invocation.json:
            failure = {"error": error_document(error)} if error else {}
            write_json({"schema": schema("lint"), "ok": error is None, **document, **failure})
        else:
            write_text("\n".join(_lines(document)))
        if error:
            write_error(error, verbose=False)
            return error.exit_code
        note(f"{document['checked']} files checked, {len(document['skipped'])} skipped")
        return 0


def _lines(document: dict[str, Any]) -> list[str]:
    lines = []
    for one in document["findings"]:
        lines += [
            f"{one['path']}:{one['line']}: {one['severity']}: {one['message']} [{one['rule']}]",
            f"    why: {one['reason']}",
            f"    fix: {one['fix']}",
        ]
    return lines or [f"no findings in {document['checked']} file{'s' * (document['checked'] != 1)}"]
