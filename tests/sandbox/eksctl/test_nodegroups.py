"""Node groups through the stand-in: what comes to be, and what only looks so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .conftest import eventually

if TYPE_CHECKING:
    from .conftest import Sandbox

EXCLUDED = "1 existing nodegroup(s) ({}) will be excluded"
UP_TO_DATE = "all nodegroups have up-to-date cloudformation templates"


def machines(sandbox: Sandbox, nodegroup: str) -> list[dict[str, Any]]:
    rows = sandbox.control("GET", "sandbox/machines?after=0&wait_s=0")["machines"]
    return [row for row in rows if row["nodegroup"] == nodegroup]


def stack(name: str) -> str:
    return f"eksctl-demo-nodegroup-{name}"


@pytest.fixture(autouse=True)
def calm(demo: Sandbox) -> None:
    demo.rehearse(capacity={"us-east-2a": {"g6.12xlarge": 0}})


def test_a_node_group_becomes_active_with_its_instances(demo: Sandbox) -> None:
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    labels = {"team": "vision"}
    flags = "--install-nvidia-plugin=false"
    code, out, _ = demo.create_nodegroup("good", flags, labels=labels, taints=taints)
    found = demo.client("eks").describe_nodegroup(clusterName="demo", nodegroupName="good")["nodegroup"]
    nodes = machines(demo, "good")
    assert code == 0, out
    assert (found["status"], found["amiType"], found["health"]["issues"]) == ("ACTIVE", "AL2023_x86_64_NVIDIA", [])
    assert [(n["zone"], n["gpus"], n["joins"]) for n in nodes] == [("us-east-2b", 4, True)] * 2
    assert nodes[0]["labels"]["team"] == "vision"
    assert nodes[0]["taints"] == taints
    reservations = demo.client("ec2").describe_instances(InstanceIds=[nodes[0]["instance_id"]])["Reservations"]
    tags = {tag["Key"]: tag["Value"] for tag in reservations[0]["Instances"][0]["Tags"]}
    assert tags["Name"] == "demo-good-Node"
    assert tags["kubernetes.io/cluster/demo"] == "owned"


def test_a_second_run_excludes_what_exists(demo: Sandbox) -> None:
    demo.create_nodegroup("twice", "--install-nvidia-plugin=false", desiredCapacity=0)
    code, out, _ = demo.create_nodegroup("twice", "--install-nvidia-plugin=false", desiredCapacity=0)
    assert code == 0
    assert EXCLUDED.format("twice") in out
    assert UP_TO_DATE in out


def test_a_lack_of_capacity_shows_in_the_scaling_activities_long_before_the_stack_fails(demo: Sandbox) -> None:
    run = demo.begin("create", "nodegroup", "-f", "-", config=_in_the_empty_zone("dry"))
    eks, scaling = demo.client("eks"), demo.client("autoscaling")

    def groups() -> list[dict[str, str]]:
        rows = eks.list_nodegroups(clusterName="demo")["nodegroups"]
        found = eks.describe_nodegroup(clusterName="demo", nodegroupName="dry")["nodegroup"] if "dry" in rows else {}
        return list(found.get("resources", {}).get("autoScalingGroups", []))

    eventually(lambda: bool(groups()))
    activity = scaling.describe_scaling_activities(AutoScalingGroupName=groups()[0]["name"])["Activities"][0]
    assert activity["StatusCode"] == "Failed"
    start = "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient"
    assert activity["StatusMessage"].startswith(f"{start} g6.12xlarge capacity")
    assert activity["StatusMessage"].endswith("Launching EC2 instance failed.")
    out, err = run.communicate(timeout=30)
    assert run.returncode == 1
    assert "exceeded max wait time for StackCreateComplete waiter" in out
    assert 'failed to create nodegroups for cluster "demo"' in err
    failures = [one["Timestamp"] for one in demo.events(stack("dry")) if one["ResourceStatus"] == "CREATE_FAILED"]
    assert all(activity["StartTime"] < failed for failed in failures)


def test_a_rolled_back_stack_makes_the_next_run_succeed_in_nothing(demo: Sandbox) -> None:
    demo.eksctl("create", "nodegroup", "-f", "-", "--timeout=45m", config=_in_the_empty_zone("back"))
    eventually(lambda: demo.stack_status(stack("back")) == "ROLLBACK_COMPLETE")
    code, out, _ = demo.eksctl("create", "nodegroup", "-f", "-", config=_in_the_empty_zone("back"))
    reasons = [event.get("ResourceStatusReason", "") for event in demo.events(stack("back"))]
    assert (code, EXCLUDED.format("back") in out) == (0, True)
    assert "back" not in demo.client("eks").list_nodegroups(clusterName="demo")["nodegroups"]
    assert any("Issue(Code=AsgInstanceLaunchFailures" in text and "DUMMY_" in text for text in reasons)
    assert any(text.startswith("The following resource(s) failed to create: [ManagedNodeGroup]") for text in reasons)


def _in_the_empty_zone(name: str) -> str:
    from .conftest import nodegroup_config

    return nodegroup_config(name, availabilityZones=["us-east-2a"])


@pytest.mark.parametrize(
    ("outcome", "code", "line"),
    [
        ("rollback", 1, "waiter state transitioned to Failure"),
        ("timeout", 1, "exceeded max wait time for StackCreateComplete waiter"),
        ("silent-nothing", 0, UP_TO_DATE),
    ],
)
def test_a_rehearsed_failure_looks_as_the_real_one(demo: Sandbox, outcome: str, code: int, line: str) -> None:
    demo.rehearse(faults=[{"on": "eksctl:create-nodegroup", "zone": "us-east-2b", "outcome": outcome}])
    result, out, _ = demo.create_nodegroup(outcome)
    made = {"rollback": "ROLLBACK_COMPLETE", "timeout": "CREATE_COMPLETE", "silent-nothing": ""}
    assert (result, line in out) == (code, True)
    assert demo.stack_status(stack(outcome)) == made[outcome]


def test_a_partial_node_group_is_created_with_a_node_too_few(demo: Sandbox) -> None:
    demo.rehearse(faults=[{"on": "eksctl:create-nodegroup", "name": "part", "outcome": "partial"}])
    code, _, _ = demo.create_nodegroup("part", "--install-nvidia-plugin=false")
    found = demo.client("eks").describe_nodegroup(clusterName="demo", nodegroupName="part")["nodegroup"]
    assert code == 0
    assert found["scalingConfig"]["desiredSize"] == 2
    assert len(machines(demo, "part")) == 1


def test_a_reservation_id_in_the_wrong_case_never_reaches_the_launch_template(demo: Sandbox) -> None:
    lost = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}}
    code, _, _ = demo.create_nodegroup("lost", "--install-nvidia-plugin=false", capacityReservation=lost)
    versions = demo.client("ec2").describe_launch_template_versions(LaunchTemplateName=stack("lost"))
    assert code == 0
    assert "cr-1" not in str(versions["LaunchTemplateVersions"])


def test_a_zone_without_subnets_is_refused_with_a_misleading_text(demo: Sandbox) -> None:
    code, _, err = demo.create_nodegroup("nowhere", availabilityZones=["us-east-2c"])
    assert code == 1
    assert "all private subnets from us-east-2c, that the cluster was originally created on, have been deleted" in err


def test_efa_interfaces_are_those_of_the_network_cards(demo: Sandbox) -> None:
    code, _, err = demo.create_nodegroup("p5", instanceType="p5.48xlarge", efaEnabled=True, desiredCapacity=1)
    (node,) = machines(demo, "p5")
    assert (node["efa_interfaces"], node["gpus"]) == (32, 8)
    assert code == 1
    assert err.startswith("Error: ")  # the plugins went to an API that nobody serves


def test_deleting_a_node_group_gives_its_instances_back(demo: Sandbox) -> None:
    demo.create_nodegroup("gone", "--install-nvidia-plugin=false")
    ids = [node["instance_id"] for node in machines(demo, "gone")]
    flags = ("--cluster", "demo", "--name", "gone", "--region", "us-east-2", "--drain=false", "--wait")
    code, out, _ = demo.eksctl("delete", "nodegroup", *flags)
    rows = demo.client("ec2").describe_instances(InstanceIds=ids)["Reservations"]
    assert code == 0, out
    assert machines(demo, "gone") == []
    assert {item["State"]["Name"] for row in rows for item in row["Instances"]} == {"terminated"}
    assert demo.stack_status(stack("gone")) == "DELETE_COMPLETE"


def test_a_killed_run_leaves_its_stack_going_on(demo: Sandbox) -> None:
    run = demo.begin("create", "nodegroup", "-f", "-", config=_small("killed"))
    eventually(lambda: demo.stack_status(stack("killed")).startswith("CREATE_"))
    run.kill()
    run.communicate()
    eventually(lambda: demo.stack_status(stack("killed")) == "CREATE_COMPLETE")
    assert len(machines(demo, "killed")) == 1


def _small(name: str) -> str:
    from .conftest import nodegroup_config

    return nodegroup_config(name, desiredCapacity=1)


def test_scaling_through_eks_changes_the_instances(demo: Sandbox) -> None:
    demo.create_nodegroup("scaled", "--install-nvidia-plugin=false", desiredCapacity=1)
    eks = demo.client("eks")
    sizes = {"minSize": 0, "maxSize": 2, "desiredSize": 0}
    update = eks.update_nodegroup_config(clusterName="demo", nodegroupName="scaled", scalingConfig=sizes)["update"]
    assert update["type"] == "ConfigUpdate"
    assert machines(demo, "scaled") == []
