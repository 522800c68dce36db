"""What can be launched, counted in a world whose clock stands still. Nothing is faked but time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.errors import UsageError
from clusterctl.sandbox.cloud.capacity import LaunchFailure, LaunchOrder
from clusterctl.sandbox.cloud.world import World
from clusterctl.sandbox.scenario import Scenario

if TYPE_CHECKING:
    from conftest import HandClock

G6 = LaunchOrder("us-east-2", "us-east-2b", "g6.12xlarge")  # 48 vCPUs


def rehearse(world: World, **scenario: object) -> None:
    world.rehearse(Scenario.model_validate(scenario))


def failure_of(world: World, order: LaunchOrder) -> LaunchFailure:
    failure = world.capacity.launch(order)
    assert failure is not None
    return failure


def launch_all(world: World, order: LaunchOrder, count: int) -> None:
    assert [world.capacity.launch(order) for _ in range(count)] == [None] * count


def test_capacity_is_plenty_until_the_quota_ends_it(world: World) -> None:
    launch_all(world, G6, 16)
    failure = failure_of(world, G6)
    assert failure.code == "VcpuLimitExceeded"
    assert "current vCPU limit of 768 allows" in failure.message


def test_a_zone_gives_what_the_scenario_put_there_and_names_the_others(world: World) -> None:
    rehearse(world, capacity={"us-east-2b": {"g6.12xlarge": 2}, "us-east-2a": {"g6.12xlarge": 0}})
    launch_all(world, G6, 2)
    failure = failure_of(world, G6)
    assert failure.code == "InsufficientInstanceCapacity"
    assert "sufficient g6.12xlarge capacity in the Availability Zone you requested (us-east-2b)" in failure.message
    assert failure.message.endswith("or choosing us-east-2c.")


def test_what_is_released_can_be_launched_again(world: World) -> None:
    rehearse(world, capacity={"us-east-2b": {"g6.12xlarge": 1}})
    launch_all(world, G6, 1)
    world.capacity.release(G6)
    launch_all(world, G6, 1)


def test_a_second_release_gives_nothing_back(world: World) -> None:
    rehearse(world, capacity={"us-east-2b": {"g6.12xlarge": 1}})
    launch_all(world, G6, 1)
    world.capacity.release(G6)
    world.capacity.release(G6)
    launch_all(world, G6, 1)
    assert failure_of(world, G6).code == "InsufficientInstanceCapacity"


def test_capacity_can_go_away_with_time(world: World, clock: HandClock) -> None:
    rehearse(world, capacity={"us-east-2b": {"g6.12xlarge": 5, "gone_after_s": 600}})
    launch_all(world, G6, 1)
    clock.turn(601)
    assert failure_of(world, G6).code == "InsufficientInstanceCapacity"


def test_capacity_may_be_given_by_zone_id(world: World) -> None:
    rehearse(world, capacity={"use2-az2": {"g6.12xlarge": 0}})
    assert failure_of(world, G6).code == "InsufficientInstanceCapacity"


def test_a_type_that_a_zone_lacks_is_unsupported_there(world: World) -> None:
    failure = failure_of(world, LaunchOrder("us-east-2", "us-east-2a", "trn1.32xlarge"))
    assert failure.code == "Unsupported"
    assert failure.message.endswith("or choosing us-east-2c.")


def test_quota_families_do_not_share(world: World) -> None:
    rehearse(world, quotas={"us-east-2": {"L-DB2E81BA": 48}})
    launch_all(world, G6, 1)
    launch_all(world, replace(G6, instance_type="m5.large"), 3)
    assert failure_of(world, G6).code == "VcpuLimitExceeded"


def test_a_reservation_of_the_scenario_serves_when_the_zone_is_empty(world: World) -> None:
    given = {"id": "cr-0given", "zone": "us-east-2b", "instance_type": "g6.12xlarge", "count": 1}
    rehearse(world, reservations=[given], capacity={"us-east-2b": {"g6.12xlarge": 0}})
    target = replace(G6, reservation_id="cr-0given")
    launch_all(world, target, 1)
    assert failure_of(world, target).code == "ReservationCapacityExceeded"
    world.capacity.release(target)
    launch_all(world, target, 1)


def test_a_targeted_reservation_is_not_taken_by_accident(world: World) -> None:
    given = {"zone": "us-east-2b", "instance_type": "g6.12xlarge", "count": 1, "match": "targeted"}
    rehearse(world, reservations=[given], capacity={"us-east-2b": {"g6.12xlarge": 0}})
    assert failure_of(world, G6).code == "InsufficientInstanceCapacity"


def test_an_open_reservation_takes_any_matching_instance(world: World) -> None:
    given = {"zone": "us-east-2b", "instance_type": "g6.12xlarge", "count": 1, "match": "open"}
    rehearse(world, reservations=[given], capacity={"us-east-2b": {"g6.12xlarge": 0}})
    launch_all(world, G6, 1)


def test_a_capacity_block_waits_for_its_start_and_ends_by_itself(world: World, clock: HandClock) -> None:
    block = {"id": "cr-0block", "zone": "us-east-2a", "instance_type": "p5.48xlarge", "count": 2}
    rehearse(world, blocks=[{**block, "starts_in_s": 3600, "ends_in_s": 7200}], quotas={"*": {"L-417A185B": 0}})
    order = LaunchOrder("us-east-2", "us-east-2a", "p5.48xlarge", "cr-0block", "capacity-block")
    assert failure_of(world, order).code == "InvalidCapacityReservationState.PendingActivation"
    clock.turn(3600)
    launch_all(world, order, 2)
    clock.turn(3600)
    assert failure_of(world, order).code == "ReservationCapacityExceeded"


def test_a_block_is_closed_to_on_demand_launches(world: World) -> None:
    block = {"id": "cr-0block", "zone": "us-east-2a", "instance_type": "p5.48xlarge", "count": 2}
    rehearse(world, blocks=[block])
    order = LaunchOrder("us-east-2", "us-east-2a", "p5.48xlarge", "cr-0block")
    assert failure_of(world, order).code == "ReservationCapacityExceeded"


@pytest.mark.parametrize(
    "scenario",
    [
        {"zones": {"us-east-1": {"us-east-1b": "use1-az9"}}},
        {"enabled_regions": ["us-moon-1"]},
        {"reservations": [{"zone": "us-east-9a", "instance_type": "m5.large", "count": 1}]},
        {"blocks": [{"zone": "us-east-2a", "instance_type": "p99.large", "count": 1}]},
    ],
)
def test_a_scenario_of_things_that_do_not_exist_is_refused_and_changes_nothing(
    world: World, scenario: dict[str, object]
) -> None:
    before = world.scenario
    with pytest.raises(UsageError):
        rehearse(world, **scenario)
    assert world.scenario is before
