"""The ranking of places: laws over any facts, then the order and the reasons by example."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterctl.errors import AccessError, CapacityUnavailableError, ClusterctlError, QuotaTooSmallError
from clusterctl.model.capacity import (
    Candidate,
    ProbeOutcome,
    Question,
    Quota,
    RegionFacts,
    Reservation,
    ReservationOrder,
    Source,
    Verdict,
    Zone,
)
from clusterctl.model.failures import Cause, Failure, classify
from clusterctl.model.instances import InstanceType, quota_code
from clusterctl.model.ranking import choose, rank

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
G6 = InstanceType("g6.12xlarge", 48, 196608, gpus=4, gpu_name="L4", efa_interfaces=1)
P5 = InstanceType("p5.48xlarge", 192, 2097152, gpus=8, gpu_name="H100", efa_interfaces=32)
KINDS = {kind.name: kind for kind in (G6, P5)}
FAILURES = tuple(
    classify(code)
    for code in ("InsufficientInstanceCapacity", "InstanceLimitExceeded", "UnauthorizedOperation",
                 "RequestLimitExceeded", "InternalError", "Unsupported", "SomethingNew")
)  # fmt: skip


def zones(region: str = "us-east-2", count: int = 3) -> tuple[Zone, ...]:
    short = {"us-east-1": "use1", "us-east-2": "use2"}[region]
    return tuple(Zone(f"{region}{'abcdef'[number]}", f"{short}-az{number + 1}") for number in range(count))


def region_facts(name: str = "us-east-2", **changes: Any) -> RegionFacts:
    """Three zones with plenty of everything, and no cluster."""
    here = zones(name)
    quotas = {quota_code(kind): Quota(quota_code(kind), 1000, 0) for kind in KINDS}
    offered = frozenset((kind, zone.zone_id) for kind in KINDS for zone in here)
    plain = RegionFacts(name, here, dict(KINDS), offered, quotas, prices={G6.name: 4.6, P5.name: 55.0})
    return replace(plain, **changes)


def outcome(zone: Zone, failure: Failure | None = None, kind: InstanceType = G6, count: int = 2) -> ProbeOutcome:
    order = ReservationOrder(zone.name[:-1], zone.name, zone.zone_id, kind.name, count, "token")
    return ProbeOutcome(order, NOW, failure)


def question(*types: str, nodes: int = 2, **changes: Any) -> Question:
    return replace(Question(types or (G6.name,), nodes, ("us-east-2", "us-east-1")), **changes)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Question, tuple[RegionFacts, ...], tuple[ProbeOutcome, ...]]:
    regions = draw(st.permutations(["us-east-1", "us-east-2"]))
    facts = []
    for name in regions:
        here = zones(name)
        places = [(kind, zone.zone_id) for kind in KINDS for zone in here]
        limit = draw(st.sampled_from([None, 0.0, 96.0, 1000.0]))
        problems = draw(st.dictionaries(st.sampled_from(["zones", "types", "offerings", "scores"]),
                                        st.sampled_from(FAILURES), max_size=1))  # fmt: skip
        facts.append(
            RegionFacts(
                region=name,
                zones=() if "zones" in problems else here,
                types={} if "types" in problems else dict(KINDS),
                offered=frozenset(draw(st.sets(st.sampled_from(places)))),
                quotas={
                    code: Quota(code, limit, draw(st.sampled_from([None, 0, 90]))) for code in map(quota_code, KINDS)
                },
                scores=draw(st.dictionaries(st.sampled_from(places), st.integers(1, 10))),
                subnets=draw(
                    st.none() | st.dictionaries(st.sampled_from([zone.name for zone in here]), st.just("subnet-1"))
                ),
                prices=draw(st.dictionaries(st.sampled_from(sorted(KINDS)), st.floats(0.1, 100))),
                problems=problems,
            )
        )
    everywhere = [zone for name in regions for zone in zones(name)]
    failures = draw(st.dictionaries(st.sampled_from(everywhere), st.none() | st.sampled_from(FAILURES)))
    asked = question(*draw(st.permutations(sorted(KINDS))), nodes=draw(st.integers(1, 3)))
    return asked, tuple(facts), tuple(outcome(zone, found, count=asked.nodes) for zone, found in failures.items())


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_every_place_is_ranked_exactly_once(world: Any) -> None:
    asked, facts, outcomes = world
    ranked = rank(asked, facts, outcomes)
    wanted = {
        (region.region, kind, zone.zone_id)
        for region in facts for zone in (region.zones or (Zone("", ""),)) for kind in asked.instance_types
    }  # fmt: skip
    assert sorted((one.region, one.instance_type, one.zone_id) for one in ranked) == sorted(wanted)
    assert [one.rank for one in ranked] == list(range(1, len(ranked) + 1))
    assert all(one.reason for one in ranked)


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_the_order_of_the_answers_does_not_matter(world: Any) -> None:
    asked, facts, outcomes = world
    assert rank(asked, facts, outcomes) == rank(asked, tuple(reversed(facts)), tuple(reversed(outcomes)))


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_usable_places_come_first_and_by_preference(world: Any) -> None:
    asked, facts, outcomes = world
    ranked = rank(asked, facts, outcomes)
    usable = [one.usable for one in ranked]
    assert usable == sorted(usable, reverse=True)
    wanted = [asked.instance_types.index(one.instance_type) for one in ranked if one.usable]
    assert wanted == sorted(wanted)
    for kind in asked.instance_types:
        proved = [one.verdict is Verdict.AVAILABLE for one in ranked if one.usable and one.instance_type == kind]
        assert proved == sorted(proved, reverse=True)


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_no_capacity_is_said_only_where_ec2_said_it(world: Any) -> None:
    asked, facts, outcomes = world
    said = {one.order.zone_id for one in outcomes if one.failure and one.failure.cause is Cause.CAPACITY}
    for one in rank(asked, facts, outcomes):
        if one.verdict is Verdict.NO_CAPACITY:
            assert one.zone_id in said
        if one.usable:
            assert one.zone_id != "use1-az3"
            assert one.subnet in ("yes", "no-cluster")
            assert (one.instance_type, one.zone_id) in next(f for f in facts if f.region == one.region).offered


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_choosing_gives_the_first_usable_place_or_an_error_of_ours(world: Any) -> None:
    ranked = rank(*world)
    if any(one.usable for one in ranked):
        assert choose(ranked) is ranked[0]
        return
    with pytest.raises(ClusterctlError) as caught:
        choose(ranked)
    assert len(caught.value.document["candidates"]) == len(ranked)
    if isinstance(caught.value, AccessError):
        assert any(one.verdict is Verdict.DENIED for one in ranked)


def places(ranked: tuple[Candidate, ...]) -> list[str]:
    return [one.zone for one in ranked]


def by_zone(ranked: tuple[Candidate, ...]) -> dict[str, Candidate]:
    return {one.zone: one for one in ranked}


def test_proof_beats_a_subnet_beats_a_score_beats_a_price() -> None:
    a, b, c = zones()
    scores = {(G6.name, a.zone_id): 1, (G6.name, b.zone_id): 9, (G6.name, c.zone_id): 5}
    facts = region_facts(scores=scores)
    assert places(rank(question(), [facts])) == [b.name, c.name, a.name]
    assert places(rank(question(), [facts], [outcome(a)])) == [a.name, b.name, c.name]
    cheap = region_facts("us-east-1", prices={G6.name: 1.0})
    assert [one.region for one in rank(question(), [region_facts(), cheap])][:2] == ["us-east-1", "us-east-1"]
    assert next(one.region for one in rank(question(), [region_facts(), region_facts("us-east-1")])) == "us-east-2"


def test_the_users_order_of_types_beats_price_and_score() -> None:
    facts = region_facts(scores={(G6.name, "use2-az1"): 10})
    ranked = rank(question(P5.name, G6.name), [facts])
    assert [one.instance_type for one in ranked] == [P5.name] * 3 + [G6.name] * 3


def test_a_zone_where_eks_cannot_run_is_skipped_by_its_id() -> None:
    facts = region_facts("us-east-1", zones=(Zone("us-east-1b", "use1-az3"), Zone("us-east-1a", "use1-az1")))
    skipped = by_zone(rank(question(), [facts]))["us-east-1b"]
    assert (skipped.verdict, skipped.reason) == (Verdict.SKIPPED, "EKS cannot run in us-east-1b (use1-az3)")


def test_a_zone_without_a_private_subnet_is_skipped_and_the_next_one_used() -> None:
    a, b, c = zones()
    facts = region_facts(subnets={b.name: "subnet-b", c.name: "subnet-c"}, free_addresses={b.name: 9, c.name: 1})
    ranked = by_zone(rank(question(cluster="training"), [facts]))
    assert ranked[a.name].reason.startswith("no private subnet in us-east-2a")
    assert (ranked[b.name].usable, ranked[b.name].subnet, ranked[b.name].subnet_id) == (True, "yes", "subnet-b")
    assert "1 free addresses, 2 are needed" in ranked[c.name].reason


def test_a_cluster_that_could_not_be_looked_at_is_not_called_absent() -> None:
    facts = region_facts(problems={"subnets": classify("AccessDeniedException")})
    assert {one.subnet for one in rank(question(), [facts])} == {"unknown"}


def test_a_short_quota_names_need_limit_and_the_command() -> None:
    facts = region_facts(quotas={"L-417A185B": Quota("L-417A185B", 192, 96)})
    ranked = rank(question(P5.name), [facts])
    assert {one.verdict for one in ranked} == {Verdict.QUOTA}
    assert "needs 384 vCPU, quota L-417A185B is 192 with 96 in use" in ranked[0].reason
    with pytest.raises(QuotaTooSmallError) as caught:
        choose(ranked)
    assert "--quota-code L-417A185B --desired-value 480 --region us-east-2" in caught.value.hint


def test_an_unknown_quota_keeps_a_place_usable_and_says_so() -> None:
    facts = region_facts(quotas={quota_code(G6.name): Quota(quota_code(G6.name), None, None, "denied: no")})
    best = choose(rank(question(), [facts]))
    assert "quota unknown (denied: no)" in best.reason


def test_a_reservation_that_the_user_names_is_the_only_place_whatever_the_quota() -> None:
    held = Reservation("cr-1", "us-east-2", "us-east-2b", "use2-az2", G6.name, 2, 2, "active")
    facts = region_facts(quotas={quota_code(G6.name): Quota(quota_code(G6.name), 96, 96)})
    (only,) = rank(question(), [facts], (), held)
    assert (only.zone, only.source, only.verdict) == ("us-east-2b", Source.RESERVATION, Verdict.AVAILABLE)
    assert only.reservation_id == "cr-1"
    (block,) = rank(question(), [facts], (), replace(held, is_block=True))
    assert block.source is Source.CAPACITY_BLOCK


def test_an_account_reservation_with_room_is_pointed_out_and_not_taken() -> None:
    held = Reservation("cr-1", "us-east-2", "us-east-2b", "use2-az2", G6.name, 2, 2, "active")
    ranked = by_zone(rank(question(), [region_facts(reservations=(held,))]))
    assert "CAPACITY_RESERVATION_ID=cr-1" in ranked["us-east-2b"].reason
    assert ranked["us-east-2b"].reservation_id == ""


def test_a_type_that_is_only_sold_in_blocks_is_not_offered_on_demand() -> None:
    blocks_only = replace(P5, usage_classes=("capacity-block",))
    ranked = rank(question(P5.name), [region_facts(types={P5.name: blocks_only})])
    assert {one.verdict for one in ranked} == {Verdict.NOT_OFFERED}
    assert "capacity blocks only" in ranked[0].reason


def test_zones_limit_the_search_by_name_or_by_id() -> None:
    assert places(rank(question(zones=("us-east-2b", "use2-az3")), [region_facts()])) == ["us-east-2b", "us-east-2c"]


def test_a_probe_for_another_number_of_nodes_proves_nothing() -> None:
    a, *_ = zones()
    assert by_zone(rank(question(nodes=4), [region_facts()], [outcome(a, count=2)]))[a.name].source is Source.UNPROBED


@pytest.mark.parametrize(
    ("codes", "error", "exit_code"),
    [
        (["InsufficientInstanceCapacity"] * 3, CapacityUnavailableError, 3),
        (
            ["InsufficientInstanceCapacity", "UnauthorizedOperation", "RequestLimitExceeded"],
            CapacityUnavailableError,
            3,
        ),
        (["InstanceLimitExceeded"] * 3, QuotaTooSmallError, 4),
        (["UnauthorizedOperation"] * 3, AccessError, 6),
        (["RequestLimitExceeded"] * 3, ClusterctlError, 1),
        (["InternalError", "UnauthorizedOperation", "InstanceLimitExceeded"], ClusterctlError, 1),
    ],
)
def test_the_error_says_what_kept_every_place_away(
    codes: list[str], error: type[ClusterctlError], exit_code: int
) -> None:
    failures = [outcome(zone, classify(code, "said AWS")) for zone, code in zip(zones(), codes, strict=True)]
    with pytest.raises(error) as caught:
        choose(rank(question(), [region_facts()], failures))
    assert type(caught.value) is error
    assert caught.value.exit_code == exit_code
    assert caught.value.document["best"] is None
    assert len(caught.value.details.splitlines()) == 3


def test_prices_are_for_all_nodes_and_unknown_ones_stay_unknown() -> None:
    assert rank(question(nodes=3), [region_facts()])[0].hourly_usd == pytest.approx(13.8)
    assert rank(question(), [region_facts(prices={})])[0].hourly_usd is None
