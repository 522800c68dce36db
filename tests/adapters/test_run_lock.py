"""One run at a time for each cluster, also across processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterctl.adapters.run_lock import run_lock
from clusterctl.errors import BusyError
from fakes import START

HOLD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from clusterctl.adapters.run_lock import run_lock
with run_lock(Path(sys.argv[1]), "training", command="clusterctl deploy-all", now=datetime(2026, 11, 30, tzinfo=UTC)):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_told_who_works_and_since_when(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(
                BusyError, match=f"clusterctl deploy-all .process {holder.pid} on .*. since 2026-11-30T00:00:00"
            ),
            run_lock(tmp_path, "training", command="clusterctl teardown", now=START),
        ):
            pytest.fail("two runs hold one lock")
        with run_lock(tmp_path, "another", command="clusterctl teardown", now=START):
            assert holder.poll() is None  # another cluster is free
        holder.communicate("")


def test_a_killed_run_holds_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.kill()
        holder.wait(10)
    with run_lock(tmp_path, "training", command="clusterctl teardown", now=START):
        assert str(os.getpid()) in (tmp_path / "training.holder").read_text()


def test_the_lock_is_free_again_after_a_run_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="failed"), run_lock(tmp_path, "training", command="a", now=START):
        raise ValueError("failed")
    with run_lock(tmp_path, "training", command="b", now=START):
        assert (tmp_path / "training.holder").exists()
    assert not (tmp_path / "training.holder").exists()


def test_a_holder_that_has_not_said_its_name_is_busy_all_the_same(tmp_path: Path) -> None:
    with run_lock(tmp_path, "training", command="a", now=START):
        (tmp_path / "training.holder").write_text("{")
        with (
            pytest.raises(BusyError, match="has not said its name"),
            run_lock(tmp_path, "training", command="b", now=START),
        ):
            pytest.fail("two runs hold one lock")
