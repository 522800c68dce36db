"""The placement file on disk: whole or not there, ours alone, and refused when it is another account's."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from clusterctl.adapters.placement_file import PlacementFile, refuse_foreign
from clusterctl.errors import BusyError, UsageError
from clusterctl.model.placement import Placement

EXAMPLE = Placement(account_id="111122223333", region="us-east-2", cluster_name="training", gpu_node_count=2)


@pytest.fixture
def file(tmp_path: Path) -> PlacementFile:
    return PlacementFile(tmp_path / ".placement.env")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_saved_is_loaded_and_what_is_removed_is_not(file: PlacementFile) -> None:
    assert file.load() is None
    file.save(EXAMPLE)
    assert file.load() == EXAMPLE
    file.remove()
    assert file.load() is None
    assert list(file.path.parent.iterdir()) == []


def test_removing_twice_is_as_good_as_once(file: PlacementFile) -> None:
    file.save(EXAMPLE)
    file.remove()
    file.remove()
    assert not file.path.exists()


def test_nobody_else_may_read_it_whatever_the_umask(tmp_path: Path) -> None:
    file = PlacementFile(tmp_path / "new" / ".placement.env")
    before = os.umask(0)
    try:
        file.save(EXAMPLE)
    finally:
        os.umask(before)
    assert mode(file.path) == 0o600
    assert mode(file.path.parent) == 0o700
    assert {mode(one) for one in file.path.parent.iterdir()} == {0o600}


def test_a_file_that_cannot_be_written_stays_as_it_was(file: PlacementFile) -> None:
    file.save(EXAMPLE)
    with pytest.raises(UsageError):
        file.save(Placement(kubeconfig="a b"))
    assert file.load() == EXAMPLE
    assert not [one for one in file.path.parent.iterdir() if one.name.startswith("..placement")]


def test_a_reader_never_sees_half_a_file(file: PlacementFile) -> None:
    file.save(EXAMPLE)
    seen: set[Placement | None] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(file.load())

    reader = threading.Thread(target=read)
    reader.start()
    others = [Placement(region=f"us-east-{number}", run_id="x" * 5000) for number in range(20)]
    for one in others:
        file.save(one)
    done.set()
    reader.join(10)
    assert seen <= {EXAMPLE, *others}
    assert seen


def test_writers_wait_for_each_other_and_not_for_ever(file: PlacementFile) -> None:
    with FileLock(file.path.with_name(".placement.env.lock")), pytest.raises(BusyError, match="another run holds"):
        PlacementFile(file.path, patience_s=0.1).save(EXAMPLE)
    assert file.load() is None


def test_a_file_that_is_no_text_is_an_error_that_names_it(file: PlacementFile) -> None:
    file.path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"cannot read .*\.placement\.env"):
        file.load()


def test_a_folder_in_its_place_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        PlacementFile(tmp_path / "folder").load()
    with pytest.raises(UsageError, match="cannot write") as caught:
        PlacementFile(tmp_path / "folder").save(EXAMPLE)
    assert caught.value.hint == "--placement FILE"


@pytest.mark.parametrize("placement", [None, Placement(), EXAMPLE])
def test_a_file_of_this_account_or_of_none_is_taken(placement: Placement | None, tmp_path: Path) -> None:
    refuse_foreign(placement, "111122223333", tmp_path)
    if placement and placement.account_id:
        with pytest.raises(UsageError, match="belongs to account 111122223333, the credentials to 999"):
            refuse_foreign(placement, "999", tmp_path)
    assert tmp_path.exists()
