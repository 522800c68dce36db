"""When a launch is given up, and which of many failures is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.errors import (
    AccessError,
    CapacityUnavailableError,
    ClusterctlError,
    QuotaTooSmallError,
    StageIncompleteError,
)
from clusterctl.model.cluster import HealthIssue, ScalingActivity
from clusterctl.model.failures import Cause, classify
from clusterctl.model.launch import Patience, final_cause, give_up, launch_error
from fakes import START, activity, group, no_capacity, no_quota

THROTTLED = activity(5, "Could not launch On-Demand Instances. RequestLimitExceeded - Request limit exceeded.")
SUCCESS = activity(5, "Launching a new EC2 instance", "Successful")
ACTIVITIES = st.lists(st.sampled_from([no_capacity(10), no_capacity(70), THROTTLED, SUCCESS]), max_size=6)


def at(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


@given(ACTIVITIES, st.floats(0, 3600))
def test_a_node_group_that_works_is_never_given_up(activities: list[ScalingActivity], later: float) -> None:
    state = group("ACTIVE", "CREATE_COMPLETE", desired=2, instances=2, activities=tuple(activities))
    assert give_up(state, START, START + at(later), Patience()) is None


@given(ACTIVITIES, st.floats(0, 3600))
def test_only_a_lack_of_capacity_is_called_one(activities: list[ScalingActivity], later: float) -> None:
    found = give_up(group("CREATING", activities=tuple(activities)), START, START + at(later), Patience())
    lacking = [one for one in activities if "InsufficientInstanceCapacity" in one.message]
    assert found is None or (found.cause is Cause.CAPACITY and bool(lacking))


@pytest.mark.parametrize(("count", "given_up"), [(1, False), (2, False), (3, True), (9, True)])
def test_the_number_of_failed_activities_decides(count: int, *, given_up: bool) -> None:
    state = group("CREATING", activities=tuple(no_capacity(10 + number) for number in range(count)))
    assert bool(give_up(state, START, START + at(30), Patience())) is given_up


@pytest.mark.parametrize(("seconds", "given_up"), [(60, False), (99, False), (100, True)])
def test_so_does_the_time_since_the_first_of_them(seconds: float, *, given_up: bool) -> None:
    state = group("CREATING", activities=(no_capacity(10),))
    assert bool(give_up(state, START, START + at(seconds), Patience())) is given_up


def test_quota_is_given_up_at_once_however_little_has_failed() -> None:
    found = give_up(group("CREATING", activities=(no_quota(10),)), START, START + at(11), Patience())
    assert found is not None
    assert found.cause is Cause.QUOTA


@pytest.mark.parametrize("message", ["Request limit exceeded", "something nobody has seen before", "Rate exceeded"])
def test_what_is_unknown_or_passes_is_waited_for(message: str) -> None:
    state = group("CREATING", activities=tuple(activity(number, message) for number in range(9)))
    assert give_up(state, START, START + at(3000), Patience()) is None


def test_the_final_cause_is_the_earliest_that_lasts() -> None:
    state = group("CREATE_FAILED", activities=(no_capacity(60), THROTTLED))
    assert final_cause(state, START).cause is Cause.CAPACITY


def test_throttling_is_the_cause_where_nothing_else_is_known() -> None:
    assert final_cause(group("CREATE_FAILED", activities=(THROTTLED,)), START).cause is Cause.THROTTLED


def test_the_stacks_own_failure_is_used_where_eks_has_forgotten() -> None:
    state = group("", "ROLLBACK_COMPLETE")
    failure = classify("", "Nodegroup gpu failed to stabilize: [{Code: AsgInstanceLaunchFailures,Message: Could not "
                           "launch On-Demand Instances. VcpuLimitExceeded - You have requested more}]")  # fmt: skip
    found = final_cause(replace(state, stack=replace(state.stack, failure=failure)), START)
    assert found.cause is Cause.QUOTA


def test_without_any_word_the_states_are_the_reason() -> None:
    found = final_cause(group("CREATE_FAILED", "ROLLBACK_COMPLETE"), START)
    assert found.cause is Cause.UNKNOWN
    assert found.message == "node group is CREATE_FAILED, stack is ROLLBACK_COMPLETE"


def test_an_issue_without_launch_failures_keeps_its_own_code() -> None:
    issue = HealthIssue("Ec2LaunchTemplateNotFound", "the launch template is gone")
    assert final_cause(group("CREATE_FAILED", issues=(issue,)), START).cause is Cause.CONFIGURATION


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("InsufficientInstanceCapacity", CapacityUnavailableError),
        ("ReservationCapacityExceeded", CapacityUnavailableError),
        ("VcpuLimitExceeded", QuotaTooSmallError),
        ("UnauthorizedOperation", AccessError),
        ("PendingVerification", AccessError),
        ("NodeCreationFailure", StageIncompleteError),
        ("NeverSeenBefore", StageIncompleteError),
    ],
)
def test_the_exit_code_follows_the_cause(code: str, error: type[ClusterctlError]) -> None:
    assert type(launch_error(classify(code), "message")) is error
