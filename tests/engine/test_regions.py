"""Fall-back from region to region: what was made is removed first, and the search comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.engine.attempts import Attempt, Attempts, RegionExhaustedError
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import RunResult, StageResult
from clusterctl.engine.regions import Rounds, deploy_somewhere
from clusterctl.errors import CapacityUnavailableError, LeftoversError
from clusterctl.model.failures import classify

NONE = classify("InsufficientInstanceCapacity", "none left")


@dataclass
class Regions:
    """Regions with or without room, in the order of trying. Only one cluster may stand at a time."""

    roomy: dict[str, bool]
    stubborn: frozenset[str] = frozenset()
    standing: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)

    def deploy(self, outputs: Outputs) -> RunResult:
        attempts = outputs[Attempts]
        failed = {one.region for one in attempts.tried}
        left = [region for region in self.roomy if region not in failed]
        region = left[0]
        assert self.standing == []
        self.standing.append(region)
        self.story.append(f"+{region}")
        if self.roomy[region]:
            return RunResult(outputs, (StageResult("nodegroup", "done", 5, (f"make {region}",)),), attempts)
        attempts = attempts.plus(Attempt(region, f"{region}a", "g6.12xlarge", "no-capacity", "none left", NONE))
        failure = (
            RegionExhaustedError("leave", region=region, onward=left[1])
            if len(left) > 1
            else CapacityUnavailableError("no place is left")
        )
        return RunResult(outputs, (StageResult("nodegroup", "failed", 5, (f"try {region}",)),), attempts, failure)

    def leave(self, exhausted: RegionExhaustedError) -> RunResult:
        self.story.append(f"-{exhausted.region}")
        if exhausted.region in self.stubborn:
            return RunResult(Outputs(), (), error=LeftoversError("cluster could not be removed"))
        self.standing.remove(exhausted.region)
        return RunResult(Outputs(), (StageResult("cluster", "done", 7, ("delete cluster",)),))

    def run(self) -> RunResult:
        return deploy_somewhere(Rounds(self.deploy, self.leave), Outputs())


def names() -> Iterator[str]:
    yield from ("us-east-2", "us-west-2", "eu-west-1", "ap-south-1")


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_regions_are_left_one_by_one_until_one_has_room(rooms: list[bool]) -> None:
    world = Regions(dict(zip(names(), rooms, strict=False)))
    result = world.run()
    tried = rooms.index(True) if True in rooms else len(rooms)
    assert [one.region for one in result.attempts.tried] == list(names())[:tried]
    assert (result.error is None) is any(rooms)
    assert len(world.standing) == 1
    assert world.story.count("-us-east-2") == (1 if len(rooms) > 1 and not rooms[0] else 0)


def test_a_region_that_cannot_be_left_clean_ends_the_run() -> None:
    world = Regions({"us-east-2": False, "us-west-2": True}, stubborn=frozenset({"us-east-2"}))
    result = world.run()
    assert isinstance(result.error, LeftoversError)
    assert world.story == ["+us-east-2", "-us-east-2"]


def test_what_all_rounds_did_is_told_under_one_name_for_each_stage() -> None:
    result = Regions({"us-east-2": False, "us-west-2": True}).run()
    told = {stage.name: (stage.status, stage.seconds, stage.actions) for stage in result.stages}
    assert told == {
        "nodegroup": ("done", 10, ("try us-east-2", "make us-west-2")),
        "cluster": ("done", 7, ("delete cluster",)),
    }


def test_a_round_that_learns_nothing_is_the_last() -> None:
    rounds: list[int] = []

    def deploy(outputs: Outputs) -> RunResult:
        rounds.append(1)
        error = RegionExhaustedError("leave", region="us-east-2", onward="us-west-2")
        return RunResult(outputs, (), outputs[Attempts], error)

    result = deploy_somewhere(Rounds(deploy, lambda _: RunResult(Outputs(), ())), Outputs())
    assert len(rounds) == 1
    assert isinstance(result.error, RegionExhaustedError)
