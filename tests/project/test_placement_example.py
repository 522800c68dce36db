"""The example of a placement file is one that clusterctl itself would write, and reads the same in bash."""

from __future__ import annotations

import subprocess
from pathlib import Path

from clusterctl.model.placement import KEYS, format_placement, parse_placement

EXAMPLE = Path(__file__).resolve().parents[2] / ".placement.env.example"
TEXT = EXAMPLE.read_text(encoding="utf-8")
LINES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]


def test_the_example_holds_every_key_and_no_other() -> None:
    assert tuple(line.partition("=")[0] for line in LINES) == KEYS


def test_the_example_is_what_clusterctl_would_write() -> None:
    assert format_placement(parse_placement(TEXT, EXAMPLE.name)).splitlines() == LINES


def test_bash_reads_the_example_as_clusterctl_does() -> None:
    read = subprocess.run(
        ["bash", "-c", 'set -a; . "$1"; env', "bash", str(EXAMPLE)],
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    assert read.stderr == ""
    assert set(LINES) <= set(read.stdout.splitlines())
