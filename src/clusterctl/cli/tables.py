"""Results for people: tables on stdout that give up columns, never words, where the terminal is narrow."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ROOMY = 110
PLAIN_WIDTH = 160  # where nobody says how wide the page is
MOST_NODES = 200  # in a table for people; JSON has them all
Rows = Iterable[Sequence[str]]


def page_width() -> int:
    return shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns


def table(title: str, columns: Sequence[str], rows: Rows, *, color: bool) -> str:
    """A table as text. A column named with # holds numbers; one named with ? is left out where there is no room."""
    from rich import box
    from rich.table import Table

    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
    grid.padding = (0, 1, 0, 0)
    shown = [one for one in range(len(columns)) if page_width() >= ROOMY or "?" not in columns[one]]
    for position in shown:
        column, last = columns[position], position == shown[-1]
        grid.add_column(column.strip("?#"), justify="right" if "#" in column else "left", no_wrap=not last)
    for row in rows:
        grid.add_row(*(row[position] for position in shown))
    return rendered(grid, color=color)


def rendered(thing: Any, *, color: bool) -> str:
    """What rich makes of something, as text for stdout."""
    import sys

    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = page_width()
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal and color, no_color=not color)
    console.print(thing)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def usd(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"


def candidate_rows(candidates: Sequence[Mapping[str, Any]]) -> Rows:
    """The rows of a capacity table, from candidate documents."""
    for one in candidates:
        quota = one["quota"] or {}
        yield (
            str(one["rank"]),
            f"{one['zone']} ({one['zone_id']})",
            one["instance_type"],
            one["verdict"],
            "-" if one["spot_score"] is None else str(one["spot_score"]),
            "-" if one["subnet"] == "no-cluster" else one["subnet"],
            quota.get("verdict", "unknown"),
            usd(one["hourly_usd"]),
            one["reason"],
        )


CANDIDATE_COLUMNS = ("#", "Zone", "Type", "Verdict", "?#Spot", "?Subnet", "?Quota", "?#USD/h", "Why")


def places_table(candidates: Sequence[Mapping[str, Any]], *, color: bool) -> str:
    """The places that were considered, with the reason for each place's rank."""
    title = "Where the nodes could live, best first"
    return table(title, CANDIDATE_COLUMNS, candidate_rows(candidates), color=color)


def attempt_rows(attempts: Sequence[Mapping[str, Any]]) -> Rows:
    """The rows of a table of places that were tried or ruled out, from attempt documents."""
    for one in attempts:
        yield one["region"], one["zone"], one["instance_type"], one["outcome"], one["reason"]


ATTEMPT_COLUMNS = ("?Region", "Zone", "Type", "Outcome", "Why")


def node_rows(verification: Mapping[str, Any]) -> Rows:
    """The rows of the allocatable table, from a verification document; of very many nodes those with problems first."""
    nodes = verification["nodes"]
    if len(nodes) > MOST_NODES:
        nodes = sorted(nodes, key=lambda node: not node["problems"])
    for node in nodes[:MOST_NODES]:
        yield (
            node["name"].split(".")[0],
            "yes" if node["ready"] else "no",
            node["instance_type"],
            node["zone"],
            str(node["gpus"]),
            str(node["efa"]),
            str(node["neuron"]),
            "; ".join(node["problems"]) or "none",
        )
    if rest := nodes[MOST_NODES:]:
        troubled = sum(bool(node["problems"]) for node in rest)
        yield (f"and {len(rest)} more", *[""] * 6, f"on {troubled} of them" if troubled else "none")


NODE_COLUMNS = ("Node", "Ready", "?Type", "Zone", "#GPUs", "#EFA", "#Neuron", "Problems")


def check_lines(verification: Mapping[str, Any]) -> list[str]:
    """A line for each check, with the remedy of those that failed."""
    lines = []
    for check in verification["checks"]:
        mark = "·" if check["skipped"] else "✓" if check["ok"] else "✗"
        remedy = f"  ->  {check['remedy']}" if check["remedy"] else ""
        lines.append(f"{mark} {check['id']:<14} {check['message']}{remedy}")
    return lines
