"""Children are real executables in a folder of the test's own: scripts that say what they got."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterctl.adapters.process import Tool, ToolKind, child_environment
from clusterctl.errors import InterruptedRunError, ToolFailedError, ToolMissingError

KIND = ToolKind("sometool", (1, 2, 0), ("version",), "get it from example.com")
SAYS_VERSION = '[ "$1" = version ] && echo v1.2.3 && exit 0\n'

Install = Callable[[str], Tool]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    def make(script: str) -> Tool:
        write_program(tmp_path / "sometool", SAYS_VERSION + script)
        return Tool(KIND, {"PATH": os.environ["PATH"]}, [tmp_path])

    return make


def write_program(path: Path, script: str) -> None:
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def eventually(holds: Callable[[], bool], within_s: float = 5) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end and not holds():
        time.sleep(0.02)
    return holds()


def test_stdin_reaches_the_program_and_stdout_comes_back_alone(install: Install) -> None:
    tool = install("echo noise >&2; cat")
    big = "line of text\n" * 50_000
    assert tool.run([], stdin=big, timeout_s=20) == big


def test_a_program_that_reads_stdin_sees_its_end_when_there_is_none(install: Install) -> None:
    assert install("cat; echo over").run([], timeout_s=5) == "over\n"


def test_no_program_gets_a_terminal(install: Install) -> None:
    assert install("test -t 0 || test -t 1 || test -t 2 || echo plain").run([], timeout_s=5) == "plain\n"


def test_children_see_only_the_environment_they_are_given(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    said = install("env").run([], environ={"EXTRA": "1"}, timeout_s=5)
    assert "EXTRA=1" in said
    assert "SECRET_OF_OURS" not in said


def test_the_environment_for_children_keeps_aws_and_drops_kubeconfig() -> None:
    ours = {"AWS_PROFILE": "p", "PATH": "/bin", "KUBECONFIG": "/k", "https_proxy": "p", "PYTHONPATH": "/x"}
    assert set(child_environment(ours)) == {"AWS_PROFILE", "PATH", "https_proxy"}


def test_a_failure_carries_everything_the_program_said(install: Install) -> None:
    tool = install("for i in $(seq 1 60); do echo problem number $i of many >&2; done; exit 3")
    with pytest.raises(ToolFailedError, match="sometool do it failed: problem number 60") as caught:
        tool.run(["do", "it", "now"], timeout_s=5)
    assert "problem number 1 of many" in caught.value.output


def test_a_program_that_hangs_is_ended_with_its_children(install: Install, tmp_path: Path) -> None:
    tool = install(f"sleep 60 & echo $! > {tmp_path}/pid; echo waiting; wait")
    assert tool.version
    with pytest.raises(ToolFailedError, match="took longer") as caught:
        tool.run([], timeout_s=0.5)
    assert "waiting" in caught.value.output
    grandchild = int((tmp_path / "pid").read_text())
    assert eventually(lambda: not alive(grandchild))


def test_stop_ends_children_that_ignore_sigterm(install: Install, tmp_path: Path) -> None:
    stubborn = tmp_path / "stubborn"
    write_program(stubborn, f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done")
    run = install(f"{stubborn} & wait").start([], timeout_s=60)
    assert eventually((tmp_path / "pid").exists)
    grandchild = int((tmp_path / "pid").read_text())
    run.stop()
    assert not run.running
    assert run.exit_code != 0
    assert eventually(lambda: not alive(grandchild))


def test_a_started_run_shows_the_end_of_its_output_while_it_works(install: Install) -> None:
    run = install("seq 1 5000; echo latest; sleep 30").start([], timeout_s=60)
    try:
        assert eventually(lambda: run.tail.endswith("latest\n"))
        assert len(run.tail) <= 8192
        assert run.running
        assert run.exit_code is None
    finally:
        run.stop()


def test_a_started_run_is_stopped_at_its_own_limit(install: Install) -> None:
    run = install("sleep 30").start(["create"], timeout_s=0.2)
    assert eventually(lambda: not run.running)
    assert "sometool create took longer" in run.tail


def test_a_grandchild_that_keeps_the_output_open_holds_nobody_up(install: Install) -> None:
    tool = install("sleep 3 & echo done")
    begin = time.monotonic()
    assert tool.run([], timeout_s=20) == "done\n"
    assert time.monotonic() - begin < 2


def test_a_run_ends_soon_after_we_are_asked_to_stop(tmp_path: Path) -> None:
    write_program(tmp_path / "sometool", SAYS_VERSION + "sleep 60")
    asked: list[bool] = []
    tool = Tool(KIND, {"PATH": os.environ["PATH"]}, [tmp_path], lambda: bool(asked))
    assert tool.checked_path
    asked.append(True)
    with pytest.raises(InterruptedRunError, match="sometool"):
        tool.run([], timeout_s=60)


def test_a_missing_tool_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError, match="sometool is not installed") as caught:
        Tool(KIND, {"PATH": str(tmp_path)}).run([], timeout_s=5)
    assert caught.value.hint == "get it from example.com"
    assert caught.value.exit_code == 7


@pytest.mark.parametrize("version", ["1.1.9", "0.230.0"])
def test_a_tool_that_is_too_old_is_refused_before_it_does_anything(tmp_path: Path, version: str) -> None:
    write_program(tmp_path / "sometool", f"echo {version}; [ $1 = version ] || touch {tmp_path}/acted")
    with pytest.raises(ToolMissingError, match=rf"is {version}, clusterctl needs 1\.2\.0"):
        Tool(KIND, {"PATH": "/usr/bin:/bin"}, [tmp_path]).run(["go"], timeout_s=5)
    assert not (tmp_path / "acted").exists()


def test_the_version_is_asked_only_once(tmp_path: Path) -> None:
    write_program(tmp_path / "sometool", f"echo x >> {tmp_path}/asked; echo v4.3.1+g123")
    tool = Tool(KIND, {"PATH": "/usr/bin:/bin"}, [tmp_path])
    tool.run(["a"], timeout_s=5)
    tool.run(["b"], timeout_s=5)
    assert tool.version == (4, 3, 1)
    assert (tmp_path / "asked").read_text().count("x") == 3


def test_given_folders_come_before_path(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        write_program(tmp_path / folder / "sometool", "echo 1.2.3")
    tool = Tool(KIND, {"PATH": str(tmp_path / "second")}, [tmp_path / "first"])
    assert tool.path == str(tmp_path / "first" / "sometool")


def test_a_file_that_cannot_be_executed_is_a_missing_tool(tmp_path: Path) -> None:
    (tmp_path / "sometool").write_text("#!/no/such/interpreter\n")
    (tmp_path / "sometool").chmod(0o755)
    with pytest.raises(ToolMissingError, match="cannot be started"):
        Tool(KIND, {"PATH": ""}, [tmp_path]).run([], timeout_s=5)
