"""Answers of AWS that may be used again for a while, in one small file each (0600) under the cache folder."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.ports import Clock

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class AnswerCache:
    """Keeps JSON values by key. A cache that cannot be read or written is an empty one: nothing depends on it."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()

    def get(self, key: str, lifetime: timedelta) -> Any:
        """The value, or None if there is none or it is too old."""
        if self._folder is None:
            return None
        try:
            entry = json.loads(self._file(self._folder, key).read_text(encoding="utf-8"))
            age = self._clock.now() - datetime.fromisoformat(entry["at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return entry.get("value") if timedelta(0) <= age < lifetime else None

    def put(self, key: str, value: Any) -> None:
        if self._folder is None:
            return
        text = json.dumps({"at": self._clock.now().isoformat(), "value": value})
        with self._lock:
            try:
                private_folder(self._folder)
                write_atomically(self._file(self._folder, key), text)
            except Exception:  # noqa: BLE001 - a full disk or a read-only home must not stop a survey
                return

    @staticmethod
    def _file(folder: Path, key: str) -> Path:
        return folder / f"{_UNSAFE.sub('-', key)}.json"
