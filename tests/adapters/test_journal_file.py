"""The journal: an intent is on disk before its effect, and a killed run leaves it there."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path

import pytest

from clusterctl.adapters.journal_file import JournalFile
from fakes import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".placement.env.journal"


def journal(path: Path, run: str = "run-1") -> JournalFile:
    return JournalFile(path, FakeClock(), run)


def names(found: JournalFile) -> list[str]:
    return [one["effect"] for one in found.unsettled()]


def killed(path: Path, name: str, **facts: str) -> None:
    """Leave behind what a run leaves that is killed in the middle of an effect."""
    journal(path).effect(name, facts).__enter__()


def test_the_intent_is_on_disk_while_the_effect_happens_and_settled_after(path: Path) -> None:
    found = journal(path)
    with found.effect("CreateCluster", {"cluster": "training"}):
        (intent,) = [json.loads(line) for line in path.read_text().splitlines()]
        assert (intent["state"], intent["cluster"], intent["run"]) == ("intended", "training", "run-1")
        assert intent["at"] == "2026-11-30T12:00:00+00:00"
        assert names(found) == ["CreateCluster"]
    assert found.unsettled() == ()


def test_an_effect_that_fails_is_settled_with_its_reason(path: Path) -> None:
    found = journal(path)
    with pytest.raises(ValueError, match="no room"), found.effect("CreateNodegroup", {}):
        raise ValueError("no room")
    assert found.unsettled() == ()
    assert json.loads(path.read_text().splitlines()[-1])["reason"] == "no room"


def test_what_a_killed_run_was_about_is_known_to_the_next(path: Path) -> None:
    killed(path, "CreateNodegroup", nodegroup="gpu")
    (intent,) = journal(path, "run-2").unsettled()
    assert (intent["effect"], intent["nodegroup"], intent["run"]) == ("CreateNodegroup", "gpu", "run-1")


def test_half_a_line_of_a_killed_run_hides_nothing_that_comes_after(path: Path) -> None:
    killed(path, "CreateCluster")
    with path.open("a") as file:
        file.write('{"id": "abc", "state": "inten')
    killed(path, "CreateNodegroup")
    assert names(journal(path)) == ["CreateCluster", "CreateNodegroup"]


def test_clearing_keeps_what_is_not_settled_and_removes_an_empty_file(path: Path) -> None:
    found = journal(path)
    with found.effect("CreateCluster", {}):
        pass
    killed(path, "CreateNodegroup")
    found.clear()
    assert names(found) == ["CreateNodegroup"]
    assert len(path.read_text().splitlines()) == 1
    path.unlink()
    with found.effect("CreateCluster", {}):
        pass
    found.clear()
    assert not path.exists()


def test_without_a_file_nothing_is_unsettled_and_clearing_is_fine(path: Path) -> None:
    found = journal(path)
    found.clear()
    assert found.unsettled() == ()


def test_nobody_else_may_read_it(path: Path) -> None:
    killed(path, "CreateCluster")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    journal(path).clear()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_threads_of_one_run_do_not_mix_their_lines(path: Path) -> None:
    found = journal(path)

    def work(number: int) -> None:
        for _ in range(20):
            with found.effect(f"Effect{number}", {"text": "x" * 500}):
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 4 * 20 * 2
    assert found.unsettled() == ()
