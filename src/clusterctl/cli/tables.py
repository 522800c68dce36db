"""Results for people: tables on stdout, 80 columns wide when nobody says otherwise."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Rows = Iterable[Sequence[str]]


def table(title: str, columns: Sequence[str], rows: Rows, *, color: bool) -> str:
    """A table as text. Columns whose name begins with # are numbers, and stand to the right."""
    from rich import box
    from rich.table import Table

    grid = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
    for column in columns:
        right = column.startswith("#")
        grid.add_column(column.lstrip("#"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return rendered(grid, color=color)


def rendered(thing: Any, *, color: bool) -> str:
    """What rich makes of something, as text for stdout."""
    import shutil
    import sys

    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 120
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
            one["region"],
            f"{one['zone']} ({one['zone_id']})",
            one["instance_type"],
            one["verdict"],
            one["source"],
            "-" if one["spot_score"] is None else str(one["spot_score"]),
            one["subnet"],
            quota.get("verdict", "unknown"),
            usd(one["hourly_usd"]),
            one["reason"],
        )


CANDIDATE_COLUMNS = (
    "#", "Region", "Zone", "Type", "Verdict", "Known by", "#Spot score", "Subnet", "Quota", "#USD/h", "Why",
)  # fmt: skip


def node_rows(verification: Mapping[str, Any]) -> Rows:
    """The rows of the allocatable table, from a verification document."""
    for node in verification["nodes"]:
        yield (
            node["name"],
            "yes" if node["ready"] else "no",
            node["instance_type"],
            node["zone"],
            str(node["gpus"]),
            str(node["efa"]),
            str(node["neuron"]),
            "; ".join(node["problems"]) or "none",
        )


NODE_COLUMNS = ("Node", "Ready", "Type", "Zone", "#GPUs", "#EFA", "#Neuron", "Problems")


def check_lines(verification: Mapping[str, Any]) -> list[str]:
    """A line for each check, with the remedy of those that failed."""
    lines = []
    for check in verification["checks"]:
        mark = "·" if check["skipped"] else "✓" if check["ok"] else "✗"
        remedy = f"  ->  {check['remedy']}" if check["remedy"] else ""
        lines.append(f"{mark} {check['id']:<14} {check['message']}{remedy}")
    return lines
