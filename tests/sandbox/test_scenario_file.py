"""What a scenario file may say, and how its mistakes are told."""

from __future__ import annotations

import pytest

from clusterctl.engine.effects import EFFECTS
from clusterctl.errors import UsageError
from clusterctl.sandbox.scenario import parse_scenario


@pytest.mark.parametrize("key", ["on", '"on"'])
def test_the_key_on_needs_no_quotes(key: str) -> None:
    scenario = parse_scenario(f'faults: [{{{key}: "ec2:CreateTags", lose_response: true}}]', "it")
    assert (scenario.faults[0].on, scenario.faults[0].lose_response) == ("ec2:CreateTags", True)


def test_true_and_false_stay_true_and_false() -> None:
    text = "blocks: [{zone: us-east-2a, instance_type: p5.48xlarge, count: 1, offered: False}]"
    assert parse_scenario(text, "it").blocks[0].offered is False


def test_an_unknown_key_is_named_with_its_file() -> None:
    with pytest.raises(UsageError, match=r"rain\.yaml: capcity"):
        parse_scenario("capcity: {}", "rain.yaml")


def test_a_fault_of_no_service_we_know_is_refused() -> None:
    with pytest.raises(UsageError, match=r"faults\.0\.on"):
        parse_scenario('faults: [{on: "s4:PutObject", error: Nope}]', "it")


@pytest.mark.parametrize("moment", ["crash_before", "crash_after"])
@pytest.mark.parametrize("effect", EFFECTS)
def test_a_run_may_be_killed_at_every_side_effect_there_is(moment: str, effect: str) -> None:
    scenario = parse_scenario(f"faults: [{{on: 'process:clusterctl', {moment}: {effect}}}]", "it")
    assert getattr(scenario.faults[0], moment) == effect


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("{on: 'process:clusterctl', crash_before: CreateNodgroup}", "did you mean CreateNodegroup"),
        ("{on: 'process:clusterctl', crash_after: Lunch}", "no side effect of ProbeCapacity"),
        ("{on: 'process:clusterctl'}", "one of crash_before and crash_after"),
        ("{on: 'process:clusterctl', crash_before: CreateCluster, crash_after: CreateCluster}", "one of crash_before"),
        ("{on: 'process:eksctl', crash_before: CreateCluster}", "no process that can be killed"),
        ("{on: 'ec2:CreateTags', crash_before: CreateCluster}", "nothing else takes them"),
    ],
)
def test_a_killing_that_cannot_be_is_refused(fault: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_scenario(f"faults: [{fault}]", "it")
