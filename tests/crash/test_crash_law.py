"""The law: killed at any moment, or with any answer lost, a run that is made again ends as an undisturbed one does.

The moments are those that an undisturbed run goes through: every side effect, every call that changes the world, and
the waiting in between. No list of them is kept by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pytest

from clusterctl.engine.actions import Action
from clusterctl.engine.effects import EFFECTS
from clusterctl.engine.pipeline import RunResult
from clusterctl.model.capacity import PROBE, TAG_PURPOSE
from clusterctl.model.cluster import TAG_CLUSTER, TAG_OWNER, TAG_RUN
from clusterctl.model.specs import SYSTEM_NODEGROUP
from simrun import SimMachine, exit_code, verified
from simworld import AFTER, BEFORE, CLUSTER_S, LOST, Made, SimWorld

TAGS = {TAG_CLUSTER: "training", TAG_OWNER: "ada", TAG_RUN: "run-0"}
WAIT_STEP_S = 75
ELSEWHERE = {  # actions that no situation here takes, and why
    "ApplyManifests": "jobs alone",
    "RunInPod": "jobs alone",
    "AwaitNodegroup": "only a run after a killed one",
    "LeaveRegion": "the next run holds to the region where a cluster stands: a law of its own below",
    "AwaitComponent": "operators that stand on others; changes nothing",
    "DeleteNamed": "clusterctl OPERATOR --destroy alone",
    "MoveExpiry": "clusterctl extend alone",
}
Run = Callable[[SimMachine], RunResult | None]


def deploy(machine: SimMachine) -> RunResult | None:
    return machine.deploy()


def deploy_unproved(machine: SimMachine) -> RunResult | None:
    return machine.deploy(probe=False)


def deploy_held(machine: SimMachine) -> RunResult | None:
    return machine.deploy(hold=True)


def teardown(machine: SimMachine) -> RunResult | None:
    return machine.teardown()


def nothing(machine: SimMachine) -> None:
    """An empty account."""


def dry_zone(machine: SimMachine) -> None:
    """The best zone has no instance, which only the launch will show."""
    machine.world.stock = {"us-east-2a": 0}


def dry_region(machine: SimMachine) -> None:
    """A whole region without an instance, which only launches will show; another one is allowed."""
    machine.world.stock = {f"us-east-2{letter}": 0 for letter in "abc"}
    machine.settings = machine.settings.model_copy(update={"regions": ("us-east-2", "us-west-2")})


def stray(machine: SimMachine) -> None:
    """A probe that an earlier run, on another machine, did not live to cancel."""
    tags = [{"Key": key, "Value": value} for key, value in {**TAGS, TAG_PURPOSE: PROBE}.items()]
    machine.world.reservations.append({
        "CapacityReservationId": "cr-stray", "AvailabilityZone": "us-east-2a", "AvailabilityZoneId": "use2-az1",
        "InstanceType": "g6.12xlarge", "TotalInstanceCount": 2, "AvailableInstanceCount": 2, "State": "active",
        "Tags": tags, "_token": "t", "_region": "us-east-2", "_seen": 0.0,
    })  # fmt: skip


def rolled_back(machine: SimMachine) -> None:
    """A cluster of yesterday that failed."""
    machine.world.clusters["us-east-2"] = Made("training", TAGS, -86_400, CLUSTER_S, fails=True)


def half_made(machine: SimMachine) -> None:
    """A control plane alone, with an add-on that failed."""
    machine.world.clusters["us-east-2"] = Made(
        "training", TAGS, -86_400, CLUSTER_S, addons={"coredns": "CREATE_FAILED"}
    )


def standing(machine: SimMachine) -> None:
    """A finished cluster with load balancers, Ray's objects, a stray reservation and what will outlive it."""
    assert machine.deploy(probe=False)
    stray(machine)
    machine.world.objects = {"services": 1, "rayclusters.ray.io": 1}
    machine.world.volumes = {"eni-left"}


SITUATIONS: dict[str, tuple[Callable[[SimMachine], None], Run]] = {
    "deploy": (nothing, deploy),
    "deploy, dry zone": (dry_zone, deploy_unproved),
    "deploy, stray": (stray, deploy),
    "deploy, rolled back": (rolled_back, deploy_unproved),
    "deploy, half made": (half_made, deploy_unproved),
    "deploy, held": (nothing, deploy_held),
    "teardown": (standing, teardown),
}


@dataclass(frozen=True)
class Undisturbed:
    """What a run ends with that nobody disturbs, what it did, and how long that took."""

    world: dict[str, Any]
    placed: dict[str, str]
    calls: tuple[str, ...]
    effects: tuple[str, ...]
    began: float
    ended: float


def machine_in(folder: str, situation: str) -> SimMachine:
    machine = SimMachine(SimWorld(), Path(folder))
    SITUATIONS[situation][0](machine)
    machine.world.calls.clear()
    machine.effects.clear()
    return machine


@cache
def undisturbed(situation: str) -> Undisturbed:
    with TemporaryDirectory() as folder:
        machine = machine_in(folder, situation)
        world, began = machine.world, machine.world.seconds
        calls, effects = world.calls, machine.effects
        assert_ended_well(machine, SITUATIONS[situation][1](machine))
        return Undisturbed(
            world.snapshot(), machine.placed(), tuple(calls), tuple(effects), began, world.seconds
        )  # fmt: skip


def moments(situation: str) -> Iterator[tuple[str, str]]:
    """Every call and effect of the undisturbed run that no situation before it has gone through, and each instant."""
    before = list(itertools.takewhile(lambda one: one != situation, SITUATIONS))
    known = {name for one in before for name in undisturbed(one).calls}
    for name in undisturbed(situation).calls:
        if name not in known:
            is_effect = name.rpartition(" #")[0] in EFFECTS
            yield from ((name, moment) for moment in ((BEFORE, AFTER) if is_effect else (BEFORE, AFTER, LOST)))


def assert_ended_well(machine: SimMachine, result: RunResult | None) -> None:
    assert result is not None
    if result.error is not None:
        raise result.error
    world = machine.world
    assert world.snapshot()["reservations"] == []
    assert world.most_groups <= 1
    assert not machine.journal.exists()
    assert verified(result) or not world.snapshot()["clusters"]


def assert_as_undisturbed(machine: SimMachine, situation: str) -> None:
    expected = undisturbed(situation)
    assert_ended_well(machine, SITUATIONS[situation][1](machine))
    assert machine.world.snapshot() == expected.world
    assert machine.placed() == expected.placed


@pytest.mark.parametrize("situation", SITUATIONS)
def test_killed_or_unheard_at_any_call_a_run_made_again_ends_as_an_undisturbed_one(
    situation: str, tmp_path: Path
) -> None:
    tried = 0
    for number, (name, moment) in enumerate(moments(situation)):
        folder = tmp_path / str(number)
        folder.mkdir()
        machine = machine_in(str(folder), situation)
        machine.world.disturb = (name, moment)
        SITUATIONS[situation][1](machine)
        machine.world.reborn()
        try:
            assert_as_undisturbed(machine, situation)
        except BaseException as problem:
            problem.add_note(f"{situation}: {moment} {name}, calls {machine.world.calls}")
            raise
        tried += 1
    assert tried >= 2


@pytest.mark.parametrize("machine_off", ["no", "yes"])
@pytest.mark.parametrize("situation", ["deploy", "deploy, dry zone", "teardown"])
def test_killed_while_it_waits_a_run_made_again_ends_as_an_undisturbed_one(
    situation: str, machine_off: str, tmp_path: Path
) -> None:
    whole = undisturbed(situation)
    for second in range(int(whole.began) + 5, int(whole.ended), WAIT_STEP_S):
        folder = tmp_path / str(second)
        folder.mkdir()
        machine = machine_in(str(folder), situation)
        machine.world.dies_at = float(second)
        SITUATIONS[situation][1](machine)
        assert machine.world.dead
        machine.world.reborn(children_too=machine_off == "yes")
        try:
            assert_as_undisturbed(machine, situation)
        except BaseException as problem:
            problem.add_note(f"{situation}: killed in second {second}, calls {machine.world.calls}")
            raise


def test_a_deployment_that_was_killed_can_be_torn_down_at_once(tmp_path: Path) -> None:
    whole = undisturbed("deploy")
    for second in range(5, int(whole.ended), 2 * WAIT_STEP_S):
        folder = tmp_path / str(second)
        folder.mkdir()
        machine = machine_in(str(folder), "deploy")
        machine.world.dies_at = float(second)
        machine.deploy()
        machine.world.reborn()
        assert_ended_well(machine, machine.teardown())
        assert not any(machine.world.snapshot().values()), f"killed in second {second}"
        assert machine.placed() == {}


def test_the_situations_go_through_every_action_that_a_run_can_take() -> None:
    done = {name for situation in SITUATIONS for name in undisturbed(situation).effects}
    assert {kind.__name__ for kind in get_args(Action)} - done <= set(ELSEWHERE)


def test_a_run_after_a_killed_one_waits_for_the_node_group_that_is_being_made(tmp_path: Path) -> None:
    machine = machine_in(str(tmp_path), "deploy")
    machine.world.disturb = ("eksctl create nodegroup #1", AFTER)
    machine.deploy()
    made = machine.world.groups["us-east-2", SYSTEM_NODEGROUP]
    machine.world.reborn(children_too=True)
    assert exit_code(machine.deploy()) == 0  # type: ignore[arg-type]
    assert machine.world.groups["us-east-2", SYSTEM_NODEGROUP] is made


def test_killed_on_the_way_to_another_region_a_run_made_again_goes_on_there_or_says_why_not(tmp_path: Path) -> None:
    """It holds to the region whose cluster stands; a teardown and a further run then end as if undisturbed."""
    for second in range(60, 3300, 240):
        folder = tmp_path / str(second)
        folder.mkdir()
        machine = SimMachine(SimWorld(), folder)
        dry_region(machine)
        machine.world.dies_at = float(second)
        assert machine.deploy(probe=False) is None
        machine.world.reborn()
        again = machine.deploy(probe=False)
        assert again is not None
        if exit_code(again) != 0:
            assert exit_code(again) == 3, again.error
            assert_ended_well(machine, machine.teardown())
            assert not any(machine.world.snapshot().values())
            again = machine.deploy(probe=False)
            assert again is not None
        assert exit_code(again) == 0, f"killed in second {second}: {again.error}"
        assert list(machine.world.snapshot()["clusters"]) == ["us-west-2"], f"killed in second {second}"
        assert machine.world.most_groups <= 1
