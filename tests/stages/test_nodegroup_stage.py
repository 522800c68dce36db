"""The GPU node group's plan for every state of EKS and CloudFormation, and the order in which places are tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from clusterctl.engine.actions import (
    AwaitNodegroup,
    CancelReservation,
    CreateNodegroup,
    DeleteNodegroup,
    LeaveRegion,
    ProveAgain,
    RememberPlacement,
)
from clusterctl.engine.attempts import Attempt, Attempts
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import (
    CapacityUnavailableError,
    QuotaTooSmallError,
    StageIncompleteError,
    UsageError,
)
from clusterctl.model.capacity import TAG_PURPOSE, Candidate, Question, Reservation, Source, Verdict
from clusterctl.model.cluster import (
    TAG_CLUSTER,
    TAG_HOLD,
    TAG_RUN,
    ClusterState,
    HealthIssue,
    NodegroupState,
    StackState,
)
from clusterctl.model.decision import Asked, Decision
from clusterctl.model.failures import classify
from clusterctl.model.instances import InstanceType
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.stages.nodegroup import NodegroupStage
from fakes import FakeReservations, ScriptedClusters, activity, group, no_capacity

OURS = {TAG_CLUSTER: "training"}
KIND = InstanceType("g6.12xlarge", 48, 196_608, gpus=4, gpu_name="L4", efa_interfaces=1)
ZONES = ("us-east-2a", "us-east-2b", "us-east-2c")
STAGE = NodegroupStage(ScriptedClusters(), FakeReservations())


def place(zone: str, **facts: Any) -> Candidate:
    plain = Candidate(
        region="us-east-2", zone=zone, zone_id=f"use2-az{zone[-1]}", instance_type="g6.12xlarge", nodes=2,
        offered=True, quota=None, needed_vcpus=96, spot_score=None, subnet="yes", source=Source.PROBE,
        verdict=Verdict.AVAILABLE, reason="", hourly_usd=4.6, subnet_id=f"subnet-{zone[-1]}",
    )  # fmt: skip
    return replace(plain, **facts)


def inputs(
    *places: Candidate,
    attempts: Attempts | None = None,
    probe: bool = False,
    made_by: str = "run-0",
    **settings: object,
) -> Outputs:
    decision = Decision(places or tuple(place(zone) for zone in ZONES), {KIND.name: KIND})
    question = Question(("g6.12xlarge",), 2, ("us-east-2",), cluster="training")
    cluster = ClusterState(
        "us-east-2", "training", "ACTIVE", private_subnets={zone: f"subnet-{zone[-1]}" for zone in ZONES},
        tags={TAG_RUN: made_by},
    )  # fmt: skip
    bag = Outputs().with_value(Settings.model_validate(settings)).with_value(Asked(question, "gpu", probe))
    bag = bag.with_value(RunContext("run-1", "111122223333", "ada", "training")).with_value(decision)
    return bag.with_value(cluster).with_value(attempts or Attempts())


def tried(*zones: str, code: str = "InsufficientInstanceCapacity", message: str = "none left") -> Attempts:
    failure = classify(code, message)
    return Attempts(
        tuple(Attempt("us-east-2", zone, "g6.12xlarge", failure.cause.value, message, failure) for zone in zones)
    )


def ours(status: str = "", stack: str = "", **facts: Any) -> NodegroupState:
    state = group(status, stack, **facts)
    return replace(state, stack=replace(state.stack, tags=OURS if stack else {}), tags=OURS if status else {})


def standing(**facts: Any) -> NodegroupState:
    plain: dict[str, Any] = {
        "instance_type": "g6.12xlarge", "zones": ("us-east-2a",), "desired": 2, "instances": 2,
    }  # fmt: skip
    return ours("ACTIVE", "CREATE_COMPLETE", **{**plain, **facts})


def kinds(state: NodegroupState, given: Outputs | None = None) -> list[type]:
    return [type(action) for action in STAGE.plan(given or inputs(), state)]


def zone_of(plan: tuple[object, ...]) -> str:
    return next(action.zone for action in plan if isinstance(action, CreateNodegroup))


CREATE = [RememberPlacement, CreateNodegroup]
REPLACE = [DeleteNodegroup, *CREATE]
TABLE = [  # CloudFormation's status of a stack whose node group EKS does not show, and what has to be done
    ("", CREATE),
    ("DELETE_COMPLETE", CREATE),
    ("CREATE_IN_PROGRESS", [AwaitNodegroup]),
    ("ROLLBACK_IN_PROGRESS", []),
    ("DELETE_IN_PROGRESS", []),
    ("CREATE_FAILED", REPLACE),
    ("ROLLBACK_COMPLETE", REPLACE),
    ("ROLLBACK_FAILED", REPLACE),
    ("DELETE_FAILED", REPLACE),
    ("CREATE_COMPLETE", REPLACE),  # somebody deleted what it made
]


@pytest.mark.parametrize(("stack", "expected"), TABLE)
def test_every_row_of_the_stack_state_table_has_its_plan(stack: str, expected: list[type]) -> None:
    assert kinds(ours("", stack)) == expected


@pytest.mark.parametrize("stack", ["CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", ""])
@pytest.mark.parametrize("status", ["ACTIVE", "UPDATING", "DEGRADED"])
def test_a_node_group_that_eks_runs_is_kept_whatever_its_stack_says(status: str, stack: str) -> None:
    state = replace(standing(), status=status, stack=StackState("s", stack))
    assert kinds(state) == []


@pytest.mark.parametrize(
    ("status", "stack", "expected"),
    [
        ("CREATING", "CREATE_IN_PROGRESS", [AwaitNodegroup]),
        ("CREATING", "ROLLBACK_IN_PROGRESS", []),
        ("DELETING", "DELETE_IN_PROGRESS", []),
        ("DELETING", "", []),
        ("ACTIVE", "DELETE_IN_PROGRESS", []),
        ("CREATE_FAILED", "", REPLACE),
        ("CREATE_FAILED", "ROLLBACK_IN_PROGRESS", []),
        ("CREATE_FAILED", "ROLLBACK_FAILED", REPLACE),
        ("DELETE_FAILED", "DELETE_FAILED", REPLACE),
    ],
)
def test_eks_and_its_stack_are_judged_together(status: str, stack: str, expected: list[type]) -> None:
    state = ours(status, stack, instance_type="g6.12xlarge", zones=("us-east-2a",), desired=2)
    assert kinds(state) == expected


@pytest.mark.parametrize("stack", ["ROLLBACK_IN_PROGRESS", "DELETE_IN_PROGRESS"])
def test_what_goes_is_awaited_in_awss_words(stack: str) -> None:
    assert stack in STAGE.waiting_for(inputs(), ours("", stack))


@pytest.mark.parametrize("state", [group("CREATE_FAILED"), group("", "ROLLBACK_COMPLETE"), group("", "DELETE_FAILED")])
def test_a_broken_node_group_of_somebody_else_is_named_and_left_alone(state: NodegroupState) -> None:
    with pytest.raises(UsageError, match="not made by clusterctl") as caught:
        STAGE.plan(inputs(), state)
    assert "eksctl delete nodegroup --cluster training --region us-east-2 --name gpu" in caught.value.hint


def test_the_decision_is_remembered_before_the_node_group_is_made() -> None:
    remember, create = STAGE.plan(inputs(), group())
    assert isinstance(remember, RememberPlacement)
    assert (remember.placement.gpu_az, remember.placement.gpu_subnet) == ("us-east-2a", "subnet-a")
    assert isinstance(create, CreateNodegroup)
    (made,) = yaml.safe_load(create.config)["managedNodeGroups"]
    assert (made["name"], made["desiredCapacity"], made["subnets"]) == ("gpu", 2, ["subnet-a"])
    assert str(create) == "create node group gpu: 2 x g6.12xlarge in us-east-2a"


def test_after_a_failure_the_next_best_place_comes_and_the_failed_one_goes_first() -> None:
    failed = ours("CREATING", "CREATE_IN_PROGRESS", zones=("us-east-2a",))
    plan = STAGE.plan(inputs(attempts=tried("us-east-2a")), failed)
    assert [type(action) for action in plan] == REPLACE
    assert zone_of(plan) == "us-east-2b"
    assert "none left" in str(plan[0])


def test_zones_that_ec2_itself_hints_at_come_first() -> None:
    attempts = tried("us-east-2a", message=no_capacity(0, hint="us-east-2c").message)
    assert zone_of(STAGE.plan(inputs(attempts=attempts), group())) == "us-east-2c"


def test_a_hint_outside_what_was_asked_changes_nothing() -> None:
    attempts = tried("us-east-2a", message=no_capacity(0, hint="us-east-2f").message)
    assert zone_of(STAGE.plan(inputs(attempts=attempts), group())) == "us-east-2b"


def test_no_place_is_tried_twice_and_every_one_is_tried() -> None:
    zones: list[str] = []
    while len(zones) < len(ZONES):
        zones.append(zone_of(STAGE.plan(inputs(attempts=tried(*zones)), group())))
    assert zones == list(ZONES)


def test_when_none_is_left_all_places_are_named_with_their_reasons() -> None:
    places = (place("us-east-2a"), place("us-east-2b"),
              place("us-east-2c", verdict=Verdict.NO_CAPACITY, reason="the probe found none"))  # fmt: skip
    with pytest.raises(CapacityUnavailableError, match="no zone of us-east-2 has room for 2 x g6") as caught:
        STAGE.plan(inputs(*places, attempts=tried("us-east-2a", "us-east-2b")), group())
    assert caught.value.details.splitlines() == [
        "g6.12xlarge in us-east-2a: none left",
        "g6.12xlarge in us-east-2b: none left",
        "g6.12xlarge in us-east-2c: the probe found none",
    ]


def test_the_last_place_that_failed_is_removed_before_the_search_is_given_up() -> None:
    failed = ours("CREATING", "CREATE_IN_PROGRESS", zones=("us-east-2c",))
    assert kinds(failed, inputs(attempts=tried(*ZONES))) == [DeleteNodegroup]


def test_a_zone_without_a_subnet_is_passed_over_and_named() -> None:
    alone = place("us-east-2f", subnet_id="")
    with pytest.raises(CapacityUnavailableError, match="no private subnet in us-east-2f"):
        STAGE.plan(inputs(alone), group())
    assert zone_of(STAGE.plan(inputs(alone, place("us-east-2b")), group())) == "us-east-2b"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("VcpuLimitExceeded", QuotaTooSmallError),
        ("ReservationCapacityExceeded", CapacityUnavailableError),
        ("NodeCreationFailure", StageIncompleteError),
    ],
)
def test_what_another_zone_cannot_help_ends_after_one_attempt(code: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="in us-east-2a: none left") as caught:
        STAGE.plan(inputs(attempts=tried("us-east-2a", code=code)), group())
    assert "96 vCPUs are needed in us-east-2" in getattr(caught.value, "hint", "")


def test_a_node_group_that_works_is_not_removed_over_an_older_failure_elsewhere() -> None:
    degraded = replace(standing(zones=("us-east-2b",)), status="DEGRADED")
    assert kinds(degraded, inputs(attempts=tried("us-east-2a"))) == []
    assert kinds(standing(zones=("us-east-2b",)), inputs(attempts=tried("us-east-2a"))) == []


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"instance_type": "p5.48xlarge"}, "the type p5.48xlarge, g6.12xlarge was asked for"),
        ({"zones": ("us-east-2f",)}, "the zone us-east-2f, us-east-2a or us-east-2b or us-east-2c was asked for"),
        ({"desired": 4}, "a size of 4, 2 was asked for"),
    ],
)
def test_a_contradiction_with_what_stands_names_both(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"node group gpu has {words}"):
        STAGE.plan(inputs(), standing(**facts))


def test_a_node_group_that_eks_does_not_show_yet_contradicts_nothing() -> None:
    (action,) = STAGE.plan(inputs(CAPACITY, capacity_reservation_id=RESERVATION), ours("", "CREATE_IN_PROGRESS"))
    assert isinstance(action, AwaitNodegroup)


RESERVATION = "cr-0123456789abcdef0"
CAPACITY = place("us-east-2a", reservation_id=RESERVATION, source=Source.RESERVATION)


def test_a_node_group_that_misses_its_reservation_is_found_out() -> None:
    given = inputs(CAPACITY, capacity_reservation_id=RESERVATION)
    with pytest.raises(StageIncompleteError, match="names no reservation, so its nodes cost On-Demand"):
        STAGE.plan(given, standing())
    assert STAGE.plan(given, standing(reservation_id=RESERVATION)) == ()


def test_a_named_reservation_is_never_left_for_on_demand_capacity() -> None:
    given = inputs(CAPACITY, place("us-east-2b"), attempts=tried("us-east-2a"), capacity_reservation_id=RESERVATION)
    with pytest.raises(CapacityUnavailableError):
        STAGE.plan(given, group())


def test_instances_that_are_missing_are_awaited_with_auto_scalings_reason() -> None:
    state = standing(instances=1, activities=(activity(0, "older"), activity(5, "no room")))
    assert STAGE.waiting_for(inputs(), state) == "1 of 2 instances in service: no room"


def test_a_degraded_node_group_is_awaited_with_eks_own_words() -> None:
    state = replace(standing(issues=(HealthIssue("X", "subnet is gone"),)), status="DEGRADED")
    assert STAGE.waiting_for(inputs(), state).endswith("subnet is gone")


@pytest.mark.parametrize("state", [group(), ours("", "ROLLBACK_COMPLETE"), standing()])
def test_what_is_expected_of_a_plan_needs_no_further_plan(state: NodegroupState) -> None:
    after = STAGE.expect(inputs(), state)
    done = replace(after, stack=StackState("s", "CREATE_COMPLETE", OURS))
    assert STAGE.plan(inputs(), done) == ()
    assert STAGE.waiting_for(inputs(), done) == ""


def test_observing_asks_for_the_node_group_of_the_clusters_own_region() -> None:
    clusters = ScriptedClusters()
    NodegroupStage(clusters, FakeReservations()).observe(inputs())
    assert clusters.asked == ["nodegroup us-east-2/training/gpu"]


FAR = tuple(
    place(f"us-west-2{letter}", region="us-west-2", zone_id=f"usw2-az{letter}", subnet="no-cluster", subnet_id="")
    for letter in "ab"
)
NEAR = tuple(place(zone) for zone in ZONES)


def mixed() -> tuple[Candidate, ...]:
    """Places of two regions as a search may rank them: near and far ones by turns."""
    return (NEAR[0], FAR[0], NEAR[1], FAR[1], NEAR[2])


def test_every_zone_of_the_region_is_tried_before_another_region() -> None:
    zones: list[str] = []
    while len(zones) < len(ZONES):
        zones.append(zone_of(STAGE.plan(inputs(*mixed(), attempts=tried(*zones), made_by="run-1"), group())))
    assert zones == list(ZONES)
    leave = STAGE.plan(inputs(*mixed(), attempts=tried(*ZONES), made_by="run-1"), group())
    assert leave == (LeaveRegion("us-east-2", "us-west-2", "no zone has room"),)


def test_another_region_comes_before_a_less_wanted_type() -> None:
    other = place("us-east-2a", instance_type="g5.12xlarge")
    plan = STAGE.plan(inputs(*mixed(), other, attempts=tried(*ZONES), made_by="run-1"), group())
    assert [type(action) for action in plan] == [LeaveRegion]


def test_what_failed_is_removed_before_the_region_is_left() -> None:
    failed = ours("CREATING", "CREATE_IN_PROGRESS", zones=("us-east-2c",))
    plan = STAGE.plan(inputs(*mixed(), attempts=tried(*ZONES), made_by="run-1"), failed)
    assert [type(action) for action in plan] == [DeleteNodegroup, LeaveRegion]


def test_a_cluster_that_stood_before_is_never_left_for_another_region() -> None:
    with pytest.raises(CapacityUnavailableError, match="no zone of us-east-2 has room") as caught:
        STAGE.plan(inputs(*mixed(), attempts=tried(*ZONES), made_by="run-0"), group())
    assert "the cluster in us-east-2 stood before: clusterctl teardown" in caught.value.hint


def test_the_room_elsewhere_is_proved_before_anything_is_torn_down_for_it() -> None:
    plan = STAGE.plan(inputs(*mixed(), attempts=tried(*ZONES), made_by="run-1", probe=True), group())
    assert [type(action) for action in plan] == [ProveAgain, LeaveRegion]
    assert isinstance(plan[0], ProveAgain)
    assert plan[0].order.zone == "us-west-2a"


def test_room_is_proved_again_right_before_the_launch_and_anew_for_each_place() -> None:
    first = STAGE.plan(inputs(probe=True), group())
    second = STAGE.plan(inputs(probe=True, attempts=tried("us-east-2a")), group())
    assert [type(action) for action in first] == [ProveAgain, RememberPlacement, CreateNodegroup]
    tokens = {
        action.order.client_token for plan in (first, second) for action in plan if isinstance(action, ProveAgain)
    }
    assert len(tokens) == 2
    assert "right before the launch, about 0.08 USD at most" in str(first[0])


HOLD = "cr-0fedcba9876543210"
HELD = place("us-east-2a", reservation_id=HOLD, reason="2 held")


def test_a_node_group_is_launched_into_the_hold_of_its_place_and_says_so() -> None:
    (remember, create) = STAGE.plan(inputs(HELD, place("us-east-2b"), probe=True), group(holds=(HOLD,)))
    assert isinstance(remember, RememberPlacement)
    assert (remember.placement.capacity_reservation_id, remember.placement.capacity_source) == ("", "probe")
    assert isinstance(create, CreateNodegroup)
    assert create.reservation_id == HOLD
    (made,) = yaml.safe_load(create.config)["managedNodeGroups"]
    assert made["capacityReservation"] == {"capacityReservationTarget": {"capacityReservationID": HOLD}}
    assert made["tags"][TAG_HOLD] == HOLD


def test_a_hold_is_released_once_the_nodes_have_joined_and_not_before() -> None:
    marked = {**OURS, TAG_HOLD: HOLD}
    joined = replace(standing(reservation_id=HOLD, holds=(HOLD,)), tags=marked)
    assert STAGE.plan(inputs(HELD), replace(joined, instances=1)) == ()
    assert STAGE.plan(inputs(HELD), joined) == (CancelReservation("us-east-2", HOLD, "the nodes have joined"),)
    assert STAGE.plan(inputs(HELD), replace(joined, holds=())) == ()


def test_a_hold_that_has_ended_before_the_launch_is_replaced_by_a_new_proof() -> None:
    plan = STAGE.plan(inputs(HELD, probe=True), group(holds=()))
    assert [type(action) for action in plan] == [ProveAgain, *CREATE]
    assert isinstance(plan[2], CreateNodegroup)
    assert plan[2].reservation_id == ""


@pytest.mark.parametrize("code", ["InsufficientInstanceCapacity", "ReservationCapacityExceeded"])
def test_a_hold_that_did_not_help_is_released_before_the_next_place(code: str) -> None:
    plan = STAGE.plan(inputs(HELD, place("us-east-2b"), attempts=tried("us-east-2a", code=code)), group(holds=(HOLD,)))
    assert [type(action) for action in plan] == [CancelReservation, *CREATE]
    assert zone_of(plan) == "us-east-2b"


def test_only_holds_of_this_cluster_are_seen() -> None:
    mine = {TAG_PURPOSE: "hold", TAG_CLUSTER: "training"}
    plain = Reservation(HOLD, "us-east-2", "us-east-2a", "use2-az1", KIND.name, 2, 2, "active", tags=mine)
    others = [
        replace(plain, reservation_id="cr-1", tags={**mine, TAG_CLUSTER: "other"}),
        replace(plain, reservation_id="cr-2", tags={**mine, TAG_PURPOSE: "probe"}),
        replace(plain, reservation_id="cr-3", region="us-west-2"),
    ]
    stage = NodegroupStage(ScriptedClusters(), FakeReservations(plain, *others))
    assert stage.observe(inputs()).holds == (HOLD,)
