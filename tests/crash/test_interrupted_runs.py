"""Ctrl-C at any second: what is in flight is finished or undone, the exit code says so, and the next run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl.engine.undoing import undone_if_interrupted
from clusterctl.errors import InterruptedRunError, LeftoversError
from fakes import Recorder
from simrun import SimMachine, exit_code
from simworld import SimWorld

IN_TRANSITION = ("CREATING", "DELETING")


def machine(folder: Path, name: object) -> SimMachine:
    (folder / str(name)).mkdir()
    return SimMachine(SimWorld(), folder / str(name))


@pytest.fixture(scope="module")
def lasts(tmp_path_factory: pytest.TempPathFactory) -> int:
    undisturbed = machine(tmp_path_factory.mktemp("whole"), "run")
    assert undisturbed.deploy() is not None
    return int(undisturbed.world.seconds)


def in_flight(world: SimWorld) -> list[str]:
    now = world.seconds
    made = {**world.clusters, **{name: one for (_, name), one in world.groups.items()}}
    running = ["a child" for run in world.runs if run.running]
    return [*running, *(name for name, one in made.items() if one.status(now) in IN_TRANSITION)]


def test_an_interrupted_deployment_leaves_nothing_in_flight_and_the_next_one_goes_on(
    tmp_path: Path, lasts: int
) -> None:
    for second in range(5, lasts, 45):
        run = machine(tmp_path, second)
        run.world.stops_at = float(second)
        result = run.deploy()
        assert result is not None
        assert exit_code(result) == 130, f"in second {second}: {result.error}"
        assert in_flight(run.world) == [], f"in second {second}"
        assert run.world.held() == []
        run.world.reborn()
        again = run.deploy()
        assert again is not None
        assert exit_code(again) == 0, f"after second {second}: {again.error}"


def test_an_interrupted_teardown_finishes_what_it_has_begun_and_begins_nothing_more(tmp_path: Path, lasts: int) -> None:
    for second in range(10, 700, 60):
        run = machine(tmp_path, second)
        assert run.deploy(probe=False) is not None
        run.world.stops_at = run.world.seconds + second
        result = run.teardown()
        assert result is not None
        assert exit_code(result) in (0, 130)
        assert in_flight(run.world) == [], f"in second {second}"
        run.world.reborn()
        again = run.teardown()
        assert again is not None
        assert exit_code(again) == 0
        assert not any(run.world.snapshot().values())


def test_what_was_removed_again_is_said(tmp_path: Path) -> None:
    run = machine(tmp_path, "said")
    assert run.deploy() is not None
    run.world.remove_group("us-east-2", "gpu")
    run.world.sleep(3600)
    run.world.stops_at = run.world.seconds + 150
    result = run.deploy()
    assert result is not None
    assert isinstance(result.error, InterruptedRunError)
    assert "node group gpu was being made and is removed again" in result.error.message


def test_what_cannot_be_undone_outranks_the_interruption() -> None:
    def fail() -> None:
        raise LeftoversError("it stays")

    told = Recorder()
    with pytest.raises(LeftoversError), undone_if_interrupted("cluster training", fail, told.tell):
        raise InterruptedRunError("interrupted")
    assert told.words == ["interrupted: removing cluster training, which was being made"]


def test_other_failures_undo_nothing() -> None:
    undone: list[str] = []
    with pytest.raises(ValueError, match="failed"), undone_if_interrupted("x", lambda: undone.append("x"), print):
        raise ValueError("failed")
    assert undone == []
