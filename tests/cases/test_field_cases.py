"""Faults that people have met with eksctl and EKS, each with a small input that brings it about, as its kind.

Those that need a Kubernetes API or a whole teardown are in tests/stages: a type that the EFA plugin's list lacks, a
DaemonSet at DESIRED 0, taints, volumes that outlive a cluster, load balancers that hold its network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from clusterctl.adapters.aws.subnets import Subnet, private_by_zone
from clusterctl.engine.actions import CreateNodegroup
from clusterctl.engine.attempts import PlaceFailedError
from clusterctl.engine.launching import NodegroupLauncher
from clusterctl.errors import ToolFailedError
from clusterctl.model.capacity import Reservation, Zone
from clusterctl.model.cluster import HealthIssue, NodegroupState, StackState, StackVerdict
from clusterctl.model.failures import Cause, Failure, classify, root_cause
from clusterctl.model.instances import Accelerator
from clusterctl.model.launch import final_cause
from clusterctl.model.placing import Misfit, obstacles
from clusterctl.model.specs import NodegroupSpec, cluster_zones, placement_group
from clusterctl.model.standing import Standing, nodegroup_standing
from clusterctl.model.verification import NodeFacts
from clusterctl.rendering.eksctl_config import render_nodegroup
from clusterctl.rendering.values import efa_values
from fakes import START, FakeClock, FakeEksctl, FakeRun, Recorder, TimedClusters, activity, group, no_capacity

CREATE = CreateNodegroup("us-east-2", "training", "gpu", "us-east-2a", 2, "g6.12xlarge", "config")
EXCLUDED = "1 existing nodegroup(s) (gpu) will be excluded\nall nodegroups have up-to-date cloudformation templates"
TIMED_OUT = "Error: exceeded max wait time for StackCreateComplete waiter"


def launch(states: Mapping[float, NodegroupState], tail: str, *, code: int = 0) -> float:
    """Seconds that a launch took over these states, beside an eksctl that ends at once with these words."""
    clock = FakeClock()
    eksctl = FakeEksctl(FakeRun(clock, 0, code, tail))
    NodegroupLauncher(eksctl, TimedClusters(clock, states), clock).create(CREATE, Recorder().tell)
    return clock.slept_s


@pytest.mark.parametrize("stack", ["ROLLBACK_COMPLETE", "CREATE_FAILED", "ROLLBACK_FAILED"])
def test_a_second_run_over_a_rolled_back_stack_is_never_ready(stack: str) -> None:
    """A second `eksctl create nodegroup` says that all is up to date and exits 0; EKS has no node group."""
    with pytest.raises(PlaceFailedError):
        launch({0: group("", stack)}, EXCLUDED)
    assert nodegroup_standing("", StackState("s", stack)) is Standing.BROKEN


def test_an_exit_0_without_a_stack_is_found_out() -> None:
    """The same words where even the stack is missing."""
    with pytest.raises(ToolFailedError, match="made no node group gpu: all nodegroups have up-to-date"):
        launch({0: group()}, EXCLUDED)


@pytest.mark.parametrize("zone_id", ["use1-az3", "usw1-az2", "cac1-az3"])
def test_a_zone_without_room_for_control_planes_is_refused_by_id_before_anything_is_made(zone_id: str) -> None:
    """The cluster stack rolls back: "us-east-1b, the targeted availability zone, does not have sufficient capacity"."""
    zones = (Zone("us-east-1a", "use1-az1"), Zone("us-east-1b", zone_id), Zone("us-east-1c", "use1-az2"))
    assert cluster_zones(zones, ["us-east-1a", "us-east-1b", "us-east-1c"]) == ("us-east-1a", "us-east-1c")


def test_every_zone_where_nodes_may_land_one_day_is_a_zone_of_the_cluster() -> None:
    """eksctl chose three zones at random; the capacity is in a fourth, and "mapping doesn't have enough subnets"."""
    zones = tuple(Zone(f"us-east-1{letter}", f"use1-az{letter}") for letter in "abcdf")
    assert set(cluster_zones(zones, ["us-east-1d", "us-east-1b"])) == {"us-east-1b", "us-east-1d"}


def test_a_lack_of_capacity_ends_the_wait_long_before_eksctl_does() -> None:
    """CREATE_FAILED after 20 to 30 minutes, while Auto Scaling had said why within two."""
    failing = group("CREATING", "CREATE_IN_PROGRESS", desired=2, activities=(no_capacity(60),))
    with pytest.raises(PlaceFailedError) as caught:
        launch({0: group("", "CREATE_IN_PROGRESS"), 60: failing}, "")
    assert caught.value.attempt.failure is not None
    assert caught.value.attempt.failure.zones == ("us-east-2b",)


@pytest.mark.parametrize(
    "message",
    [
        "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity",
        "You've reached your quota for maximum Fleet Requests for this account.",
        "Max spot instance count exceeded. Launching EC2 instance failed.",
    ],
)
def test_a_quota_is_not_mistaken_for_a_lack_of_capacity(message: str) -> None:
    """A quota that was taken for capacity, and tried again for ever."""
    failing = group("CREATING", "CREATE_IN_PROGRESS", desired=2, activities=(activity(30, message),))
    with pytest.raises(PlaceFailedError) as caught:
        launch({0: failing}, "")
    assert caught.value.attempt.outcome == "quota"


def test_a_time_out_of_eksctl_is_not_the_end_of_its_stack() -> None:
    """`exceeded max wait time for StackCreateComplete waiter`; the stack finishes later."""
    coming = group("CREATING", "CREATE_IN_PROGRESS", desired=2)
    done = group("ACTIVE", "CREATE_COMPLETE", desired=2, instances=2)
    assert launch({0: coming, 1800: done}, TIMED_OUT, code=1) >= 1800


def spec(**facts: Any) -> NodegroupSpec:
    plain: dict[str, Any] = {
        "cluster": "training", "region": "us-east-2", "name": "gpu", "instance_type": "p5.48xlarge",
        "accelerator": Accelerator.NVIDIA, "zone": "us-east-2a", "subnet": "subnet-a", "desired": 2, "minimum": 2,
        "maximum": 2, "ami_family": "AmazonLinux2023",
    }  # fmt: skip
    return NodegroupSpec(**{**plain, **facts})


def rendered(**facts: Any) -> dict[str, Any]:
    (made,) = yaml.safe_load(render_nodegroup(spec(**facts)))["managedNodeGroups"]
    return dict(made)


def test_a_reservation_is_named_by_the_key_that_eksctl_reads() -> None:
    """`capacityReservationId` is accepted and dropped: the instances cost On-Demand beside an idle reservation."""
    target = rendered(reservation_id="cr-0123456789abcdef0")["capacityReservation"]["capacityReservationTarget"]
    assert target == {"capacityReservationID": "cr-0123456789abcdef0"}


HELD = Reservation("cr-1", "us-east-2", "us-east-2a", "use2-az1", "p5.48xlarge", 16, 16, "active")
GROUPED = Reservation(
    "cr-2", "us-east-2", "us-east-2a", "use2-az1", "p5.48xlarge", 16, 16, "active",
    placement_group_arn="arn:aws:ec2:us-east-2:111122223333:placement-group/pg-a",
)  # fmt: skip
BLOCK = Reservation("cr-3", "us-east-2", "us-east-2a", "use2-az1", "p5.48xlarge", 16, 16, "active", is_block=True)


@pytest.mark.parametrize(("reservation", "named"), [(BLOCK, None), (GROUPED, {"groupName": "pg-a"}), (HELD, None)])
def test_only_a_reservations_own_placement_group_is_named(reservation: Reservation, named: Any) -> None:
    """16 reserved and 11 launched: another placement group kept the instances out of the reservation's hardware."""
    made = rendered(reservation_id=reservation.reservation_id, placement_group=placement_group(reservation))
    assert made.get("placement") == named


def test_efa_nodes_are_never_put_into_a_public_subnet() -> None:
    """An instance with several interfaces gets no public address, and `failed to join the kubernetes cluster`."""
    public = Subnet("subnet-p", "us-east-2a", 8000, private=False)
    private = Subnet("subnet-a", "us-east-2a", 100, private=True)
    assert private_by_zone((public, private)) == {"us-east-2a": "subnet-a"}
    assert private_by_zone((public,)) == {}
    assert rendered()["privateNetworking"] is True


TAINT = ("nvidia.com/gpu", "present", "NoSchedule")


def node(**facts: Any) -> NodeFacts:
    labels = {"node.kubernetes.io/instance-type": "p6-b200.48xlarge", "role": "gpu-worker"}
    return NodeFacts("ip-10-0-0-1", True, "p6-b200.48xlarge", "us-east-2a", "gpu", labels=labels, **facts)  # noqa: FBT003


def test_the_efa_plugin_is_given_the_type_that_its_own_list_lacks_and_the_taint_that_its_own_rules_lack() -> None:
    """DESIRED 0, no pods, no events: the bundled list lacks the type, its tolerations lack `nvidia.com/gpu`."""
    values = yaml.safe_load(efa_values(("p6-b200.48xlarge",)))
    assert "p6-b200.48xlarge" in values["supportedInstanceLabels"]["values"]
    assert not obstacles({"tolerations": values["tolerations"]}, node(taints=(TAINT,)))


def test_a_label_that_nobody_sets_is_named_as_what_keeps_the_plugin_away() -> None:
    """Nodes ready and no `nvidia.com/gpu`: the chart wants a label that NFD, kept out by the taint, cannot set."""
    term = {"matchExpressions": [{"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    (found,) = obstacles({"affinity": {"nodeAffinity": required}}, node())
    assert (found.misfit, found.key) == (Misfit.LABEL, "nvidia.com/gpu.present")
    assert rendered()["labels"]["nvidia.com/gpu.present"] == "true"


@pytest.mark.parametrize(
    "reason",
    [
        "The vpc 'vpc-1' has dependencies and cannot be deleted.",
        "The subnet 'subnet-1' has dependencies and cannot be deleted.",
        "Network vpc-1 has some mapped public address(es).",
    ],
)
def test_what_a_load_balancer_still_holds_is_in_use_and_waited_for(reason: str) -> None:
    """DELETE_FAILED, since an interface of a load balancer that its controller left holds the network."""
    assert classify("", reason).cause is Cause.IN_USE
    assert StackState("s", "DELETE_FAILED").verdict is StackVerdict.UNDELETABLE


def test_a_launch_failure_beats_the_join_that_it_prevented_in_every_order() -> None:
    """EKS lists both; the instances that "failed to join" never were."""
    issues = (
        HealthIssue("NodeCreationFailure", "Instances failed to join the kubernetes cluster", ("DUMMY_1",)),
        HealthIssue("AsgInstanceLaunchFailures", no_capacity(0).message, ("eks-gpu-1",)),
    )
    for order in (issues, issues[::-1]):
        assert final_cause(group("CREATE_FAILED", issues=order), START).cause is Cause.CAPACITY


def test_among_cancelled_siblings_the_earliest_other_event_is_the_cause() -> None:
    """`Resource creation cancelled` a dozen times, and one line that says why."""
    cancelled = classify("", "Resource creation cancelled")
    real: Failure = classify("", "The maximum number of addresses has been reached.")
    found = root_cause([cancelled, real, cancelled, classify("", no_capacity(0).message)])
    assert found == real
