"""A folder of rendered files: known again by its marker, written file by file, nobody else's work overwritten."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from clusterctl.adapters.files import write_atomically
from clusterctl.errors import UsageError

MARKER = ".clusterctl-render.json"
SCHEMA = "clusterctl/rendered-folder/v1"
_OTHER = "name an empty folder, a new one, or one that an earlier render has written"


@dataclass(frozen=True, slots=True)
class RenderedFolder:
    """The files that are ours are those that the marker lists; all others stay as they are."""

    folder: Path

    def write(self, files: Mapping[str, str]) -> dict[str, str]:
        """Make the folder hold these texts, by path. Returns what became of each: written, unchanged or removed.

        Raises UsageError, before anything is changed, for a folder or a file that is somebody else's.
        """
        known = self._known()
        self._refuse_foreign(files, known)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._mark(known | set(files))  # what a killed run has written is known to be ours, too
            done = {path: self._put(path, text) for path, text in files.items()}
            done |= {path: self._remove(path) for path in sorted(known - set(files))}
            self._mark(set(files))
        except OSError as problem:
            raise UsageError(f"cannot write {problem.filename or self.folder}: {problem.strerror}") from problem
        return done

    def _known(self) -> set[str]:
        """What an earlier render has written. Raises UsageError for a folder with files and no marker."""
        try:
            if not self.folder.exists():
                return set()
            if not self.folder.is_dir():
                raise UsageError(f"{self.folder} is no folder", hint=_OTHER)
            if not (self.folder / MARKER).exists():
                return self._empty()
            return _listed((self.folder / MARKER).read_text(encoding="utf-8"), self.folder)
        except OSError as problem:
            raise UsageError(f"cannot read {self.folder}: {problem.strerror}", hint=_OTHER) from problem

    def _empty(self) -> set[str]:
        found = min((one.name for one in self.folder.iterdir()), default="")
        if found:
            raise UsageError(f"{self.folder} holds files that are not clusterctl's: {found}", hint=_OTHER)
        return set()

    def _refuse_foreign(self, files: Mapping[str, str], known: set[str]) -> None:
        """Raises UsageError for a file that somebody has put in our place, and for a way out of the folder."""
        top = self.folder.resolve()
        for path in sorted({*files, *known}):
            target = self.folder / path
            if not target.resolve().is_relative_to(top):
                raise UsageError(f"{target} leads out of the folder", hint="remove the link")
            if path not in known and target.exists():
                raise UsageError(f"{target} is there already, and not by clusterctl", hint="move it away")

    def _put(self, path: str, text: str) -> str:
        target = self.folder / path
        if target.is_file() and target.read_bytes() == text.encode():
            return "unchanged"
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, text)
        return "written"

    def _remove(self, path: str) -> str:
        target = self.folder / path
        target.unlink(missing_ok=True)
        if target.parent != self.folder and target.parent.is_dir() and not any(target.parent.iterdir()):
            target.parent.rmdir()
        return "removed"

    def _mark(self, files: set[str]) -> None:
        self._put(MARKER, json.dumps({"schema": SCHEMA, "files": sorted(files)}, indent=2) + "\n")


def _listed(text: str, folder: Path) -> set[str]:
    """The files of a marker. Raises UsageError for one that is not ours."""
    try:
        found = json.loads(text)
        files = [PurePosixPath(one) for one in found["files"]]
        ours = found["schema"] == SCHEMA and not any(one.is_absolute() or ".." in one.parts for one in files)
    except (ValueError, TypeError, KeyError):
        ours = False
    if not ours:
        raise UsageError(f"{folder / MARKER} is not as clusterctl writes it", hint=_OTHER)
    return {str(one) for one in files}
