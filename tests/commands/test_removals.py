"""Teardown, extend and reap from the command line: what is over goes without a trace, what is not ours stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from removals import OURS, Sandbox, running_sandbox, tagged

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]
EAST, WEST, IRELAND = "us-east-2", "us-west-2", "eu-west-1"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("removals")) as found:
        yield found


def make(sandbox: Sandbox, region: str, name: str, *words: str) -> None:
    told = sandbox("cluster", "--region", region, "--cluster-name", name, "--placement", f"{name}.env", "-y", *words)
    assert told.code == 0, told.err


def clusters(sandbox: Sandbox) -> list[str]:
    return [f"{region}/{one['name']}" for region, kinds in sandbox.world().items() for one in kinds.get("clusters", ())]


def test_three_clusters_of_which_one_has_expired_and_one_is_not_ours(sandbox: Sandbox) -> None:
    make(sandbox, EAST, "over", "--ttl", "1m")
    make(sandbox, WEST, "young", "--ttl", "300d")
    subnets = [one["SubnetId"] for one in sandbox.boto("ec2", IRELAND).describe_subnets()["Subnets"]]
    sandbox.boto("eks", IRELAND).create_cluster(
        name="over", roleArn="arn:aws:iam::123456789012:role/x", resourcesVpcConfig={"subnetIds": subnets[:2]},
        tags={"expires-at": "2020-01-01", "clusterctl:expires-at": "2020-01-01T00:00:00+00:00"},
    )  # fmt: skip
    stray = sandbox.reserve(
        IRELAND,
        "eu-west-1a",
        OURS | {"clusterctl:cluster": "ghost", "clusterctl:expires-at": "2020-01-01T00:00:00+00:00"},
    )
    theirs = sandbox.reserve(IRELAND, "eu-west-1a", {"team": "other"})
    (sandbox.folder / "over.env").unlink()

    plan = sandbox("reap", "-a", "--plan", "-o", "json")
    assert plan.code == 0, plan.err
    assert {one["cluster"] for one in plan.document["plan"]} == {"over", "ghost"}
    assert sorted(clusters(sandbox)) == ["eu-west-1/over", "us-east-2/over", "us-west-2/young"]

    first, second = sandbox.start("reap", "-a", "-y", "-o", "json"), sandbox.start("reap", "-a", "-y", "-o", "json")
    outputs = [one.communicate(timeout=170) for one in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], [err for _, err in outputs]
    assert sorted(clusters(sandbox)) == ["eu-west-1/over", "us-west-2/young"]
    held = sandbox.world()[IRELAND]["reservations"]
    assert [one["id"] for one in held] == [theirs]
    assert EAST not in sandbox.world()

    again = sandbox("reap", "-a", "-y", "-o", "json")
    assert (again.code, again.document["deleted"], again.document["leftovers"]) == (0, [], [])
    kept = {one["id"]: one["why"] for one in again.document["kept"]}
    assert kept["eu-west-1/over"] == "was not made by clusterctl"
    assert kept["us-west-2/young"].startswith("expires at ")
    assert stray not in kept


def test_a_cluster_that_is_extended_outlives_the_end_that_it_was_made_with(sandbox: Sandbox) -> None:
    make(sandbox, EAST, "longer", "--ttl", "1m")
    told = sandbox("extend", "400d", "--placement", "longer.env", "-o", "json")
    assert told.code == 0, told.err
    until = told.document["expires_at"]
    assert f"EXPIRES_AT={until}" in (sandbox.folder / "longer.env").read_text()
    status = sandbox("status", "--placement", "longer.env", "-o", "json").document
    assert status["expires_at"] == until
    reaped = sandbox("reap", "-r", EAST, "-y", "-o", "json")
    assert (reaped.code, reaped.document["deleted"]) == (0, [])
    missing = sandbox("extend", "4h", "--cluster-name", "nobody", "--region", EAST, "--placement", "none.env")
    assert missing.code == 2


def test_a_teardown_takes_what_outlived_its_owner_and_ends_in_an_empty_region(sandbox: Sandbox) -> None:
    """The API is not asked: services and claims of a cluster that is broken leave these behind."""
    make(sandbox, "us-east-1", "messy")
    ec2, owned = sandbox.boto("ec2", "us-east-1"), {"kubernetes.io/cluster/messy": "owned"}
    vpc, subnet = sandbox.vpc("us-east-1", "messy")
    group = ec2.create_security_group(
        GroupName="k8s-elb-1", Description="d", VpcId=vpc, TagSpecifications=tagged("security-group", owned)
    )["GroupId"]
    sandbox.boto("elb", "us-east-1").create_load_balancer(
        LoadBalancerName="a1", Subnets=[subnet], SecurityGroups=[group],
        Listeners=[{"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}],
        Tags=[{"Key": key, "Value": value} for key, value in owned.items()],
    )  # fmt: skip
    ec2.create_network_interface(
        SubnetId=subnet, Description="aws-K8S-i-1",
        TagSpecifications=tagged("network-interface", {"cluster.k8s.amazonaws.com/name": "messy"}),
    )  # fmt: skip
    ec2.create_volume(AvailabilityZone="us-east-1a", Size=50, TagSpecifications=tagged("volume", owned))
    sandbox.reserve("us-east-1", "us-east-1a", OURS | {"clusterctl:cluster": "messy"})
    told = sandbox("teardown", "--placement", "messy.env", "--purge-volumes", "-y", "-o", "json")
    assert told.code == 0, told.err
    assert (told.document["kept"], told.document["leftovers"]) == ([], [])
    assert "us-east-1" not in sandbox.world()
    assert not (sandbox.folder / "messy.env").exists()


def test_a_foreign_interface_in_the_vpc_is_never_touched_and_the_stack_it_holds_up_is_named(sandbox: Sandbox) -> None:
    make(sandbox, "ca-central-1", "shared")
    _, subnet = sandbox.vpc("ca-central-1", "shared")
    made = sandbox.boto("ec2", "ca-central-1").create_network_interface(SubnetId=subnet, Description="somebody's")
    foreign = made["NetworkInterface"]["NetworkInterfaceId"]
    told = sandbox("teardown", "--placement", "shared.env", "-y", "-o", "json")
    assert told.code == 9, told.err
    (left,) = told.document["leftovers"]
    assert (left["kind"], left["id"]) == ("stack", "eksctl-shared-cluster")
    assert "delete-stack" in left["command"]
    assert [one["id"] for one in told.document["kept"]] == [foreign]
    assert [one["id"] for one in sandbox.world()["ca-central-1"]["network_interfaces"]] == [foreign]
    assert (sandbox.folder / "shared.env").exists(), "the way back stays while something is left"
    sandbox.boto("ec2", "ca-central-1").delete_network_interface(NetworkInterfaceId=foreign)
    again = sandbox("teardown", "--placement", "shared.env", "-y")
    assert again.code == 0, again.err
    assert "ca-central-1" not in sandbox.world()
