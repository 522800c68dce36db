#!/usr/bin/env python3
"""Writes the table of failures: what AWS says, how far it reaches, how long it holds and what is done about it."""

from __future__ import annotations

import argparse
from pathlib import Path

from clusterctl.model.failures import LAWS, Cause, classify
from clusterctl.model.launch import launch_error

BEGIN = "<!-- failures: written by scripts/failures_table.py -->"
END = "<!-- failures: end -->"


def table() -> str:
    """A row for each law, in the order in which they are tried, and one for what no law knows."""
    rows = [
        _row(
            cause.value, ", ".join(f"`{word}`" for word in words), scope.value, _duration(holds_s), remedy.value, cause
        )
        for cause, scope, remedy, holds_s, words in LAWS
    ]
    unknown = classify("", "")
    rows.append(_row("unknown", "anything else", unknown.scope.value, "", unknown.remedy.value, Cause.UNKNOWN))
    head = "| Cause | Codes and words | Reaches | Holds for | What is done | Exit code |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def _row(name: str, words: str, scope: str, holds: str, remedy: str, cause: Cause) -> str:
    exit_code = next(
        (launch_error(classify(word), "").exit_code for word in _words(cause)),
        launch_error(classify("?"), "").exit_code,
    )
    return f"| {name} | {words} | {scope} | {holds or '-'} | {remedy} | {exit_code} |"


def _words(cause: Cause) -> list[str]:
    return [word for known, *_, words in LAWS if known is cause for word in words]


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s" if seconds else ""


def rewritten(page: str) -> str:
    """The page with a fresh table between its marks. Raises ValueError for a page without marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", help="a page with marks to write the table into; else printed")
    page: Path | None = parser.parse_args().page
    if page is None:
        print(table())
    else:
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
