"""The placement file on disk: atomic, locked, and refused when it is another account's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.errors import BusyError, UsageError
from clusterctl.model.placement import Placement, format_placement, parse_placement

LOCK_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class PlacementFile:
    """The PlacementStore port over one file."""

    path: Path
    patience_s: float = LOCK_TIMEOUT_S

    def load(self) -> Placement | None:
        """The remembered placement, or None without a file. Raises UsageError for a broken one."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is no text"
            raise UsageError(f"cannot read {self.path}: {reason}", hint="--placement FILE names another") from problem
        return parse_placement(text, str(self.path))

    def save(self, placement: Placement) -> None:
        text = format_placement(placement)
        if not self.path.parent.exists():
            private_folder(self.path.parent)
        try:
            with self._lock():
                write_atomically(self.path, text)
        except OSError as problem:
            raise UsageError(f"cannot write {self.path}: {problem.strerror}", hint="--placement FILE") from problem

    def remove(self) -> None:
        with self._lock():
            self.path.unlink(missing_ok=True)
        self._lock_path.unlink(missing_ok=True)

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(self.path.name + ".lock")

    @contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            with FileLock(self._lock_path, timeout=self.patience_s, mode=0o600):
                yield
        except Timeout as problem:
            raise BusyError(f"another run holds {self.path}", hint="wait for it to end") from problem


def refuse_foreign(placement: Placement | None, account_id: str, path: Path) -> None:
    """Raise UsageError if a placement file belongs to another account."""
    if placement and placement.account_id and placement.account_id != account_id:
        raise UsageError(
            f"{path} belongs to account {placement.account_id}, the credentials to {account_id}",
            hint="use the other credentials, or another file with --placement FILE",
        )
