"""The survey of regions against AWS on loopback: what it reads, and what it says when AWS will not answer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from clusterctl.adapters.aws.offerings import read_type
from clusterctl.adapters.aws.scores import capacity_class, groups
from clusterctl.adapters.aws.survey import AwsSurvey
from clusterctl.errors import AccessError, UsageError
from clusterctl.model.capacity import Question, RegionFacts, Verdict, Zone
from clusterctl.model.failures import Cause
from clusterctl.model.ranking import rank
from clusterctl.sandbox.state import ACCOUNT_ID
from local_aws import LocalAws

G6 = "g6.12xlarge"
QUESTION = Question((G6,), 2, ("us-east-2",))
QUOTA_G = "L-DB2E81BA"


def survey(aws: LocalAws, cache: Path | None = None, limit_s: float = 30.0) -> AwsSurvey:
    return AwsSurvey(aws.session(), aws.clock, ACCOUNT_ID, cache, limit_s)


def one(aws: LocalAws, question: Question = QUESTION, **options: Any) -> RegionFacts:
    (facts,) = survey(aws, **options).ask(question)
    return facts


def test_a_region_says_all_that_is_needed_to_choose(aws: LocalAws) -> None:
    facts = one(aws)
    kind = facts.types[G6]
    assert (kind.gpus, kind.efa_interfaces, kind.vcpus, kind.gpu_name) == (4, 1, 48, "L4")
    assert {zone.name for zone in facts.zones} == {"us-east-2a", "us-east-2b", "us-east-2c"}
    assert {place for place, _ in facts.offered} == {G6}
    assert (facts.quotas[QUOTA_G].limit, facts.quotas[QUOTA_G].used) == (768, 0)
    assert facts.prices[G6] == pytest.approx(4.6016)
    assert set(facts.scores) == {(G6, zone.zone_id) for zone in facts.zones}
    assert facts.subnets is None
    assert facts.problems == {}


def test_zones_without_eks_are_known_by_id_whatever_their_name(aws: LocalAws) -> None:
    aws.rehearse(zones={"us-east-1": {"us-east-1b": "use1-az3"}})
    question = Question((G6,), 2, ("us-east-1",))
    facts = one(aws, question)
    assert Zone("us-east-1b", "use1-az3") in facts.zones
    places = {place.zone: place for place in rank(question, [facts])}
    assert places["us-east-1b"].verdict in (Verdict.SKIPPED, Verdict.NOT_OFFERED)


def test_unused_reservations_count_as_if_they_ran(aws: LocalAws) -> None:
    aws.rehearse(
        reservations=[
            {"zone": "us-east-2a", "instance_type": G6, "count": 3},
            {"zone": "us-east-2a", "instance_type": "p5.48xlarge", "count": 1},
        ],
        blocks=[{"zone": "us-east-2b", "instance_type": "p5.48xlarge", "count": 2}],
    )
    facts = one(aws, Question((G6, "p5.48xlarge"), 2, ("us-east-2",)))
    assert facts.quotas[QUOTA_G].used == 3 * 48
    assert facts.quotas["L-417A185B"].used == 192  # a block has a quota of its own
    assert sorted(held.is_block for held in facts.reservations) == [False, False, True]


def test_running_instances_count_by_what_they_are(aws: LocalAws) -> None:
    ec2 = aws.boto("ec2", "us-east-2")
    ec2.run_instances(ImageId="ami-12c6146b", InstanceType="g6.xlarge", MinCount=2, MaxCount=2)
    ec2.run_instances(ImageId="ami-12c6146b", InstanceType="m5.large", MinCount=1, MaxCount=1)
    assert one(aws).quotas[QUOTA_G].used == 8


def test_a_quota_without_an_applied_value_falls_back_to_the_default(aws: LocalAws) -> None:
    facts = one(aws, Question(("inf2.48xlarge",), 1, ("us-east-2",)))
    assert facts.quotas["L-1945791B"].limit == 0


@pytest.mark.parametrize(
    ("call", "error", "part", "cause"),
    [
        ("ec2:DescribeInstances", "UnauthorizedOperation", "running", Cause.DENIED),
        ("ec2:DescribeInstanceTypeOfferings", "UnauthorizedOperation", "offerings", Cause.DENIED),
        ("ec2:DescribeCapacityReservations", "UnauthorizedOperation", "reservations", Cause.DENIED),
        ("ec2:GetSpotPlacementScores", "MaxConfigLimitExceeded", "scores", Cause.UNKNOWN),
        ("pricing:GetProducts", "AccessDeniedException", "prices", Cause.DENIED),
        ("eks:DescribeCluster", "AccessDeniedException", "subnets", Cause.DENIED),
    ],
)  # fmt: skip
def test_a_part_that_is_refused_is_a_problem_and_the_rest_is_there(
    aws: LocalAws, call: str, error: str, part: str, cause: Cause
) -> None:
    aws.rehearse(faults=[{"on": call, "error": error}])
    facts = one(aws, Question((G6,), 2, ("us-east-2",), cluster="training"))
    assert facts.problems[part].cause is cause
    assert facts.zones
    assert facts.types


def test_denied_quota_is_unknown_and_stays_usable(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": "service-quotas:GetServiceQuota", "error": "AccessDeniedException"}])
    facts = one(aws)
    assert facts.quotas[QUOTA_G].limit is None
    best = rank(QUESTION, [facts])[0]
    assert best.usable
    assert "quota unknown (denied" in best.reason


def test_denied_offerings_are_never_read_as_not_offered(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": "ec2:DescribeInstanceTypeOfferings", "error": "UnauthorizedOperation"}])
    assert {place.verdict for place in rank(QUESTION, [one(aws)])} == {Verdict.DENIED}


def test_a_price_list_that_may_not_be_read_leaves_a_table_that_says_its_date(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": "pricing:GetProducts", "error": "AccessDeniedException"}])
    facts = one(aws)
    assert facts.prices[G6] == pytest.approx(4.6016)
    assert "us-east-1 on 2026-07-20" in facts.problems["prices"].message


def test_throttled_reads_are_repeated_until_they_answer(aws: LocalAws) -> None:
    aws.rehearse(faults=[{"on": "ec2:DescribeInstanceTypes", "error": "RequestLimitExceeded", "times": 1}])
    assert G6 in one(aws).types


def test_a_region_that_hangs_is_unknown_and_does_not_hold_up_the_others(aws: LocalAws) -> None:
    hour = aws.time.speed * 15.0  # a quarter of a minute on the wall
    aws.rehearse(faults=[{"on": "ec2:DescribeAvailabilityZones", "region": "us-west-2", "delay_s": hour}])
    question = Question((G6,), 2, ("us-east-2", "us-west-2"))
    start = time.monotonic()
    quick, slow = survey(aws, limit_s=1.5).ask(question)
    assert time.monotonic() - start < 14
    assert quick.quotas
    assert "no answer within" in slow.problems["zones"].message
    verdicts = {place.region: place.verdict for place in rank(question, [quick, slow])}
    assert verdicts == {"us-east-2": Verdict.UNKNOWN, "us-west-2": Verdict.UNKNOWN}
    assert not any(place.usable for place in rank(question, [slow]))


def test_a_misspelt_region_is_named_with_the_one_that_was_meant(aws: LocalAws) -> None:
    with pytest.raises(UsageError, match="no region us-est-2") as caught:
        survey(aws).ask(Question((G6,), 2, ("us-est-2",)))
    assert "us-east-2" in caught.value.hint


def test_a_region_that_is_not_enabled_says_how_to_enable_it(aws: LocalAws) -> None:
    with pytest.raises(UsageError, match="not enabled") as caught:
        survey(aws).ask(Question((G6,), 2, ("me-south-1",)))
    assert "enable-region --region-name me-south-1" in caught.value.hint


def test_expired_credentials_end_the_survey_at_once(aws: LocalAws) -> None:
    expired = AwsSurvey(aws.session("AKIAEXPIRED000000000"), aws.clock, ACCOUNT_ID)
    with pytest.raises(AccessError):
        expired.ask(QUESTION)


def test_scores_and_prices_are_asked_once_and_then_remembered(aws: LocalAws, tmp_path: Path) -> None:
    first, second = one(aws, cache=tmp_path), one(aws, cache=tmp_path)
    assert (first.prices, first.scores) == (second.prices, second.scores)
    assert len(aws.calls("GetProducts")) == 1
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / ACCOUNT_ID).iterdir()} == {0o600}


def test_similar_types_are_those_of_the_region(aws: LocalAws) -> None:
    assert survey(aws).similar_types("us-east-2", "g6.12xlarg")[0] == G6


def test_a_sweep_of_all_regions_answers_for_each(aws: LocalAws) -> None:
    asking = survey(aws)
    regions = asking.enabled_regions()
    facts = asking.ask(Question((G6,), 2, regions))
    assert [region.region for region in facts] == list(regions)
    assert all(region.zones for region in facts)
    assert len(aws.calls("GetSpotPlacementScores")) == len(groups(regions, regions))


def test_score_groups_never_change_with_the_question() -> None:
    enabled = [f"r{number:02}" for number in range(17)]
    assert groups(["r03", "r12"], enabled) == groups(enabled, enabled)
    assert groups(["r03", "r04"], enabled) == [tuple(enabled[:10])]
    assert groups(["r03"], enabled) == [("r03",)]
    assert [capacity_class(nodes) for nodes in (1, 2, 3, 4, 5, 16)] == [1, 2, 4, 4, 8, 16]


def card(number: int, *kinds: str) -> dict[str, Any]:
    return {"NetworkCardIndex": number, "InterfaceTypes": list(kinds)}


def type_data(cards: list[dict[str, Any]], most: int | None) -> dict[str, Any]:
    network: dict[str, Any] = {"EfaSupported": True, "NetworkCards": cards, "MaximumNetworkCards": len(cards)}
    if most is not None:
        network["EfaInfo"] = {"MaximumEfaInterfaces": most}
    return {
        "InstanceType": "x", "VCpuInfo": {"DefaultVCpus": 192}, "MemoryInfo": {"SizeInMiB": 1}, "NetworkInfo": network,
    }  # fmt: skip


def test_efa_interfaces_are_the_cards_that_take_efa_and_never_more_than_the_maximum() -> None:
    b300 = read_type(type_data([card(0, "interface"), *(card(n, "interface", "efa") for n in range(1, 17))], 16))
    assert (b300.efa_interfaces, b300.first_card_has_efa, b300.network_cards) == (16, False, 17)
    assert read_type(type_data([card(n, "efa") for n in range(4)], 2)).efa_interfaces == 2
    assert read_type(type_data([{"NetworkCardIndex": n} for n in range(4)], 4)).efa_interfaces == 4
    assert read_type(type_data([card(0, "interface", "efa"), card(1, "efa-only")], None)).efa_interfaces == 2
