"""Launch files read from disk: those named, and those in the folders named."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from clusterctl.errors import UsageError

LARGEST_BYTES = 2_000_000
PASSED_OVER = {"node_modules", "__pycache__", "venv", "build", "dist"}


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """A file to check; `named` tells one that was asked for from one met in a folder."""

    path: str
    text: str
    named: bool


def read_launch_files(names: Iterable[str]) -> Iterator[LaunchFile]:
    """Every file, folders with all that is in them, `-` for standard input; each file once.

    Raises UsageError for a name that does not exist or cannot be read.
    """
    seen: set[str] = set()
    for name in names:
        if name == "-":
            yield LaunchFile("-", sys.stdin.read(), named=True)
            continue
        folder = Path(name).is_dir()
        for path in _inside(Path(name)) if folder else [Path(name)]:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield from _read(path, named=not folder)


def _inside(folder: Path) -> Iterator[Path]:
    """Files of a folder in order. Hidden ones, links that lead nowhere and dependencies are passed over."""
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in PASSED_OVER)
        yield from (Path(top, one) for one in sorted(files) if not one.startswith(".") and Path(top, one).is_file())


def _read(path: Path, *, named: bool) -> Iterator[LaunchFile]:
    try:
        if not named and path.stat().st_size > LARGEST_BYTES:
            return
        yield LaunchFile(str(path), path.read_text(encoding="utf-8-sig"), named)
    except UnicodeDecodeError:
        if named:
            raise UsageError(f"{path} is not text", hint="name manifests, batch scripts or folders of them") from None
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {problem.strerror}", hint="name a file or a folder") from problem
