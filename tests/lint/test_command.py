"""The command: files and folders in, findings on stdout, the exit code. Nothing is faked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterctl.cli.main import main
from clusterctl.model.lint.rules import RULES

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["lint", *arguments, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_folder_of_bad_files_gives_exactly_their_findings(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = as_json(capsys, str(HERE / "bad"))
    expected = {
        (file.name, max((one.rule_id for one in RULES if file.name.startswith(one.rule_id)), key=len))
        for file in (HERE / "bad").iterdir()
    }
    assert code == 5
    assert (document["schema"], document["ok"], document["error"]["exit_code"]) == ("clusterctl/lint/v1", False, 5)
    assert {(Path(one["path"]).name, one["rule"]) for one in document["findings"]} == expected
    assert len(document["findings"]) == len(expected) == document["checked"]


@pytest.mark.parametrize(
    "folder", ["manifests", "scripts", "eksctl", "src/clusterctl", "tests/lint/good", "benchmarks"]
)
def test_nothing_that_is_shipped_is_found_fault_with(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["lint", str(ROOT / folder), str(HERE / "good"), "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["findings"] == []
    assert (code, document["ok"]) == (0, True)


def test_people_get_the_place_the_reason_and_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(HERE / "bad" / "mpi-processes.yaml")]) == 5
    out, err = capsys.readouterr()
    first, why, fix = out.splitlines()
    assert "bad/mpi-processes.yaml:18: error: -np 2" in first
    assert first.endswith("[mpi-processes]")
    assert why.strip().startswith("why: slots do not start")
    assert fix.strip().startswith("fix: -np = workers")
    assert "1 finding in 1 file" in err


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["nowhere.yaml"], "No such file"),
        (["notes.txt"], "cannot check"),
        (["empty"], "nothing to check"),
        (["picture.yaml"], "not text"),
    ],
)
def test_what_cannot_be_checked_is_an_error_and_no_pass(
    names: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / "empty").mkdir()
    code, document = as_json(capsys, *(str(tmp_path / one) for one in names))
    assert (code, document["ok"]) == (2, False)
    assert says in document["error"]["message"]


def test_a_file_named_twice_is_checked_once(capsys: pytest.CaptureFixture[str]) -> None:
    bad = HERE / "bad" / "mpijob-version.yaml"
    _, document = as_json(capsys, str(bad), str(bad), str(bad.parent / ".." / "bad" / bad.name))
    assert (document["checked"], len(document["findings"])) == (1, 1)


def test_folders_pass_over_what_is_hidden_or_a_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.sh").write_text("export NCCL_ALGO=Ring\n")
    (tmp_path / "pod.yaml").write_text("{{ if .x }}\nkind: Pod\n{{ end }}\n")
    (tmp_path / "ok.sh").write_text("true\n")
    code, document = as_json(capsys, str(tmp_path))
    assert (code, document["checked"]) == (0, 1)
    assert [Path(one["path"]).name for one in document["skipped"]] == ["pod.yaml"]
