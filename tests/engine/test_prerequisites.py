"""A stage that only has to stand: looked at, never run."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from clusterctl.engine.actions import AwaitNodegroup, CreateAddon, DeleteNodegroup, Plan
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import Pipeline
from clusterctl.engine.prerequisites import Standing
from clusterctl.errors import BusyError, StageIncompleteError, VerificationError
from clusterctl.model.cluster import NodegroupState
from fakes import FakeAws, FakeClock, Recorder, executor, group

CREATE = CreateAddon("us-east-2", "training", "coredns")
DELETE = DeleteNodegroup("us-east-2", "training", "gpu", "broken")


@dataclass
class GivenStage:
    """Sees and plans what it is given."""

    state: NodegroupState
    actions: Plan = ()
    name: str = "nodegroup"
    requires: tuple[type, ...] = ()
    provides: type[NodegroupState] = NodegroupState
    patience_s: float = 60.0

    def observe(self, inputs: Outputs) -> NodegroupState:
        return self.state

    def plan(self, inputs: Outputs, observed: NodegroupState) -> Plan:
        return self.actions

    def waiting_for(self, inputs: Outputs, observed: NodegroupState) -> str:
        return f"EKS: {observed.status}"

    def expect(self, inputs: Outputs, observed: NodegroupState) -> NodegroupState:
        return observed


def run(stage: Standing) -> tuple[Outputs, BaseException | None, list[str]]:
    aws = FakeAws()
    result = Pipeline((stage,), executor(aws=aws), FakeClock(), Recorder()).apply(Outputs())
    return result.outputs, result.error, aws.calls


def test_what_stands_is_handed_on_and_nothing_is_done() -> None:
    outputs, error, calls = run(Standing(GivenStage(group("ACTIVE"))))
    assert (error, calls) == (None, [])
    assert outputs[NodegroupState].ready


@pytest.mark.parametrize("error", [StageIncompleteError, VerificationError])
def test_what_is_missing_is_an_error_that_names_the_stage(error: type[StageIncompleteError]) -> None:
    _, found, calls = run(Standing(GivenStage(group(), (DELETE, CREATE)), error))
    assert type(found) is error
    assert str(found) == "stage nodegroup is not complete: it would add coredns"
    assert calls == []


@pytest.mark.parametrize("status", ["CREATING", "UPDATING", "DELETING"])
def test_what_is_in_transition_is_busy_and_named(status: str) -> None:
    coming = AwaitNodegroup("us-east-2", "training", "gpu")
    _, found, calls = run(Standing(GivenStage(group(status), (coming,))))
    assert isinstance(found, BusyError)
    assert str(found) == f"stage nodegroup has not settled: EKS: {status}"
    assert calls == []
