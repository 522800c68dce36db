#!/usr/bin/env python3
"""Writes the reference: every command with its options, and every exit code, as the program itself has them."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from clusterctl import errors
from clusterctl.cli.main import app

KINDS = {"int": "number", "integer": "number", "float": "number", "str": "text", "text": "text", "path": "path"}
HEAD = """# Reference

Written by `make docs` from the program itself. Settings have [a page of their own](settings.md).
"""
JSON = """With `-o json` stdout holds exactly one document, also for failures. Each has `schema`
(`clusterctl/COMMAND/v1`) and `ok`; one that failed also has `error` with `kind`, `message`, `hint` and `exit_code`.
"""


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that can be called, with its full name."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", getattr(one, "built", one)


def section(name: str, one: Any) -> str:
    """One command: what it does, an example, its options."""
    text, _, example = inspect.cleandoc(one.help or "").partition("Example: ")
    examples = "\n".join(line.strip() for line in example.replace("\n", " ").split(";"))
    rows = [row for parameter in one.get_params(typer.Context(one)) if (row := _row(parameter))]
    table = "\n".join(["| Option | Takes | What it does |", "|---|---|---|", *rows])
    shown = f"\n```sh\n{examples}\n```\n" if examples else ""
    return f"### {name}\n\n{_one_line(text)}\n{shown}\n{table}\n"


def _row(parameter: Any) -> str:
    if parameter.name == "help":
        return ""
    names = ", ".join(f"`{one}`" for one in (*parameter.opts, *parameter.secondary_opts) if one.startswith("-"))
    takes = "" if getattr(parameter, "is_flag", False) or getattr(parameter, "count", False) else _takes(parameter)
    return f"| {names or f'`{parameter.metavar or parameter.name}`'} | {_cell(takes)} | {_cell(parameter.help or '')} |"


def _takes(parameter: Any) -> str:
    """What stands behind the option's names in `--help`: R,R or INTEGER."""
    shown = (parameter.get_help_record(typer.Context(typer.main.get_command(app))) or ("",))[0]
    takes = re.sub(r"^(?:-{1,2}[\w-]+[ ,/]*)+", "", shown)
    kind = re.match(r"[a-z]+", takes.strip("<[").lower())
    return KINDS.get(kind[0] if kind else "", takes)


def _cell(text: str) -> str:
    return _one_line(text).replace("|", "\\|")


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def exit_codes() -> str:
    """The codes with the kinds of error that end with them."""
    kinds: dict[int, list[str]] = {0: ["| 0 | | done, or nothing to do |"]}
    for one in vars(errors).values():
        if isinstance(one, type) and issubclass(one, errors.ClusterctlError):
            told = _one_line((inspect.getdoc(one) or "").split("\n\n")[0])
            kinds.setdefault(one.exit_code, []).append(f"| {one.exit_code} | `{one.kind}` | {told} |")
    rows = [row for code in sorted(kinds) for row in kinds[code]]
    return "\n".join(["| Code | `error.kind` | When |", "|---|---|---|", *rows])


def page() -> str:
    """The whole page."""
    parts = [section(name, one) for name, one in commands(typer.main.get_command(app))]
    return "\n".join([
        HEAD, "## Exit codes\n", exit_codes() + "\n", "## JSON\n",
        JSON,
        "## Commands\n", *parts,
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, help="where the page goes")
    parser.parse_args().page.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
