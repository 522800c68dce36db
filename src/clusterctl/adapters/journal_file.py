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
from clusterctl.engine.effects import REMOVALS
from clusterctl.model.run import Earlier
from clusterctl.ports import Clock


class JournalFile:
    """The Journal port over a file of JSON lines (0600), safe for threads of one run.

    It may hold intents for several clusters; this run sees those of its own, whose lock it holds.
    """

    def __init__(self, path: Path, clock: Clock, run_id: str, cluster: str = "") -> None:
        self._path = path
        self._clock = clock
        self._marks = {"run": run_id, "cluster": cluster}
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
        """Intents of this cluster whose outcome is not known, oldest first."""
        open_intents: dict[str, Mapping[str, str]] = {}
        for entry in read_entries(self._path):
            if entry.get("state") == "intended" and self._is_mine(entry):
                open_intents[entry["id"]] = entry
            else:
                open_intents.pop(entry.get("id", ""), None)
        return tuple(open_intents.values())

    def settle(self, intent: Mapping[str, str]) -> None:
        kept = {key: intent[key] for key in ("id", "effect", "run", "cluster") if key in intent}
        self._append({**kept, "state": "settled"})

    def clear(self) -> None:
        """Keep this cluster's unsettled intents and all of other clusters; remove the file when nothing is left."""
        with self._lock:
            others = [entry for entry in read_entries(self._path) if not self._is_mine(entry)]
            left = [*others, *self.unsettled()]
            if left:
                write_atomically(self._path, "".join(json.dumps(entry) + "\n" for entry in left))
            else:
                self._path.unlink(missing_ok=True)

    def _is_mine(self, entry: Mapping[str, str]) -> bool:
        return _is_of(entry, self._marks["cluster"])

    def _append(self, entry: Mapping[str, str]) -> None:
        stamped = {"at": self._clock.now().isoformat(), **self._marks, **entry}
        with self._lock:
            private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, (_line_break(descriptor) + json.dumps(stamped) + "\n").encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def journal_path(placement: Path) -> Path:
    """The journal lies beside the placement file."""
    return placement.with_name(placement.name + ".journal")


def read_entries(path: Path) -> Iterator[dict[str, str]]:
    """Every entry, oldest first; the half line of a run that was killed while it wrote is passed over."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def earlier_work(path: Path, cluster: str) -> Earlier:
    """The runs on a cluster that ended badly: one that ends well takes its entries with it."""
    entries = [entry for entry in read_entries(path) if _is_of(entry, cluster)]
    removals = [entry for entry in entries if entry.get("effect") in REMOVALS]
    names = {entry.get("nodegroup") or entry.get("cluster", "") for entry in removals}
    return Earlier(frozenset(entry.get("run", "") for entry in entries) - {""}, frozenset(names) - {""})


def _is_of(entry: Mapping[str, str], cluster: str) -> bool:
    return not cluster or entry.get("cluster", "") in ("", cluster)


def _line_break(descriptor: int) -> str:
    """What ends the half line of a run that was killed while it wrote; nothing after a whole one."""
    size = os.fstat(descriptor).st_size
    return "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""
