"""Launches of a node group: states come by the clock, eksctl is a run that lasts so many seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from clusterctl.engine.actions import AwaitNodegroup, CreateNodegroup
from clusterctl.engine.attempts import PlaceFailedError
from clusterctl.engine.launching import NodegroupLauncher
from clusterctl.errors import InterruptedRunError, ToolFailedError
from clusterctl.model.cluster import HealthIssue, NodegroupState
from clusterctl.model.failures import Cause, Remedy
from clusterctl.model.launch import Patience
from fakes import START, FakeClock, FakeEksctl, FakeRun, Recorder, TimedClusters, activity, group, no_capacity, no_quota

CREATE = CreateNodegroup("us-east-2", "training", "gpu", "us-east-2a", 2, "g6.12xlarge", "config")
AWAIT = AwaitNodegroup("us-east-2", "training", "gpu", "us-east-2a")
COMING = group("CREATING", "CREATE_IN_PROGRESS", desired=2)
STANDING = group("ACTIVE", "CREATE_COMPLETE", desired=2, instances=2)
NOT_JOINED = HealthIssue("NodeCreationFailure", "Instances failed to join the kubernetes cluster")


class Launch:
    """One launch in a world whose states come by the second."""

    def __init__(
        self, states: Mapping[float, NodegroupState], *, lasts_s: float = 0.0, code: int = 0, tail: str = "",
        clock: FakeClock | None = None,
    ) -> None:  # fmt: skip
        self.clock = clock or FakeClock()
        self.run = FakeRun(self.clock, lasts_s, code, tail)
        self.eksctl = FakeEksctl(self.run)
        self.told = Recorder()
        self._launcher = NodegroupLauncher(self.eksctl, TimedClusters(self.clock, states), self.clock)

    def create(self) -> None:
        self._launcher.create(CREATE, self.told.tell)

    def attach(self) -> None:
        self._launcher.attach(AWAIT, self.told.tell)

    def failure(self) -> PlaceFailedError:
        with pytest.raises(PlaceFailedError) as caught:
            self.create()
        return caught.value


def test_success_is_a_node_group_that_eks_calls_active() -> None:
    launch = Launch({0: group(), 60: COMING, 300: STANDING}, lasts_s=310)
    launch.create()
    assert launch.eksctl.calls == ["create nodegroup"]
    assert launch.run.stopped
    assert launch.told.words[0] == "CloudFormation: no stack yet"
    assert launch.told.words[-1] == "EKS: node group ACTIVE, 2 of 2 instances"


def test_an_eksctl_that_times_out_while_its_stack_goes_on_is_no_failure() -> None:
    launch = Launch({0: COMING, 1800: STANDING}, lasts_s=1500, code=1, tail="Error: exceeded max wait time")
    launch.create()
    assert launch.clock.slept_s >= 1800


def test_an_eksctl_that_never_ends_over_a_node_group_that_works_is_no_failure() -> None:
    launch = Launch({0: COMING, 300: STANDING}, lasts_s=1e9)
    launch.create()
    assert launch.run.stopped


def test_capacity_is_given_up_after_three_failed_activities_long_before_eksctl_would() -> None:
    failing = {20.0 * n: group("CREATING", "CREATE_IN_PROGRESS", desired=2,
                               activities=tuple(no_capacity(20.0 * one) for one in range(1, n + 1)))
               for n in range(1, 6)}  # fmt: skip
    launch = Launch({0: COMING, **failing}, lasts_s=1500)
    attempt = launch.failure().attempt
    assert attempt.outcome == "no-capacity"
    assert attempt.failure is not None
    assert (attempt.failure.remedy, attempt.failure.zones) == (Remedy.NEXT_ZONE, ("us-east-2b",))
    assert (attempt.region, attempt.zone, attempt.instance_type) == ("us-east-2", "us-east-2a", "g6.12xlarge")
    assert launch.clock.slept_s <= 75
    assert launch.run.stopped


def test_capacity_is_given_up_after_minutes_even_if_auto_scaling_tries_no_more() -> None:
    launch = Launch(
        {0: COMING, 60: group("CREATING", "CREATE_IN_PROGRESS", activities=(no_capacity(50),))}, lasts_s=1500
    )
    launch.failure()
    assert 140 <= launch.clock.slept_s <= 155  # 90 s after the first failure, at the next look


def test_a_short_lack_of_capacity_may_heal() -> None:
    healed = group("CREATING", "CREATE_IN_PROGRESS", desired=2, instances=2, activities=(no_capacity(50),))
    active = group("ACTIVE", "CREATE_COMPLETE", desired=2, instances=2, activities=(no_capacity(50),))
    failing = group("CREATING", "CREATE_IN_PROGRESS", desired=2, activities=(no_capacity(50),))
    launch = Launch({0: COMING, 60: failing, 120: healed, 600: active}, lasts_s=610)
    launch.create()
    assert launch.clock.slept_s >= 600


NO_RESERVATION = (
    "Could not launch On-Demand Instances. ReservationCapacityExceeded - The requested reservation does not have "
    "sufficient compatible and available capacity for this request."
)
NOT_HERE = (
    "Could not launch On-Demand Instances. InvalidFleetConfiguration - Your requested instance type (g6.12xlarge) "
    "is not supported in your requested Availability Zone (us-east-2a)."
)
UNSUPPORTED = "The requested configuration is currently not supported. Please check the documentation."


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (no_quota(50).message, Cause.QUOTA),
        (NO_RESERVATION, Cause.RESERVATION),
        (NOT_HERE, Cause.NOT_OFFERED),
        (UNSUPPORTED, Cause.CONFIGURATION),
    ],
)
def test_what_waiting_cannot_mend_is_given_up_at_once(message: str, cause: Cause) -> None:
    failing = group("CREATING", "CREATE_IN_PROGRESS", activities=(activity(50, message),))
    launch = Launch({0: COMING, 60: failing}, lasts_s=1500)
    failure = launch.failure().attempt.failure
    assert failure is not None
    assert failure.cause is cause
    assert launch.clock.slept_s == 60


def test_activities_of_an_earlier_node_group_are_not_this_ones() -> None:
    old = tuple(no_capacity(-60.0 * number) for number in range(1, 6))
    coming = group("CREATING", "CREATE_IN_PROGRESS", activities=old, desired=2)
    launch = Launch({0: coming, 300: STANDING}, lasts_s=310)
    launch.create()
    assert launch.clock.slept_s >= 300


def test_launch_failures_beat_the_joins_that_they_prevented() -> None:
    issues = (NOT_JOINED, HealthIssue("AsgInstanceLaunchFailures", no_capacity(0).message))
    launch = Launch({0: group("CREATE_FAILED", "ROLLBACK_COMPLETE", issues=issues)}, code=1)
    assert launch.failure().attempt.outcome == "no-capacity"


def test_nodes_that_start_and_do_not_join_are_a_failed_join() -> None:
    launch = Launch(
        {0: group("CREATE_FAILED", "ROLLBACK_COMPLETE", issues=(NOT_JOINED,))}, code=1, tail="Error: waiter"
    )
    error = launch.failure()
    assert error.attempt.outcome == "join"
    assert error.details == "Error: waiter"


def test_an_eksctl_that_exits_0_having_made_nothing_is_found_out() -> None:
    launch = Launch({0: group()}, code=0, tail="1 existing nodegroup(s) (gpu) will be excluded\nno tasks")
    with pytest.raises(ToolFailedError) as caught:
        launch.create()
    assert caught.value.message == "eksctl ended with 0 and made no node group gpu: no tasks"
    assert "existing nodegroup" in caught.value.output


def test_an_eksctl_that_says_nothing_and_makes_nothing_is_found_out_too() -> None:
    with pytest.raises(ToolFailedError, match="ended with 1 and made no node group gpu: it printed nothing"):
        Launch({0: group()}, code=1).create()


def test_a_node_group_that_never_comes_ends_within_the_patience() -> None:
    launch = Launch({0: COMING}, lasts_s=1e9)
    assert launch.failure().attempt.outcome == "unknown"
    assert launch.clock.slept_s <= Patience().limit_s
    assert launch.run.stopped


def test_eksctl_is_stopped_when_the_run_is_interrupted() -> None:
    launch = Launch({0: COMING}, lasts_s=1500, clock=FakeClock(interrupted_after_s=100))
    with pytest.raises(InterruptedRunError):
        launch.create()
    assert launch.run.stopped


def test_eksctl_is_stopped_when_aws_cannot_be_asked() -> None:
    launch = Launch({1e9: COMING}, lasts_s=1500)  # no state at all for now: the reader raises
    with pytest.raises(ValueError, match="empty"):
        launch.create()
    assert launch.run.stopped


def test_attaching_makes_nothing_and_ends_with_the_node_group() -> None:
    launch = Launch({0: COMING, 300: STANDING})
    launch.attach()
    assert launch.eksctl.calls == []
    assert launch.clock.slept_s >= 300


def test_attaching_counts_what_failed_since_the_node_group_was_made() -> None:
    failed = tuple(no_capacity(-100.0 + number) for number in range(3))
    made = START - timedelta(hours=1)
    launch = Launch({0: group("CREATING", "CREATE_IN_PROGRESS", created=made, activities=failed)})
    with pytest.raises(PlaceFailedError):
        launch.attach()
    assert launch.clock.slept_s == 0
