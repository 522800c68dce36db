#!/usr/bin/env python3
"""Writes the table of lint rules: id, severity, reason and fix, as the model has them."""

from __future__ import annotations

import argparse
from pathlib import Path

from clusterctl.model.lint.rules import RULES

BEGIN = "<!-- rules: written by scripts/lint_table.py -->"
END = "<!-- rules: end -->"


def table() -> str:
    rows = [f"| `{one.rule_id}` | {one.severity.value} | {one.reason} | {one.fix} |" for one in RULES]
    return "\n".join(["| Rule | Severity | Why it hurts | Instead |", "|---|---|---|---|", *map(_escaped, rows)])


def _escaped(row: str) -> str:
    """Angle brackets of a placeholder are no HTML."""
    return row.replace("<", "&lt;").replace(">", "&gt;")


def rewritten(page: str) -> str:
    """The page with a fresh table between its marks. Raises ValueError for a page without marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="a page with marks to write the table into")
    page: Path = parser.parse_args().page
    page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
