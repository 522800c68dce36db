"""One run at a time for each cluster on this machine."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from clusterctl.adapters.files import private_folder, write_atomically
from clusterctl.errors import BusyError


@contextmanager
def run_lock(folder: Path, name: str, *, command: str, now: datetime) -> Iterator[None]:
    """Hold the lock of one cluster. Raises BusyError naming who holds it and since when."""
    private_folder(folder)
    lock, holder = FileLock(folder / f"{name}.lock", timeout=0, mode=0o600), folder / f"{name}.holder"
    try:
        lock.acquire()
    except Timeout as problem:
        raise BusyError(f"another run works on this cluster: {_who(holder)}", hint="wait for it to end") from problem
    try:
        facts = {"pid": os.getpid(), "host": socket.gethostname(), "command": command}
        facts |= {"since": now.isoformat(timespec="seconds")}
        write_atomically(holder, json.dumps(facts))
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _who(holder: Path) -> str:
    try:
        facts = json.loads(holder.read_text())
        return f"{facts['command']} (process {facts['pid']} on {facts['host']}) since {facts['since']}"
    except (OSError, ValueError, KeyError):
        return "its process has not said its name"
