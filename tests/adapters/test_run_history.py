"""The file of earlier runs: private, bounded, and never in the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from clusterctl.adapters.run_history import MOST_RUNS, RunHistory
from clusterctl.model.history import RunRecord

RUN = RunRecord("deploy-all", "training", "run-1", "aws", datetime(2026, 11, 30, tzinfo=UTC), 1.0, (), (), {"ok": True})


def test_runs_of_a_cluster_are_read_back_oldest_first_and_of_no_other(tmp_path: Path) -> None:
    history = RunHistory(tmp_path / "runs", "training")
    assert history.runs() == ()
    history.add(RUN)
    history.add(replace(RUN, run_id="run-2"))
    assert [one.run_id for one in history.runs()] == ["run-1", "run-2"]
    assert RunHistory(tmp_path / "runs", "other").runs() == ()


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    RunHistory(tmp_path / "runs", "training").add(RUN)
    assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "runs" / "training.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_oldest_runs_make_room(tmp_path: Path) -> None:
    history = RunHistory(tmp_path, "training")
    for number in range(MOST_RUNS + 3):
        history.add(replace(RUN, run_id=str(number)))
    assert [one.run_id for one in history.runs()] == [str(number) for number in range(3, MOST_RUNS + 3)]


def test_a_line_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    history = RunHistory(tmp_path, "training")
    history.add(RUN)
    with (tmp_path / "training.jsonl").open("a") as file:
        file.write('{"schema": "clusterctl/run/v9"}\nnot json\n')
    assert history.runs() == (RUN,)
