"""Child processes that outlived their run: a run that is killed cannot stop them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

MARK = "CLUSTERCTL_RUN"  # in the environment of every child: the run that started it
GRACE_S = 10.0
_PROCESSES = Path("/proc")


def end_children(runs: Collection[str], *, grace_s: float = GRACE_S) -> int:
    """End the process groups that the given runs have started: kindly, then by force. Returns how many there were.

    Where the system shows no environments (no /proc), none is found, and they end by themselves.
    """
    groups = _groups(runs)
    for group in groups:
        _signal(group, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while _groups(runs) and time.monotonic() < until:
        time.sleep(0.05)
    for group in groups:
        _signal(group, signal.SIGKILL)
    return len(groups)


def _groups(runs: Collection[str]) -> set[int]:
    marks = {f"{MARK}={run}".encode() for run in runs}
    return set(_marked(marks)) - {os.getpgrp(), 0}


def _marked(marks: Collection[bytes]) -> Iterator[int]:
    for folder in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):  # somebody else's, or gone by now
            if not set((folder / "environ").read_bytes().split(b"\0")).isdisjoint(marks):
                yield os.getpgid(int(folder.name))


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
