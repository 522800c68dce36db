"""The search for a place: once decided it is read back. The survey and the cluster answer from the test's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from clusterctl.engine.actions import CancelReservation, ProbeCapacity, RememberPlacement
from clusterctl.engine.executor import Executor
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline
from clusterctl.engine.probing import ProbeLedger
from clusterctl.errors import BusyError, CapacityUnavailableError, LeftoversError, UsageError
from clusterctl.model.capacity import (
    PROBE,
    TAG_PURPOSE,
    ProbeOutcome,
    Question,
    Quota,
    RegionFacts,
    Reservation,
    ReservationOrder,
    Source,
    Zone,
)
from clusterctl.model.cluster import TAG_CLUSTER, TAG_OWNER, TAG_RUN, ClusterState
from clusterctl.model.decision import Asked, Decision, Remembered
from clusterctl.model.failures import classify
from clusterctl.model.instances import InstanceType, quota_code
from clusterctl.model.placement import Placement
from clusterctl.model.run import RunContext
from clusterctl.stages.probe import FRESH, ProbeStage, Readers
from fakes import START, FakeClock, FakePlacements, Recorder, ScriptedClusters, executor, group

KIND = InstanceType("g6.12xlarge", 48, 196_608, gpus=4, gpu_name="L4", efa_interfaces=1)
ZONES = tuple(Zone(f"us-east-2{letter}", f"use2-az{number}") for number, letter in enumerate("abc", start=1))
RUN = RunContext("run-2", "111122223333", "ada", "training")
BEFORE = Placement(
    account_id="111122223333", region="us-east-2", cluster_name="training", gpu_az="us-east-2b", gpu_az_id="use2-az2",
    gpu_node_type="g6.12xlarge", gpu_node_count=2, gpu_nodegroup_name="gpu", capacity_source="probe", run_id="run-1",
)  # fmt: skip
STANDING = group("ACTIVE", "CREATE_COMPLETE", instance_type="g6.12xlarge", zones=("us-east-2b",), desired=2,
                 subnets=("subnet-b",), instances=2)  # fmt: skip


def facts(**more: object) -> RegionFacts:
    offered = frozenset((KIND.name, zone.zone_id) for zone in ZONES)
    code = quota_code(KIND.name)
    plain = RegionFacts("us-east-2", ZONES, {KIND.name: KIND}, offered, {code: Quota(code, 1000, 0)})
    return replace(plain, **more)


@dataclass
class Region:
    """One region's answers, the placement file and the cluster; it counts the surveys."""

    answer: RegionFacts = field(default_factory=facts)
    placement: FakePlacements = field(default_factory=FakePlacements)
    clusters: ScriptedClusters = field(default_factory=ScriptedClusters)
    reservation: Reservation | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    ledger: ProbeLedger = field(default_factory=ProbeLedger)
    surveys: int = 0
    full: frozenset[str] = frozenset()  # zones where a probe finds nothing
    orders: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)

    def enabled_regions(self) -> tuple[str, ...]:
        return ("us-east-2",)

    def instance_type(self, region: str, name: str) -> InstanceType | None:
        return KIND

    def similar_types(self, region: str, name: str) -> tuple[str, ...]:
        return ("g6.12xlarge",)

    def ask(self, question: Question) -> tuple[RegionFacts, ...]:
        self.surveys += 1
        return (self.answer,)

    def find(self, region: str, reservation_id: str) -> Reservation | None:
        return self.reservation

    def ours(self, regions: Sequence[str]) -> tuple[Reservation, ...]:
        return ()

    def prove(self, orders: Sequence[ReservationOrder]) -> tuple[ProbeOutcome, ...]:
        self.orders += [order.zone for order in orders]
        none = classify("InsufficientInstanceCapacity", "none left")
        return tuple(ProbeOutcome(one, START, none if one.zone in self.full else None, "cr-1") for one in orders)

    def cancel(self, region: str, reservation_id: str) -> None:
        self.cancelled.append(reservation_id)
        self.answer = replace(self.answer, reservations=())

    def stage(self) -> ProbeStage:
        return ProbeStage(Readers(self, self, self.clusters, self.placement), self.ledger, self.clock)

    def hands(self) -> Executor:
        return executor(prober=self, ledger=self.ledger, placement=self.placement)


def inputs(*, probe: bool = False, save: bool = True, explicit: tuple[str, ...] = (), nodegroup: str = "gpu",
           run: RunContext = RUN, **asked: object) -> Outputs:  # fmt: skip
    plain = Question((KIND.name,), 2, ("us-east-2",), cluster="training")
    question = replace(plain, **asked)
    bag = Outputs().with_value(run).with_value(Asked(question, nodegroup, probe, save))
    return bag.with_value(Remembered(None, frozenset(explicit)))


def decided(region: Region, given: Outputs | None = None) -> Decision:
    return region.stage().observe(given or inputs())


def standing(**more: object) -> Region:
    clusters = ScriptedClusters(clusters=(ClusterState("us-east-2", "training", "ACTIVE"),), groups=(STANDING,))
    return Region(clusters=clusters, placement=FakePlacements(BEFORE), **more)  # type: ignore[arg-type]


def test_a_decision_is_remembered_and_then_needs_nothing_more() -> None:
    region = Region()
    stage, given = region.stage(), inputs()
    (action,) = stage.plan(given, stage.observe(given))
    assert isinstance(action, RememberPlacement)
    region.placement.save(action.placement)
    assert stage.plan(given, stage.observe(given)) == ()


def test_nothing_is_remembered_unless_it_is_to_be_saved() -> None:
    stage, given = Region().stage(), inputs(save=False)
    assert stage.plan(given, stage.observe(given)) == ()


def test_a_probe_proves_each_open_place_once_and_ends_with_a_proved_one() -> None:
    region = Region(full=frozenset({"us-east-2a"}))
    result = Pipeline((region.stage(),), region.hands(), region.clock, Recorder()).apply(inputs(probe=True))
    assert result.error is None
    decision = result.outputs[Decision]
    assert decision.candidate.zone != "us-east-2a"
    assert decision.candidate.source is Source.PROBE
    assert sorted(region.orders) == ["us-east-2a", "us-east-2b", "us-east-2c"]
    assert region.placement.kept is not None
    assert region.placement.kept.capacity_source == "probe"


def test_without_room_anywhere_a_probe_ends_with_no_capacity() -> None:
    region = Region(full=frozenset(zone.name for zone in ZONES))
    result = Pipeline((region.stage(),), region.hands(), region.clock, Recorder()).apply(inputs(probe=True))
    assert isinstance(result.error, CapacityUnavailableError)
    assert region.placement.kept is None


def test_a_plan_never_probes_unless_told() -> None:
    stage, given = Region().stage(), inputs()
    assert not [one for one in stage.plan(given, stage.observe(given)) if isinstance(one, ProbeCapacity)]


def test_a_place_where_nodes_stand_is_read_back_and_not_searched_for_again() -> None:
    full = facts(quotas={quota_code(KIND.name): Quota(quota_code(KIND.name), 96, 96)})  # its own nodes fill it
    region = standing(answer=full)
    decision = decided(region, inputs(probe=True))
    assert decision.live
    assert (decision.candidate.zone, decision.candidate.subnet_id) == ("us-east-2b", "subnet-b")
    assert region.stage().plan(inputs(probe=True), decision) in ((), (RememberPlacement(_with_subnet()),))


def _with_subnet() -> Placement:
    return replace(BEFORE, gpu_subnet="subnet-b")


def test_what_was_proved_once_stays_proved() -> None:
    region = standing()
    actions = region.stage().plan(inputs(), decided(region))
    assert all(one.placement.capacity_source == "probe" for one in actions if isinstance(one, RememberPlacement))


def test_a_lost_file_is_no_reason_to_search_where_nodes_stand() -> None:
    region = Region(answer=facts(subnets={"us-east-2b": "subnet-b"}), clusters=ScriptedClusters(groups=(STANDING,)))
    assert decided(region).live


@pytest.mark.parametrize("status", ["", "CREATE_FAILED", "DELETING"])
def test_a_remembered_place_without_nodes_is_searched_for_again(status: str) -> None:
    region = Region(placement=FakePlacements(BEFORE), clusters=ScriptedClusters(groups=(group(status),)))
    assert not decided(region).live


@pytest.mark.parametrize(
    ("explicit", "asked", "words"),
    [
        ("GPU_AZ", {"zones": ("us-east-2a",)}, "GPU_AZ is us-east-2a.*stands with us-east-2b"),
        ("GPU_NODE_COUNT", {"nodes": 4}, "GPU_NODE_COUNT is 4.*stands with 2"),
        ("INSTANCE_TYPES", {"instance_types": ("p5.48xlarge",)}, "INSTANCE_TYPES is p5.48xlarge.*with g6.12xlarge"),
        ("REGIONS", {"regions": ("us-west-2",)}, "REGIONS is us-west-2.*stands with us-east-2"),
        ("CLUSTER_NAME", {"cluster": "other"}, "CLUSTER_NAME is other.*leads to training"),
    ],
)
def test_what_is_said_against_a_live_node_group_is_refused_naming_both(
    explicit: str, asked: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        decided(standing(), inputs(explicit=(explicit,), **asked))


def test_what_was_only_remembered_or_default_does_not_contradict() -> None:
    assert decided(standing(), inputs(nodes=4, zones=("us-east-2a",))).live


def test_a_region_other_than_that_of_a_standing_cluster_is_refused() -> None:
    region = standing()
    region.clusters = ScriptedClusters(clusters=(ClusterState("us-east-2", "training", "ACTIVE"),))
    with pytest.raises(UsageError, match="us-west-2 is asked for, and cluster training stands in us-east-2"):
        decided(region, inputs(explicit=("REGIONS",), regions=("us-west-2",)))


def test_another_accounts_file_is_refused_before_anything_is_asked() -> None:
    region = standing()
    with pytest.raises(UsageError, match="belongs to account 111122223333, the credentials to 999"):
        decided(region, inputs(run=replace(RUN, account_id="999")))
    assert (region.surveys, region.clusters.asked) == (0, [])


def test_probes_that_an_earlier_run_left_are_cancelled_first_and_only_those() -> None:
    tags = {TAG_PURPOSE: PROBE, TAG_CLUSTER: "training", TAG_OWNER: "ada", TAG_RUN: "run-1"}
    plain = Reservation("cr-x", "us-east-2", "us-east-2a", "use2-az1", KIND.name, 2, 2, "active")
    held = tuple(
        replace(plain, reservation_id=name, tags={**tags, **more})
        for name, more in {
            "cr-stray": {}, "cr-this-run": {TAG_RUN: "run-2"}, "cr-other-owner": {TAG_OWNER: "bob"},
            "cr-other-cluster": {TAG_CLUSTER: "another"}, "cr-no-probe": {TAG_PURPOSE: "hold"},
        }.items()
    )  # fmt: skip
    region = Region(answer=facts(reservations=held))
    stage = region.stage()
    (action,) = stage.plan(inputs(probe=True), stage.observe(inputs(probe=True)))
    assert isinstance(action, CancelReservation)
    assert action.reservation_id == "cr-stray"
    result = Pipeline((stage,), region.hands(), region.clock, Recorder()).apply(inputs())
    assert (result.error, region.cancelled) == (None, ["cr-stray"])


def test_a_probe_that_nobody_saw_cancelled_stops_the_run() -> None:
    region = Region()
    order = ReservationOrder("us-east-2", "us-east-2a", "use2-az1", KIND.name, 2, "token")
    region.ledger.record((ProbeOutcome(order, START, reservation_id="cr-9", cancelled=False),))
    with pytest.raises(LeftoversError, match="reservation cr-9 in us-east-2a") as caught:
        region.stage().plan(inputs(), decided(region))
    assert "cancel-capacity-reservation --region us-east-2 --capacity-reservation-id cr-9" in caught.value.hint


def test_a_survey_is_asked_once_while_its_answers_are_fresh() -> None:
    region = Region()
    stage = region.stage()
    for _ in range(3):
        stage.observe(inputs())
    assert region.surveys == 1
    region.clock.slept_s += (FRESH + timedelta(seconds=1)).total_seconds()
    stage.observe(inputs())
    assert region.surveys == 2


def test_a_reservation_that_no_region_knows_is_an_error() -> None:
    with pytest.raises(UsageError, match="no reservation cr-0 in us-east-2"):
        decided(Region(), inputs(reservation_id="cr-0"))


def test_the_same_place_has_the_same_token_in_one_run_and_another_in_the_next() -> None:
    def tokens(run: RunContext) -> tuple[str, ...]:
        stage, given = Region().stage(), inputs(probe=True, run=run)
        (probe,) = stage.plan(given, stage.observe(given))
        assert isinstance(probe, ProbeCapacity)
        return tuple(order.client_token for order in probe.orders)

    assert tokens(RUN) == tokens(RUN)
    assert not set(tokens(RUN)) & set(tokens(replace(RUN, run_id="run-3")))


@pytest.mark.parametrize("before", [BEFORE, None])
def test_a_node_group_whose_stack_alone_shows_is_waited_for_and_not_searched_past(before: Placement | None) -> None:
    """Killed right after a launch: nobody knows the zone yet, and a new search would remember another one."""
    coming, cluster = group("", "CREATE_IN_PROGRESS"), ClusterState("us-east-2", "training", "ACTIVE")
    clusters = ScriptedClusters(clusters=(cluster,), groups=(coming, coming, STANDING))
    region = Region(facts(subnets={"us-east-2b": "subnet-b"}), FakePlacements(before), clusters)
    result = Pipeline((region.stage(),), region.hands(), region.clock, Recorder()).apply(inputs(probe=True))
    assert result.error is None
    assert result.outputs[Decision].live
    assert region.placement.kept is not None
    assert region.placement.kept.gpu_az == "us-east-2b"
    assert region.orders == []


def test_a_node_group_that_does_not_show_is_busy_for_those_who_cannot_wait() -> None:
    region = Region(
        placement=FakePlacements(BEFORE), clusters=ScriptedClusters(groups=(group("", "CREATE_IN_PROGRESS"),))
    )
    with pytest.raises(BusyError, match="EKS does not show node group gpu yet"):
        _ = region.stage().observe(inputs()).candidate
