"""Files that are never half written, and folders that are nobody else's."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from clusterctl.errors import UsageError


def private_folder(path: Path) -> Path:
    """Make a folder and those of its parents that are missing, all of them 0700. Raises UsageError if it cannot."""
    try:
        for folder in (*reversed(path.parents), path):
            if not folder.is_dir():
                folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as problem:
        raise UsageError(f"cannot make the folder {path}: {problem.strerror}") from problem
    return path


def write_atomically(path: Path, text: str) -> None:
    """Replace a file (0600) so that a reader sees the old or the new one, whatever happens in between."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
