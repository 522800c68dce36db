"""The decisions behind the files for eksctl."""

from __future__ import annotations

import pytest

from clusterctl.errors import UsageError
from clusterctl.model.capacity import Reservation, Zone
from clusterctl.model.instances import Accelerator, InstanceType
from clusterctl.model.specs import check_ami_family, check_launchable, cluster_zones, placement_group

GROUP_ARN = "arn:aws:ec2:us-east-2:111122223333:placement-group/pg-a"


def zones(*pairs: str) -> list[Zone]:
    return [Zone(*pair.split("=")) for pair in pairs]


def reservation(*, block: bool = False, group: str = "") -> Reservation:
    return Reservation(
        "cr-0", "us-east-2", "us-east-2b", "use2-az2", "p5.48xlarge", 2, 2, "active", block, placement_group_arn=group
    )


def test_every_zone_where_the_type_may_land_is_in_the_cluster() -> None:
    region = zones("us-east-2a=use2-az1", "us-east-2b=use2-az2", "us-east-2c=use2-az3")
    assert cluster_zones(region, ["us-east-2c", "us-east-2a"]) == ("us-east-2a", "us-east-2c")


def test_a_single_zone_is_joined_by_another_that_runs_eks() -> None:
    region = zones("us-east-1a=use1-az3", "us-east-1b=use1-az1", "us-east-1c=use1-az2")
    assert cluster_zones(region, ["us-east-1c"]) == ("us-east-1b", "us-east-1c")


def test_a_zone_where_eks_cannot_run_is_left_out_by_its_id_not_its_name() -> None:
    region = zones("us-east-1a=use1-az1", "us-east-1b=use1-az3", "us-east-1c=use1-az2")
    assert cluster_zones(region, ["us-east-1a", "us-east-1b", "us-east-1c"]) == ("us-east-1a", "us-east-1c")


def test_more_zones_than_subnets_fit_are_cut_behind_the_most_wanted() -> None:
    names = [f"us-east-9{letter}" for letter in "abcdefghij"]
    region = [Zone(name, f"use9-az{number}") for number, name in enumerate(names)]
    chosen = cluster_zones(region, list(reversed(names)))
    assert chosen == tuple(names[2:])


def test_a_region_with_one_zone_for_eks_is_refused() -> None:
    with pytest.raises(UsageError, match="two zones, and only us-west-1b"):
        cluster_zones(zones("us-west-1b=usw1-az1", "us-west-1c=usw1-az2"), ["us-west-1b"])


@pytest.mark.parametrize(
    ("given", "group"),
    [
        (None, ""),
        (reservation(block=True, group=GROUP_ARN), ""),
        (reservation(group=GROUP_ARN), "pg-a"),
        (reservation(), ""),
    ],
)
def test_only_the_group_of_the_reservation_itself_is_named(given: Reservation | None, group: str) -> None:
    assert placement_group(given) == group


def test_a_type_without_efa_on_its_first_card_is_refused_before_eksctl_renders_it_wrong() -> None:
    with pytest.raises(UsageError, match=r"p6-b300\.48xlarge has no EFA on its first network card"):
        check_launchable(InstanceType("p6-b300.48xlarge", 192, 1, gpus=8, efa_interfaces=16, first_card_has_efa=False))


@pytest.mark.parametrize(
    ("family", "accelerator", "words"),
    [
        ("Ubuntu2404", Accelerator.NVIDIA, "no accelerator drivers"),
        ("AmazonLinux2", Accelerator.NVIDIA, "no accelerator drivers"),
        ("Bottlerocket", Accelerator.NEURON, "no driver for neuron"),
    ],
)
def test_an_image_without_the_driver_is_refused(family: str, accelerator: Accelerator, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_ami_family(family, accelerator)


@pytest.mark.parametrize("accelerator", list(Accelerator))
def test_the_default_image_serves_every_accelerator(accelerator: Accelerator) -> None:
    refusal = None
    try:
        check_ami_family("AmazonLinux2023", accelerator)
    except UsageError as problem:
        refusal = problem
    assert refusal is None
