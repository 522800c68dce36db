"""The two ends of a command: its result on stdout, its error on stderr."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from clusterctl.errors import ClusterctlError
from clusterctl.errors import as_error as as_error  # noqa: PLC0414 - commands take it from here


def write_json(document: Mapping[str, Any]) -> None:
    """Exactly one JSON document."""
    import json

    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


def write_text(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")


def note(text: str) -> None:
    """A line for the person who watches."""
    sys.stderr.write(text.rstrip("\n") + "\n")
    sys.stderr.flush()


def schema(command: str) -> str:
    return f"clusterctl/{command}/v1"


def error_document(problem: ClusterctlError) -> dict[str, Any]:
    return {"kind": problem.kind, "message": problem.message, "hint": problem.hint, "exit_code": problem.exit_code}


def failed_document(command: str, problem: ClusterctlError) -> dict[str, Any]:
    """The document of a command that failed before it had anything else to say."""
    return {"schema": schema(command), "ok": False, **problem.document, "error": error_document(problem)}


def write_error(problem: ClusterctlError, *, verbose: bool) -> None:
    note(f"error: {problem.message}")
    if problem.hint:
        note(f"hint: {problem.hint}")
    if verbose and problem.details:
        note("details:")
        for line in problem.details.strip().splitlines():
            note(f"  {line}")
