"""The search for leftovers against the sandbox's AWS: what is ours is found, and nothing makes it take what is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusterctl.adapters.aws.leftovers import LeftoverSearch
from clusterctl.adapters.aws.marks import MarkSearch
from clusterctl.adapters.aws.writer import AwsWriterClient
from clusterctl.errors import UsageError
from clusterctl.model.cluster import TAG_CLUSTER, TAG_EXPIRES, TAG_RUN
from clusterctl.model.leftovers import Findings, ResourceKind
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY
from local_aws import LocalAws

REGION = "us-east-2"
OURS = {TAG_RUN: "r1", TAG_CLUSTER: "training"}
OWNED = {"kubernetes.io/cluster/training": "owned"}


def rows(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def tagged(kind: str, tags: dict[str, str]) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": rows(tags)}]


class Account:
    """An account in which a cluster named training stood, and what others have put beside it."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        self.ec2: Any = aws.session().client("ec2", REGION)
        self.boto: Any = _everything(aws)
        self.vpc = self.network(OURS)
        self.foreign_vpc = self.network({"team": "other"})

    def network(self, tags: dict[str, str]) -> str:
        made = self.boto.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=tagged("vpc", tags))
        return str(made["Vpc"]["VpcId"])

    def group(self, name: str, vpc: str, tags: dict[str, str]) -> str:
        made = self.boto.create_security_group(
            GroupName=name, Description="d", VpcId=vpc, TagSpecifications=tagged("security-group", tags)
        )
        return str(made["GroupId"])

    def volume(self, tags: dict[str, str]) -> str:
        made = self.boto.create_volume(
            AvailabilityZone=f"{REGION}a", Size=100, VolumeType="gp3", TagSpecifications=tagged("volume", tags)
        )
        return str(made["VolumeId"])

    def search(self, *volumes: str, vpc: str = "", since: datetime | None = None) -> Findings:
        return LeftoverSearch(self.aws.session()).search(REGION, "training", vpc, volumes, since)

    def owned(self, *volumes: str, **more: Any) -> set[str]:
        return {one.resource_id for one in self.search(*volumes, **more).resources if one.owned}


def _everything(aws: LocalAws) -> Any:
    """EC2 with every action: what others do, clusterctl does not call."""
    import boto3

    return boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY).client(
        "ec2", region_name=REGION, endpoint_url=aws.url
    )


@pytest.fixture
def account(aws: LocalAws) -> Account:
    return Account(aws)


def test_marks_of_every_controller_are_known_within_the_clusters_own_vpc(account: Account) -> None:
    marks = [OWNED, OURS, {"elbv2.k8s.aws/cluster": "training"}, {"cluster.k8s.amazonaws.com/name": "training"}]
    ours = {account.group(f"k8s-{number}", account.vpc, tags) for number, tags in enumerate(marks)}
    assert account.owned(vpc=account.vpc) == ours


def test_a_vpc_that_outlived_its_cluster_is_known_by_our_mark_on_it(account: Account) -> None:
    orphan = account.group("k8s-elb-1", account.vpc, OWNED)
    assert account.owned() == {orphan}


@pytest.mark.parametrize(
    "tags",
    [
        {"Name": "training"},
        {"kubernetes.io/cluster/training": "shared"}, {"kubernetes.io/cluster/other": "owned"},
        {TAG_CLUSTER: "other"}, {"alpha.eksctl.io/cluster-name": "training-2"}, {"elbv2.k8s.aws/cluster": "Training"},
    ],
)  # fmt: skip
def test_what_only_looks_like_ours_is_told_and_not_owned(account: Account, tags: dict[str, str]) -> None:
    foreign = account.group("k8s-training-1", account.vpc, tags)
    findings = account.search(vpc=account.vpc)
    assert [(one.resource_id, one.owned) for one in findings.resources] == [(foreign, False)]
    assert "k8s-training-1" in findings.resources[0].why


@pytest.mark.parametrize(
    "tags", [OWNED, {"alpha.eksctl.io/cluster-name": "training"}, {"eks:cluster-name": "training"}]
)
def test_a_cluster_of_the_same_name_in_another_vpc_keeps_what_it_has(account: Account, tags: dict[str, str]) -> None:
    account.group("k8s-elb-1", account.foreign_vpc, tags)
    assert account.owned(vpc=account.vpc) == set()
    assert account.owned() == set()


def test_a_foreign_interface_in_our_vpc_is_named_and_never_removed(account: Account) -> None:
    subnet = account.boto.create_subnet(VpcId=account.vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    made = account.boto.create_network_interface(SubnetId=subnet, Description="aws-K8S-i-1 of somebody")
    (found,) = account.search(vpc=account.vpc).resources
    assert found.resource_id == made["NetworkInterface"]["NetworkInterfaceId"]
    with pytest.raises(UsageError, match="does not carry this cluster's mark"):
        AwsWriterClient(account.aws.session()).remove(found)
    assert account.search(vpc=account.vpc).resources == (found,)


def test_interfaces_of_a_service_go_with_the_service(account: Account) -> None:
    subnet = account.boto.create_subnet(VpcId=account.vpc, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    account.boto.create_network_interface(SubnetId=subnet, Description="ELB app/k8s-x")
    assert account.search(vpc=account.vpc).resources == ()


def test_volumes_are_ours_by_mark_or_because_the_cluster_made_them(account: Account) -> None:
    constant = {"ebs.csi.aws.com/cluster": "true", "kubernetes.io/created-for/pvc/name": "data"}
    named, marked, foreign = account.volume(constant), account.volume(OWNED), account.volume(constant)
    assert account.owned(named) == {named, marked}
    found = {one.resource_id: one for one in account.search(named).resources}
    assert foreign not in found
    assert (found[named].why, found[named].monthly_usd) == ("100 GiB gp3 of claim data", 8.0)


def test_a_log_group_is_ours_only_if_it_is_younger_than_the_cluster(account: Account) -> None:
    account.aws.session().client("logs", REGION).create_log_group(logGroupName="/aws/eks/training/cluster")
    account.aws.session().client("logs", REGION).create_log_group(logGroupName="/aws/eks/training-2/cluster")
    now = datetime.now(UTC)
    assert account.owned(since=now - timedelta(days=1)) == {"/aws/eks/training/cluster"}
    assert account.owned(since=now + timedelta(days=1)) == set()
    assert account.owned() == set()


def test_reservations_of_others_and_capacity_blocks_are_not_even_found(account: Account) -> None:
    given = [
        {"zone": "us-east-2a", "instance_type": "g6.12xlarge", "count": 1, "id": "cr-00000000000000001"},
        {"zone": "us-east-2a", "instance_type": "g6.12xlarge", "count": 1, "id": "cr-00000000000000002", "tags": OWNED},
        {"zone": "us-east-2a", "instance_type": "g6.12xlarge", "count": 1, "id": "cr-00000000000000003", "tags": OURS},
    ]
    blocks = [{"zone": "us-east-2a", "instance_type": "p5.48xlarge", "count": 1}]
    account.aws.rehearse(reservations=given, blocks=blocks)
    assert [one.resource_id for one in account.search().resources] == ["cr-00000000000000003"]


def test_file_systems_are_found_by_mark_alone(account: Account) -> None:
    efs = account.aws.session().client("efs", REGION)
    ours = efs.create_file_system(CreationToken="a", Tags=rows(OURS))["FileSystemId"]
    efs.create_file_system(CreationToken="b", Tags=rows({"efs.csi.aws.com/cluster": "true"}))
    (found,) = account.search(vpc=account.vpc).resources
    assert (found.resource_id, found.kind, found.owned) == (ours, ResourceKind.FILE_SYSTEM, True)
    AwsWriterClient(account.aws.session()).remove(found)
    assert account.search(vpc=account.vpc).resources == ()


def test_marks_are_swept_by_cluster_and_two_of_them_are_needed(account: Account) -> None:
    volume = account.volume({**OURS, TAG_EXPIRES: "2026-01-01T00:00:00+00:00"})
    account.volume({TAG_CLUSTER: "half"})
    (estate,) = MarkSearch(account.aws.session()).sweep([REGION, "eu-west-1"]).estates
    assert (estate.region, estate.cluster) == (REGION, "training")
    assert {one.resource_id for one in estate.things} == {volume, account.vpc}


def test_a_region_that_does_not_answer_is_a_problem_and_not_empty(account: Account) -> None:
    account.aws.rehearse(faults=[{"on": "ec2:DescribeTags", "region": "eu-west-1", "error": "UnauthorizedOperation"}])
    sweep = MarkSearch(account.aws.session()).sweep([REGION, "eu-west-1"])
    assert list(sweep.problems) == ["eu-west-1"]
    assert len(sweep.estates) == 1


def test_tags_are_set_on_what_is_there_though_one_thing_has_gone(account: Account) -> None:
    volume, gone = account.volume(OURS), account.volume(OURS)
    account.boto.delete_volume(VolumeId=gone)
    AwsWriterClient(account.aws.session()).tag(REGION, [gone, volume], {TAG_EXPIRES: "later"})
    estate = MarkSearch(account.aws.session()).estate(REGION, "training")
    assert {one.resource_id: one.tags.get(TAG_EXPIRES) for one in estate.things} == {volume: "later", account.vpc: None}
