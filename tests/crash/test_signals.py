"""The real command: two at once, Ctrl-C once and twice. One sandbox for all of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterctl.adapters.journal_file import JournalFile
from fakes import FakeClock
from real_cli import DEPLOY, RealCli, real_cli

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCli]:
    slow_enough = "speed: 100"  # a node group takes seconds, so that a signal meets it on its way
    with real_cli(tmp_path_factory.mktemp("signals"), slow_enough) as running:
        yield running


def count(cli: RealCli, kind: str) -> int:
    return sum(kinds.get(kind, 0) for kinds in cli.world().values())


def is_launching(cli: RealCli, child: subprocess.Popen[str]) -> bool:
    """Whether the run is at its node group."""
    assert child.poll() is None, child.communicate()[1][-3000:]
    intents = JournalFile(cli.journal, FakeClock(), "a look").unsettled()
    return any((one["effect"], one.get("nodegroup")) == ("CreateNodegroup", "gpu") for one in intents)


def test_of_two_at_once_one_works_and_ctrl_c_undoes_what_it_has_in_flight(cli: RealCli) -> None:
    first = cli.start(*DEPLOY)
    locks = cli.state.path / "client" / "locks"
    cli.eventually(lambda: any(locks.glob("*.holder")))
    second = cli.run(*DEPLOY)
    assert second.code == 8
    assert f"clusterctl deploy-all (process {first.pid} on {os.uname().nodename}) since 20" in second.err
    assert second.document["error"]["exit_code"] == 8

    cli.eventually(lambda: is_launching(cli, first), 120)
    first.send_signal(signal.SIGINT)
    ended = cli.finish(first)
    assert ended.code == 130, ended.err[-3000:]
    assert "stopping: what is in flight is finished or undone" in ended.err
    assert "node group gpu was being made and is removed again" in ended.document["error"]["message"]
    assert (count(cli, "capacity_reservations"), count(cli, "clusters")) == (0, 1)
    assert [one for one in cli.calls("CreateStack") if one["error"]] == []


def test_ctrl_c_twice_leaves_at_once_and_the_next_run_sees_to_it(cli: RealCli) -> None:
    child = cli.start(*DEPLOY)
    cli.eventually(lambda: is_launching(cli, child), 120)
    child.send_signal(signal.SIGTERM)
    assert child.stderr is not None
    cli.eventually(lambda: "stopping" in child.stderr.readline())
    child.send_signal(signal.SIGINT)
    ended = cli.finish(child)
    assert (ended.code, ended.out) == (130, "")
    again = cli.run(*DEPLOY)
    assert again.code == 0, again.err[-3000:]
    assert again.document["verification"]["totals"]["gpus"] == 8
    assert not cli.journal.exists()


def test_ctrl_c_at_the_question_ends_it_with_nothing_made(cli: RealCli, tmp_path: Path) -> None:
    import pty

    leader, follower = pty.openpty()
    child = subprocess.Popen(
        [*cli.command(), "teardown", "--sandbox"], cwd=cli.folder, env=cli.environ(), text=True,
        stdin=follower, stdout=subprocess.PIPE, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(leader, 4096)
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    os.close(leader)
    assert count(cli, "clusters") == 1
