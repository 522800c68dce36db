"""The journal beside the placement file: each intent is on disk before its side effect."""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.ports import Clock


class JournalFile:
    """The Journal port over a file of JSON lines (0600), safe for threads of one run."""

    def __init__(self, path: Path, clock: Clock, run_id: str) -> None:
        self._path = path
        self._clock = clock
        self._run_id = run_id
        self._lock = threading.Lock()

    @contextmanager
    def effect(self, name: str, facts: Mapping[str, str]) -> Iterator[None]:
        """Write the intent, let the caller act, write the outcome. A crash in between leaves the intent unsettled."""
        entry = uuid.uuid4().hex
        self._append({"id": entry, "state": "intended", "effect": name, **facts})
        try:
            yield
        except Exception as problem:
            self._append({"id": entry, "state": "failed", "effect": name, "reason": str(problem)[:300]})
            raise
        self._append({"id": entry, "state": "done", "effect": name})

    def unsettled(self) -> tuple[Mapping[str, str], ...]:
        """Intents whose outcome is not known, oldest first."""
        open_intents: dict[str, Mapping[str, str]] = {}
        for entry in self._entries():
            if entry.get("state") == "intended":
                open_intents[entry["id"]] = entry
            else:
                open_intents.pop(entry.get("id", ""), None)
        return tuple(open_intents.values())

    def clear(self) -> None:
        """Keep the unsettled intents alone; remove the file when there are none."""
        with self._lock:
            left = self.unsettled()
            if left:
                write_atomically(self._path, "".join(json.dumps(entry) + "\n" for entry in left))
            else:
                self._path.unlink(missing_ok=True)

    def _entries(self) -> Iterator[dict[str, str]]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed while it wrote
            if isinstance(entry, dict):
                yield entry

    def _append(self, entry: Mapping[str, str]) -> None:
        stamped = {"at": self._clock.now().isoformat(), "run": self._run_id, **entry}
        with self._lock:
            private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, (_line_break(descriptor) + json.dumps(stamped) + "\n").encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _line_break(descriptor: int) -> str:
    """What ends the half line of a run that was killed while it wrote; nothing after a whole one."""
    size = os.fstat(descriptor).st_size
    return "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""
