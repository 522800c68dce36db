"""Children of a killed run are ended by the next; nobody else's are touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clusterctl.adapters.orphans import MARK, end_children

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc, so nothing is found")
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
KIND = "print('up', flush=True); import time; time.sleep(60)"


@contextmanager
def child(run: str, program: str = KIND) -> Iterator[subprocess.Popen[str]]:
    """A process that says that it was started by a run, in a session of its own."""
    started = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, MARK: run}, start_new_session=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert started.stdout is not None
        assert started.stdout.readline() == "up\n"
        yield started
    finally:
        started.kill()
        started.communicate()


def test_children_of_the_named_runs_end_and_others_live() -> None:
    with child("run-killed") as orphan, child("run-alive") as other:
        assert end_children({"run-killed"}) == 1
        assert orphan.wait(10) < 0
        time.sleep(0.1)
        assert other.poll() is None
        assert end_children({"run-killed"}) == 0


def test_a_child_that_does_not_want_to_go_is_made_to() -> None:
    with child("run-stubborn", STUBBORN) as orphan:
        assert end_children({"run-stubborn"}, grace_s=0.3) == 1
        assert orphan.wait(10) == -9


def test_nobody_is_ended_for_no_run() -> None:
    with child("run-alive") as other:
        assert end_children(()) == 0
        assert other.poll() is None
