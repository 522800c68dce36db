"""Work of another run is left alone, and named; what a run that is over has left in flight is gone on with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterctl.errors import BusyError
from clusterctl.model.cluster import TAG_CLUSTER, TAG_OWNER, TAG_RUN, ClusterState, NodegroupState, StackState
from clusterctl.model.contention import refuse_system_nodes_of_others, refuse_work_of_others
from clusterctl.model.run import Earlier, RunContext
from fakes import START

RUN = RunContext("run-2", "123456789012", "ada", "training")
OTHERS = {TAG_CLUSTER: "training", TAG_RUN: "run-1", TAG_OWNER: "grace"}
COMING = StackState("s", "CREATE_IN_PROGRESS", OTHERS, START)
GOING = StackState("s", "DELETE_IN_PROGRESS", OTHERS, START, deleted=START.replace(hour=15))
STANDING = StackState("s", "CREATE_COMPLETE", OTHERS, START)


def cluster(stack: StackState) -> ClusterState:
    return ClusterState("us-east-2", "training", stack=stack)


def group(stack: StackState) -> NodegroupState:
    return NodegroupState("us-east-2", "training", "gpu", stack=stack)


@pytest.mark.parametrize("of", [cluster, group])
def test_what_another_run_makes_is_refused_with_its_name_and_since_when(of: type) -> None:
    with pytest.raises(BusyError, match=r"being made since 2026-11-30 12:00 UTC.*run run-1 of grace") as refused:
        refuse_work_of_others(RUN, of(COMING))
    assert refused.value.exit_code == 8


@pytest.mark.parametrize("of", [cluster, group])
def test_what_another_run_removes_is_refused_since_its_removal_began(of: type) -> None:
    with pytest.raises(BusyError, match="being removed since 2026-11-30 15:00 UTC"):
        refuse_work_of_others(RUN, of(GOING))


@pytest.mark.parametrize("stack", [COMING, GOING])
@pytest.mark.parametrize("of", [cluster, group])
def test_what_an_earlier_run_of_this_machine_began_is_gone_on_with(of: type, stack: StackState) -> None:
    refuse_work_of_others(replace(RUN, earlier=Earlier(frozenset({"run-1"}))), of(stack))
    refuse_work_of_others(replace(RUN, run_id="run-1"), of(stack))
    with pytest.raises(BusyError):
        refuse_work_of_others(replace(RUN, earlier=Earlier(frozenset({"run-0"}))), of(stack))


def test_a_removal_that_an_earlier_run_began_is_awaited_whoever_made_the_thing() -> None:
    ours = replace(RUN, earlier=Earlier(frozenset({"run-0"}), frozenset({"gpu"})))
    refuse_work_of_others(ours, group(GOING))
    with pytest.raises(BusyError):
        refuse_work_of_others(ours, group(COMING))


def test_what_stands_may_be_of_any_run() -> None:
    refuse_work_of_others(RUN, replace(cluster(STANDING), status="ACTIVE"))
    refuse_work_of_others(RUN, replace(group(STANDING), status="UPDATING"))
    with pytest.raises(BusyError, match="system node group"):
        refuse_system_nodes_of_others(RUN, replace(cluster(STANDING), status="ACTIVE", system_stack=COMING))
