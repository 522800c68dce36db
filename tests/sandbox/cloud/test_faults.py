"""Faults by selector and count, without any server."""

from __future__ import annotations

from clusterctl.sandbox.cloud.faults import FaultBook
from clusterctl.sandbox.scenario import Fault

ON = "ec2:CreateCapacityReservation"


def book(**fault: object) -> FaultBook:
    made = FaultBook()
    made.replace([Fault.model_validate({"on": ON, **fault})])
    return made


def test_a_fault_strikes_as_often_as_it_says() -> None:
    faults = book(error="RequestLimitExceeded", times=2)
    struck = [faults.take(ON, {}) is not None for _ in range(4)]
    assert struck == [True, True, False, False]
    assert faults.rows() == []


def test_a_fault_without_times_never_ends() -> None:
    faults = book(error="InternalError")
    assert all(faults.take(ON, {}) for _ in range(50))


def test_a_zone_is_known_by_name_and_by_id() -> None:
    zone = {"zone": ["us-east-2b", "use2-az2"]}
    assert book(zone="us-east-2b").take(ON, zone)
    assert book(zone="use2-az2").take(ON, zone)
    assert book(zone="us-east-2a").take(ON, zone) is None


def test_a_selector_that_the_call_does_not_have_does_not_match() -> None:
    assert book(instance_type="g6.12xlarge").take(ON, {"region": ["us-east-2"]}) is None


def test_patterns_match_actions() -> None:
    faults = FaultBook()
    faults.replace([Fault(on="ec2:Describe*", error="RequestLimitExceeded")])
    assert faults.take("ec2:DescribeVpcs", {})
    assert faults.take("ec2:CreateVpc", {}) is None
