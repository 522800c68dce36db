"""A folder of rendered files: ours is kept true, somebody else's is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusterctl.adapters.rendered_folder import MARKER, RenderedFolder
from clusterctl.errors import UsageError

FILES = {"eksctl/cluster.yaml": "a: 1\n", "values/nvidia.yaml": "b: 2\n"}


def held(folder: Path) -> dict[str, str]:
    """Every file but the marker, by path."""
    found = [one for one in folder.rglob("*") if one.is_file() and one.name != MARKER]
    return {one.relative_to(folder).as_posix(): one.read_text() for one in found}


def test_a_new_folder_holds_the_files_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    folder = RenderedFolder(tmp_path / "new" / "gpu")
    assert folder.write(FILES) == dict.fromkeys(FILES, "written")
    marker = (folder.folder / MARKER).read_bytes()
    assert held(folder.folder) == FILES
    assert folder.write(FILES) == dict.fromkeys(FILES, "unchanged")
    assert (folder.folder / MARKER).read_bytes() == marker


def test_what_is_no_longer_rendered_goes_and_what_others_put_there_stays(tmp_path: Path) -> None:
    folder = RenderedFolder(tmp_path)
    folder.write(FILES)
    (tmp_path / "README.md").write_text("ours")
    done = folder.write({"eksctl/cluster.yaml": "a: 2\n"})
    assert done == {"eksctl/cluster.yaml": "written", "values/nvidia.yaml": "removed"}
    assert held(tmp_path) == {"eksctl/cluster.yaml": "a: 2\n", "README.md": "ours"}
    assert not (tmp_path / "values").exists()


def test_a_folder_of_somebody_else_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("theirs")
    with pytest.raises(UsageError, match=r"main\.tf") as refusal:
        RenderedFolder(tmp_path).write(FILES)
    assert refusal.value.hint
    assert held(tmp_path) == {"main.tf": "theirs"}


def test_a_file_of_somebody_else_in_our_place_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    folder = RenderedFolder(tmp_path)
    folder.write({"eksctl/cluster.yaml": "a: 1\n"})
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "nvidia.yaml").write_text("theirs")
    with pytest.raises(UsageError, match=r"nvidia\.yaml is there already"):
        folder.write({"eksctl/cluster.yaml": "a: 2\n", "values/nvidia.yaml": "b: 2\n"})
    assert held(tmp_path) == {"eksctl/cluster.yaml": "a: 1\n", "values/nvidia.yaml": "theirs"}


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "gpu", tmp_path / "outside"
    outside.mkdir()
    RenderedFolder(folder).write({"eksctl/cluster.yaml": "a: 1\n"})
    (folder / "values").symlink_to(outside)
    with pytest.raises(UsageError, match="leads out"):
        RenderedFolder(folder).write(FILES)
    assert held(outside) == {}


@pytest.mark.parametrize("listed", ["../theirs", "/etc/passwd", 7, None])
def test_a_marker_that_lists_what_is_not_below_it_is_not_believed(listed: object, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("kept")
    folder = tmp_path / "gpu"
    RenderedFolder(folder).write(FILES)
    marker = json.loads((folder / MARKER).read_text())
    (folder / MARKER).write_text(json.dumps({**marker, "files": [listed]}))
    with pytest.raises(UsageError, match="not as clusterctl writes it"):
        RenderedFolder(folder).write({})
    assert theirs.read_text() == "kept"


def test_what_a_killed_run_has_written_is_taken_for_ours(tmp_path: Path) -> None:
    folder = RenderedFolder(tmp_path)
    (tmp_path / "values").write_text("in the way of a folder")
    (tmp_path / MARKER).write_text(json.dumps({"schema": "clusterctl/rendered-folder/v1", "files": []}))
    with pytest.raises(UsageError, match="cannot write"):
        folder.write(FILES)
    assert held(tmp_path)["eksctl/cluster.yaml"] == "a: 1\n"
    (tmp_path / "values").unlink()
    assert folder.write(FILES) == {"eksctl/cluster.yaml": "unchanged", "values/nvidia.yaml": "written"}


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gpu").write_text("")
    with pytest.raises(UsageError, match="no folder"):
        RenderedFolder(tmp_path / "gpu").write(FILES)
