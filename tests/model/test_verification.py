"""The verdict on nodes: nothing is fine unless every node shows what its type has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.instances import InstanceType
from clusterctl.model.verification import (
    CheckState,
    Expected,
    FailedVerificationError,
    NodeFacts,
    Verification,
    expect,
    judge,
)

KIND = InstanceType("p5.48xlarge", 192, 1, gpus=8, gpu_name="H100", efa_interfaces=32)
NODE = NodeFacts("node", True, "p5.48xlarge", "us-east-2a", "gpu", gpus=8, efa=32)  # noqa: FBT003


def nodes(count: int) -> tuple[NodeFacts, ...]:
    return tuple(replace(NODE, name=f"node-{number}") for number in range(count))


def states(verification: Verification) -> dict[str, CheckState]:
    return {check.check_id: check.state for check in verification.checks}


def failed(verification: Verification) -> set[str]:
    return {name for name, state in states(verification).items() if state is not CheckState.OK}


def test_nodes_that_show_all_that_ec2_says_are_fine() -> None:
    verification = judge(expect(2, KIND, "us-east-2a"), nodes(2))
    assert verification.ok
    assert not verification.failures
    assert all(not node.problems for node in verification.nodes)


@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_no_node_is_a_failure_and_what_was_not_looked_at_is_skipped(wanted: int) -> None:
    verification = judge(expect(wanted, KIND), ())
    assert not verification.ok
    assert {states(verification)[name] for name in ("nodes-ready", "gpus", "efa", "neuron", "one-zone")} == {
        CheckState.SKIPPED
    }


@pytest.mark.parametrize(
    ("change", "check", "problem"),
    [
        ({"gpus": 7}, "gpus", "7 of 8 GPUs allocatable"),
        ({"gpus": 9}, "gpus", "9 of 8 GPUs allocatable"),
        ({"efa": 0}, "efa", "0 of 32 EFA interfaces allocatable"),
        ({"neuron": 1}, "neuron", "1 of 0 Neuron devices allocatable"),
        ({"ready": False, "conditions": ("MemoryPressure",)}, "nodes-ready", "not Ready (MemoryPressure)"),
        ({"schedulable": False}, "nodes-ready", "cordoned"),
        ({"instance_type": "p4d.24xlarge"}, "instance-type", "is a p4d.24xlarge, not a p5.48xlarge"),
        ({"zone": "us-east-2b"}, "one-zone", "is in us-east-2b, not in us-east-2a"),
    ],
)
def test_one_node_that_is_wrong_fails_its_check_and_says_why(
    change: dict[str, object], check: str, problem: str
) -> None:
    bad = replace(NODE, name="bad", **change)  # type: ignore[arg-type]
    verification = judge(expect(3, KIND, "us-east-2a"), (*nodes(2), bad))
    assert failed(verification) == {check}
    assert [node.problems for node in verification.nodes] == [(), (), (problem,)]
    error = FailedVerificationError(verification)
    assert problem in error.details
    assert error.hint
    assert error.exit_code == 5


@pytest.mark.parametrize("there", [1, 3])
def test_too_few_and_too_many_nodes_are_both_wrong(there: int) -> None:
    assert failed(judge(expect(2, KIND, "us-east-2a"), nodes(there))) == {"nodes-present"}


def test_nodes_in_two_zones_are_wrong_even_if_none_was_asked_for() -> None:
    assert failed(judge(expect(2, KIND), (NODE, replace(NODE, zone="us-east-2b")))) == {"one-zone"}


COUNTS = st.integers(0, 9)


@given(st.lists(st.tuples(COUNTS, COUNTS, st.booleans()), max_size=8), st.integers(0, 8))
def test_it_is_fine_only_if_every_node_is(shown: list[tuple[int, int, bool]], wanted: int) -> None:
    seen = tuple(
        replace(NODE, name=str(number), gpus=gpus, efa=efa, ready=ready)
        for number, (gpus, efa, ready) in enumerate(shown)
    )
    verification = judge(Expected(wanted, 8, 4, 0), seen)
    right = all((gpus, efa, ready) == (8, 4, True) for gpus, efa, ready in shown)
    assert verification.ok is (right and len(shown) == wanted > 0)
