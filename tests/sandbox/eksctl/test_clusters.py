"""Clusters and their stacks: made in order, refused, stuck, and gone without a trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from .conftest import CLUSTER, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import Sandbox

STACK = "eksctl-demo-cluster"
DELETE = ("delete", "cluster", "--name", "demo", "--region", "us-east-2", "--force", "--disable-nodegroup-eviction")


@pytest.fixture(autouse=True)
def calm(sandbox: Sandbox) -> Iterator[None]:
    sandbox.rehearse()
    yield
    sandbox.rehearse()


def test_the_version_is_told_without_aws(sandbox: Sandbox) -> None:
    code, out, _ = sandbox.eksctl("version", "-o", "json")
    assert (code, json.loads(out)) == (0, {"Version": "0.230.0"})


def test_an_unknown_flag_ends_with_code_one(sandbox: Sandbox) -> None:
    code, _, err = sandbox.eksctl("create", "cluster", "--nonsense")
    assert (code, err) == (1, "Error: unknown flag: --nonsense\n")


def test_a_zone_without_control_planes_rolls_the_stack_back(sandbox: Sandbox) -> None:
    sandbox.rehearse(zones={"us-east-1": {"us-east-1b": "use1-az3"}})
    config = CLUSTER.replace("us-east-2", "us-east-1")
    code, out, err = sandbox.eksctl("create", "cluster", "-f", "-", "--write-kubeconfig=false", config=config)
    assert code == 1
    assert "because us-east-1b, the targeted availability zone, does not currently have sufficient capacity" in out
    assert "AWS::EKS::Cluster/ControlPlane: CREATE_FAILED – " in out
    assert 'failed to create cluster "demo"' in err


def test_a_second_creation_is_refused(demo: Sandbox) -> None:
    code, out, _ = demo.eksctl("create", "cluster", "-f", "-", "--write-kubeconfig=false", config=CLUSTER)
    assert code == 1
    assert f"AlreadyExistsException: Stack [{STACK}] already exists" in out


def test_private_subnets_leave_by_nat_and_public_ones_by_the_gateway(demo: Sandbox) -> None:
    outputs = {
        item["OutputKey"]: item["OutputValue"]
        for item in demo.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
    }
    for kind, way in (("Private", "NatGatewayId"), ("Public", "GatewayId")):
        for subnet in outputs[f"Subnets{kind}"].split(","):
            filters = [{"Name": "association.subnet-id", "Values": [subnet]}]
            (table,) = demo.client("ec2").describe_route_tables(Filters=filters)["RouteTables"]
            (route,) = [one for one in table["Routes"] if one["DestinationCidrBlock"] == "0.0.0.0/0"]
            assert way in route


def test_events_are_newest_first_and_resources_wait_for_what_they_need(demo: Sandbox) -> None:
    events = [(event["LogicalResourceId"], event["ResourceStatus"]) for event in demo.events(STACK)]
    assert events[0] == (STACK, "CREATE_COMPLETE")
    assert events.index(("VPC", "CREATE_COMPLETE")) > events.index(("SubnetPrivateUSEAST2A", "CREATE_IN_PROGRESS"))
    assert events.index(("ServiceRole", "CREATE_COMPLETE")) > events.index(("ControlPlane", "CREATE_IN_PROGRESS"))


def test_the_stack_is_protected_from_deletion(demo: Sandbox) -> None:
    with pytest.raises(ClientError, match="cannot be deleted while TerminationProtection is enabled"):
        demo.client("cloudformation").delete_stack(StackName=STACK)


def test_a_cluster_with_node_groups_cannot_be_deleted(demo: Sandbox) -> None:
    assert demo.create_nodegroup("left", "--install-nvidia-plugin=false", desiredCapacity=0)[0] == 0
    with pytest.raises(ClientError, match="Cluster has nodegroups attached") as refused:
        demo.client("eks").delete_cluster(name="demo")
    assert refused.value.response["Error"]["Code"] == "ResourceInUseException"


def test_listing_is_a_document_alone_on_stdout(demo: Sandbox) -> None:
    code, out, err = demo.eksctl("get", "cluster", "--region", "us-east-2", "-o", "json")
    assert (code, json.loads(out)) == (0, [{"Name": "demo", "Region": "us-east-2", "Owned": "True"}])
    assert "using region us-east-2" in err


def test_a_foreign_security_group_keeps_the_network_and_its_removal_frees_it(demo: Sandbox) -> None:
    ec2 = demo.client("ec2")
    vpc = demo.client("eks").describe_cluster(name="demo")["cluster"]["resourcesVpcConfig"]["vpcId"]
    group = ec2.create_security_group(GroupName="k8s-elb-a1", Description="left", VpcId=vpc)["GroupId"]
    code, out, err = demo.eksctl(*DELETE, "--wait")
    reasons = [event.get("ResourceStatusReason", "") for event in demo.events(STACK)]
    assert code == 1, out
    assert "waiter state transitioned to Failure" in err
    assert any(f"The vpc '{vpc}' has dependencies and cannot be deleted." in text for text in reasons)
    ec2.delete_security_group(GroupId=group)
    code, out, err = demo.eksctl(*DELETE, "--wait")
    assert code == 0, out + err
    assert demo.control("GET", "sandbox/state").get("us-east-2", {}) == {}


def test_without_waiting_the_cluster_stack_is_only_asked_to_go(sandbox: Sandbox) -> None:
    assert sandbox.eksctl("create", "cluster", "-f", "-", "--write-kubeconfig=false", config=CLUSTER)[0] in {0, 1}
    code, _, _ = sandbox.eksctl(*DELETE)
    assert code == 0
    assert sandbox.stack_status(STACK).startswith("DELETE_")
    eventually(lambda: sandbox.stack_status(STACK) == "DELETE_COMPLETE")
