"""The runs of each cluster, newest last, in a file of JSON lines (0600) in our own folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.model.history import RunRecord, record_document, record_of

MOST_RUNS = 50


class RunHistory:
    """What earlier runs on a cluster were like. A line that cannot be read is passed over, and not written again."""

    def __init__(self, folder: Path, cluster: str) -> None:
        self._path = folder / f"{cluster}.jsonl"

    def add(self, record: RunRecord) -> None:
        """Keep a run, and of the earlier ones the newest. Raises UsageError where the folder cannot be made."""
        private_folder(self._path.parent)
        kept = [*self.runs(), record][-MOST_RUNS:]
        write_atomically(self._path, "".join(json.dumps(record_document(one), default=str) + "\n" for one in kept))

    def runs(self) -> tuple[RunRecord, ...]:
        return tuple(self._read())

    def _read(self) -> Iterator[RunRecord]:
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield record_of(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue
