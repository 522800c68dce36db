"""Where the nodes live: the decision, and how the placement file says it.

The file is `KEY=value` lines that bash, python-dotenv and systemd's EnvironmentFile read the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from clusterctl.errors import UsageError
from clusterctl.model.names import nearest

STATE_VERSION = "1"
_SAFE = re.compile(r"[A-Za-z0-9_./:@%+=,-]*")
_REBUILD = "move it away, then rebuild it from the cluster's tags: clusterctl status --adopt"
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")


@dataclass(frozen=True, slots=True)
class Placement:
    """The remembered decision and the way back to it; nothing secret."""

    account_id: str = ""
    region: str = ""
    cluster_name: str = ""
    gpu_az: str = ""
    gpu_az_id: str = ""
    gpu_subnet: str = ""
    gpu_node_type: str = ""
    gpu_node_count: int = 0
    gpu_nodegroup_name: str = ""
    capacity_reservation_id: str = ""
    capacity_source: str = ""
    run_id: str = ""
    expires_at: str = ""
    kubeconfig: str = ""

    @property
    def expiry(self) -> datetime | None:
        return datetime.fromisoformat(self.expires_at) if self.expires_at else None


KEYS = ("CLUSTERCTL_STATE", *(field.name.upper() for field in fields(Placement)))


def format_placement(placement: Placement) -> str:
    """The lines of a placement file. Raises UsageError for a value that the three readers would read differently."""
    lines = [f"CLUSTERCTL_STATE={STATE_VERSION}"]
    for item in fields(Placement):
        value = str(getattr(placement, item.name))
        if not _SAFE.fullmatch(value):
            raise UsageError(
                f"{item.name.upper()} has a character that shells read differently: {value!r}",
                hint="use letters, digits and ./:@%+=,-_ only",
            )
        lines.append(f"{item.name.upper()}={value}")
    return "\n".join(lines) + "\n"


def parse_placement(text: str, source: str) -> Placement:
    """Read a placement file. Raises UsageError naming `source` and the line that is wrong."""
    values = _values(text, source)
    if values.pop("CLUSTERCTL_STATE", None) != STATE_VERSION:
        raise UsageError(
            f"{source} is not a placement file of this version of clusterctl",
            hint=_REBUILD,
        )
    count = values.pop("GPU_NODE_COUNT", "") or "0"
    if not count.isdecimal():
        raise UsageError(f"{source}: GPU_NODE_COUNT is {count!r}, not a number", hint=_REBUILD)
    known: dict[str, Any] = {key.lower(): value for key, value in values.items()}
    placement = Placement(**known, gpu_node_count=int(count))
    _check_expiry(placement, source)
    return placement


def _values(text: str, source: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise UsageError(f"{source} line {number} is not KEY=value: {line[:60]!r}", hint=_REBUILD)
        key, value = found.groups()
        if key not in KEYS:
            meant = nearest(key, KEYS)
            raise UsageError(
                f"{source} line {number}: unknown key {key}",
                hint=f"did you mean {meant}?" if meant else "remove the line",
            )
        values[key] = value.strip("'\"")
        if not _SAFE.fullmatch(values[key]):
            raise UsageError(f"{source} line {number}: {key} has a character that shells read differently")
    return values


def _check_expiry(placement: Placement, source: str) -> None:
    try:
        expiry = placement.expiry
    except ValueError as problem:
        raise UsageError(f"{source}: EXPIRES_AT is not a date: {placement.expires_at!r}") from problem
    if expiry and expiry.tzinfo is None:
        raise UsageError(f"{source}: EXPIRES_AT says no time zone: {placement.expires_at!r}")
