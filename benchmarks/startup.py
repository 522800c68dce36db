"""`clusterctl --help` against an interpreter that only imports typer: help must feel immediate."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from measuring import CLUSTERCTL, Table, measured, own_environment

ROUNDS = 41
MOST_RATIO = 1.5


def main() -> int:
    bare = [sys.executable, "-c", "import typer"]
    ours = [*CLUSTERCTL, "--help"]
    bare_s, ours_s = [], []
    with tempfile.TemporaryDirectory(prefix="clusterctl-bench-") as name:
        folder, environ = Path(name), own_environment(Path(name))
        for command in (bare, ours):
            measured(command, environ, folder)  # writes the bytecode
        for _ in range(ROUNDS):  # in turns, so that a busy moment of the machine hits both
            bare_s.append(measured(bare, environ, folder).seconds)
            ours_s.append(measured(ours, environ, folder).seconds)
    table = Table(f"Start-up, median of {ROUNDS} in turns")
    table.say("import typer", f"{statistics.median(bare_s) * 1000:.0f} ms")
    table.say("clusterctl --help", f"{statistics.median(ours_s) * 1000:.0f} ms")
    table.at_most("ratio", statistics.median(ours_s) / statistics.median(bare_s), MOST_RATIO)
    return table.end()


if __name__ == "__main__":
    sys.exit(main())
