"""The end of a cluster moves later, on all that says it; marks and the placement file are the test's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from clusterctl.engine.actions import Action, MoveExpiry, RememberPlacement
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline
from clusterctl.errors import UsageError
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_RUN
from clusterctl.model.estate import Estate, Marked, MarkedKind, Sweep
from clusterctl.model.placement import Placement
from clusterctl.model.target import Target
from clusterctl.stages.extend import ExtendStage
from fakes import FakeAws, FakeClock, FakePlacements, Recorder, executor

TARGET = Outputs().with_value(Target("us-east-2", "training", "gpu"))
SOON, LATE = "2026-11-30T13:00:00+00:00", "2026-12-01T12:00:00+00:00"
FOUR_HOURS = "2026-11-30T16:00:00+00:00"


@dataclass
class Marks:
    """What AWS says of the cluster, kept up to date by what the writer was told."""

    expires: str = SOON
    stands: bool = True

    def sweep(self, regions: Sequence[str]) -> Sweep:
        return Sweep((self.estate("us-east-2", "training"),))

    def estate(self, region: str, cluster: str) -> Estate:
        tags = {TAG_RUN: "r", TAG_CLUSTER: cluster} | ({TAG_EXPIRES: self.expires} if self.expires else {})
        things = [Marked(kind, kind.value, tags) for kind in MarkedKind] if self.stands else []
        return Estate(region, cluster, tuple(things))


class Tagger(FakeAws):
    """Writes where `marks` reads."""

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self.marks = marks

    def tag(self, region: str, resources: Sequence[str], tags: dict[str, str]) -> None:
        self.calls.append(f"tag {sorted(resources)}")
        self.marks.expires = tags[TAG_EXPIRES]


def planned(marks: Marks, placement: Placement | None = None, hours: float = 4, seconds: float = 0) -> list[Action]:
    clock = FakeClock()
    clock.slept_s = seconds
    stage = ExtendStage(marks, FakePlacements(placement), clock.now(), timedelta(hours=hours))
    (plan,) = Pipeline((stage,), executor(), clock, Recorder()).preview(TARGET).plans
    return list(plan.plan)


def test_everything_but_stacks_gets_the_new_end() -> None:
    (action,) = planned(Marks())
    assert isinstance(action, MoveExpiry)
    assert action.expires_at == FOUR_HOURS
    assert set(action.resources) == {kind.value for kind in MarkedKind if kind is not MarkedKind.STACK}


def test_an_end_that_is_later_already_stays() -> None:
    assert planned(Marks(LATE)) == []


def test_a_cluster_without_an_end_gets_one() -> None:
    (action,) = planned(Marks(""))
    assert isinstance(action, MoveExpiry)


def test_the_placement_file_of_this_cluster_moves_with_it() -> None:
    kept = Placement(region="us-east-2", cluster_name="training", expires_at=SOON)
    remember = planned(Marks(), kept)[-1]
    assert remember == RememberPlacement(replace(kept, expires_at=FOUR_HOURS))


@pytest.mark.parametrize("facts", [{"cluster_name": "other"}, {"region": "us-west-2"}])
def test_the_placement_file_of_another_cluster_is_left_alone(facts: dict[str, str]) -> None:
    kept = replace(Placement(region="us-east-2", cluster_name="training"), **facts)  # type: ignore[arg-type]
    assert [type(one) for one in planned(Marks(), kept)] == [MoveExpiry]


def test_a_second_call_within_the_minute_finds_nothing_to_do() -> None:
    marks = Marks()
    clock, aws = FakeClock(), Tagger(marks)
    clock.slept_s = 5
    for _ in range(2):
        stage = ExtendStage(marks, FakePlacements(), clock.now(), timedelta(hours=4))
        assert Pipeline((stage,), executor(aws=aws), clock, Recorder()).apply(TARGET).error is None
        clock.slept_s = 55
    assert len(aws.calls) == 1


def test_what_does_not_stand_cannot_be_extended() -> None:
    with pytest.raises(UsageError, match="nothing that clusterctl made stands as training in us-east-2"):
        planned(Marks(stands=False))
