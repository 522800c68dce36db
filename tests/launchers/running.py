"""Programs run to their end with what they printed, and the small model that all launchers train."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TRAIN = ROOT / "scripts" / "train"
BIN = Path(sys.executable).parent
SMALL = [
    "--samples", "23", "--batch-size", "2", "--accumulate", "2", "--seq-len", "8", "--width", "16", "--layers", "1",
    "--vocabulary", "32",
]  # fmt: skip
PATIENCE_S = 540


@dataclass(frozen=True)
class Ended:
    """A program that has ended."""

    code: int
    output: str

    @property
    def weights(self) -> str:
        """The digest of the weights that a finished training prints."""
        found = re.findall(r"training finished: .*weights=(\w+)", self.output)
        assert len(found) == 1, self.output
        return found[0]

    def values(self, pattern: str) -> list[str]:
        return re.findall(pattern, self.output)


def environment(**more: str) -> dict[str, str]:
    """This one's, with the interpreter's folder first, and one thread for each process."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **more}


def run(words: Sequence[str | Path], env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ended:
    """Run to the end. Killed with all its children when patience is over."""
    command = ["timeout", "-s", "KILL", str(PATIENCE_S), *map(str, words)]
    ended = subprocess.run(
        command, env=dict(env or environment()), cwd=cwd, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return Ended(ended.returncode, ended.stdout)
