"""A whole search for a place, by the real stage, launcher and remover, in a world where only sleep makes time pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.engine.launching import NodegroupLauncher
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline, RunResult
from clusterctl.engine.removal import Remover
from clusterctl.errors import CapacityUnavailableError, LeftoversError, QuotaTooSmallError
from clusterctl.model.capacity import Candidate, Question, Source, Verdict
from clusterctl.model.cluster import TAG_CLUSTER, ClusterState, NodegroupState, ScalingActivity, StackState
from clusterctl.model.decision import Asked, Decision
from clusterctl.model.failures import classify
from clusterctl.model.instances import InstanceType
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.stages.nodegroup import NodegroupStage
from fakes import (
    FakeAws,
    FakeClock,
    FakeEksctl,
    FakePlacements,
    FakeReservations,
    FakeRun,
    Leftovers,
    Recorder,
    ScriptedClusters,
    executor,
    group,
    no_capacity,
    no_quota,
)

ZONES = ("us-east-2a", "us-east-2b", "us-east-2c")
KIND = InstanceType("g6.12xlarge", 48, 196_608, gpus=4, gpu_name="L4", efa_interfaces=1)
SHOWS_S, FAILS_S, AGAIN_S, STANDS_S, GOES_S = 60.0, 90.0, (0.0, 60.0, 180.0), 240.0, 150.0
EKSCTL_S = 25 * 60.0


@dataclass
class Launched:
    """One node group that eksctl was asked for: where, when, and since when it is being deleted."""

    zone: str
    at: float
    deleted: float | None = None


@dataclass
class Zones(ScriptedClusters):
    """Zones that launch, lack capacity (dry) or quota (short); a stubborn one's node group cannot be deleted."""

    clock: FakeClock
    answers: Mapping[str, str]
    launched: list[Launched] = field(default_factory=list)

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        last = self.launched[-1] if self.launched else None
        if last is None or (last.deleted is not None and self._gone(last)):
            return group()
        tags = {TAG_CLUSTER: "training"}
        if last.deleted is not None:
            words = "DELETE_FAILED" if self.answers[last.zone] == "stubborn" else "DELETE_IN_PROGRESS"
            failure = classify("", "something holds on to it")
            return replace(group("DELETE_FAILED" if "FAILED" in words else "DELETING"),
                           stack=StackState("s", words, tags, failure=failure), tags=tags)  # fmt: skip
        return self._living(last, tags)

    def _gone(self, last: Launched) -> bool:
        since = self.clock.slept_s - (last.deleted or 0.0)
        return self.answers[last.zone] != "stubborn" and since >= GOES_S

    def _living(self, last: Launched, tags: dict[str, str]) -> NodegroupState:
        age = self.clock.slept_s - last.at
        if age < SHOWS_S:
            return group("", "CREATE_IN_PROGRESS") if age else group()
        if self.answers[last.zone] == "roomy" and age >= STANDS_S:
            return replace(group("ACTIVE", "CREATE_COMPLETE"), instance_type=KIND.name, zones=(last.zone,), desired=2,
                           instances=2, tags=tags)  # fmt: skip
        state = group("CREATING", "CREATE_IN_PROGRESS", zones=(last.zone,), desired=2, instance_type=KIND.name)
        return replace(state, tags=tags, activities=tuple(self._failures(last, age)))

    def _failures(self, last: Launched, age: float) -> list[ScalingActivity]:
        answer = self.answers[last.zone]
        if answer == "roomy":
            return []
        say = no_quota if answer == "short" else no_capacity
        return [say(last.at + FAILS_S + later) for later in AGAIN_S if age >= FAILS_S + later]


class Eksctl(FakeEksctl):
    """Begins node groups in a world of zones; by itself it would go on for 25 minutes."""

    def __init__(self, world: Zones) -> None:
        super().__init__(FakeRun(world.clock))
        self.world = world

    def create_nodegroup(self, config: str) -> FakeRun:
        (made,) = yaml.safe_load(config)["managedNodeGroups"]
        zone = f"us-east-2{made['subnets'][0][-1]}"
        self.world.launched.append(Launched(zone, self.world.clock.slept_s))
        roomy = self.world.answers[zone] == "roomy"
        return FakeRun(self.world.clock, STANDS_S if roomy else EKSCTL_S)


class Aws(FakeAws):
    """Deletes the stack of the node group that was launched last."""

    def __init__(self, world: Zones) -> None:
        super().__init__()
        self.world = world

    def delete_stack(self, region: str, stack: str) -> None:
        last = self.world.launched[-1]
        last.deleted = last.deleted if last.deleted is not None else self.world.clock.slept_s


def search(answers: Mapping[str, str]) -> tuple[RunResult, Zones]:
    clock = FakeClock()
    world = Zones(clock, answers)
    aws, eksctl = Aws(world), Eksctl(world)
    hands = executor(
        launcher=NodegroupLauncher(eksctl, world, clock),
        remover=Remover(eksctl, world, aws, clock, Leftovers()),
        placement=FakePlacements(),
    )
    stage = NodegroupStage(world, FakeReservations())
    return Pipeline((stage,), hands, clock, Recorder()).apply(inputs()), world


def inputs() -> Outputs:
    places = tuple(
        Candidate(
            region="us-east-2", zone=zone, zone_id=f"use2-az{zone[-1]}", instance_type=KIND.name, nodes=2, offered=True,
            quota=None, needed_vcpus=96, spot_score=None, subnet="yes", source=Source.PROBE, verdict=Verdict.AVAILABLE,
            reason="", hourly_usd=4.6, subnet_id=f"subnet-{zone[-1]}",
        )
        for zone in ZONES
    )  # fmt: skip
    cluster = ClusterState(
        "us-east-2", "training", "ACTIVE", private_subnets={one.zone: one.subnet_id for one in places}
    )
    question = Question((KIND.name,), 2, ("us-east-2",), cluster="training")
    bag = Outputs().with_value(Settings()).with_value(Asked(question, "gpu")).with_value(cluster)
    run = RunContext("run-1", "111122223333", "ada", "training")
    return bag.with_value(run).with_value(Decision(places, {KIND.name: KIND}))


def test_from_the_first_failed_activity_to_the_next_attempt_it_takes_five_minutes_at_most() -> None:
    result, world = search({"us-east-2a": "dry", "us-east-2b": "roomy", "us-east-2c": "roomy"})
    assert result.error is None
    first, second = world.launched
    assert second.at - (first.at + FAILS_S) <= 300
    assert second.at - first.at < EKSCTL_S / 3


ANSWERS = st.fixed_dictionaries({zone: st.sampled_from(["dry", "roomy", "short", "stubborn"]) for zone in ZONES})


@settings(max_examples=60, deadline=None)
@given(ANSWERS)
def test_whatever_the_zones_answer_at_most_one_node_group_stands_and_the_verdict_is_true(
    answers: dict[str, str],
) -> None:
    result, world = search(answers)
    tried = [one.zone for one in world.launched]
    assert len(tried) == len(set(tried))
    for earlier, later in zip(world.launched, world.launched[1:], strict=False):
        assert earlier.deleted is not None
        assert later.at >= earlier.deleted + GOES_S
    match answers[tried[-1]]:
        case "roomy":
            assert result.error is None
        case "short":
            assert isinstance(result.error, QuotaTooSmallError)
        case "stubborn":
            assert isinstance(result.error, LeftoversError)
        case _:
            assert isinstance(result.error, CapacityUnavailableError)
            assert sorted(tried) == list(ZONES)
    assert [one.zone for one in result.attempts.tried] == [zone for zone in tried if answers[zone] != "roomy"]


@pytest.mark.parametrize("zone", ZONES)
def test_a_quota_ends_the_search_wherever_it_shows(zone: str) -> None:
    answers = {one: "short" if one == zone else "dry" for one in ZONES}
    result, world = search(answers)
    assert isinstance(result.error, QuotaTooSmallError)
    assert sum(answers[one.zone] == "short" for one in world.launched) == 1
