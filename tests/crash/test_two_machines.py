"""Two machines on one cluster: what the other one has in flight is left alone and named, until it has settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl.errors import BusyError
from clusterctl.model.specs import SYSTEM_NODEGROUP
from simrun import SimMachine, exit_code
from simworld import SimWorld


def machines(folder: Path) -> tuple[SimMachine, SimMachine]:
    """Two machines of one account; each has files of its own."""
    world = SimWorld()
    for name in ("here", "there"):
        (folder / name).mkdir()
    return SimMachine(world, folder / "here"), SimMachine(world, folder / "there")


@pytest.mark.parametrize(("what", "begun"), [("cluster training", 300.0), ("node group gpu", 60.0)])
def test_what_another_machine_is_making_is_busy_with_its_run_and_goes_on_once_it_has_settled(
    tmp_path: Path, what: str, begun: float
) -> None:
    here, there = machines(tmp_path)
    world = here.world
    if what == "node group gpu":
        assert here.deploy(probe=False) is not None
        world.remove_group("us-east-2", "gpu")
        world.sleep(600)
    world.dies_at = world.seconds + begun
    assert here.deploy(probe=False) is None
    world.reborn(children_too=True)
    busy = there.deploy(probe=False)
    assert busy is not None
    assert isinstance(busy.error, BusyError)
    assert exit_code(busy) == 8
    assert f"{what} is being made since 2026-11-30" in busy.error.message
    assert "run here-" in busy.error.message
    assert "of ada" in busy.error.message
    world.sleep(3600)
    done = there.deploy(probe=False)
    assert done is not None
    assert exit_code(done) == 0, done.error
    assert sorted(name for _, name in world.groups) == ["gpu", SYSTEM_NODEGROUP]


def test_a_teardown_leaves_alone_what_another_machine_is_making(tmp_path: Path) -> None:
    here, there = machines(tmp_path)
    here.world.dies_at = 300.0
    assert here.deploy(probe=False) is None
    here.world.reborn()
    busy = there.teardown()
    assert busy is not None
    assert isinstance(busy.error, BusyError)
    assert here.world.clusters["us-east-2"].dying is None


def test_a_teardown_joins_the_one_of_another_machine(tmp_path: Path) -> None:
    here, there = machines(tmp_path)
    assert here.deploy(probe=False) is not None
    here.world.dies_at = here.world.seconds + 100
    assert here.teardown() is None
    here.world.reborn()
    joined = there.teardown()
    assert joined is not None
    assert exit_code(joined) == 0, joined.error
    assert not any(here.world.snapshot().values())


def test_a_deployment_waits_for_no_removal_of_another_machine(tmp_path: Path) -> None:
    here, there = machines(tmp_path)
    assert here.deploy(probe=False) is not None
    here.world.remove_group("us-east-2", "gpu")
    busy = there.deploy(probe=False)
    assert busy is not None
    assert isinstance(busy.error, BusyError)
    assert "node group gpu is being removed" in busy.error.message
