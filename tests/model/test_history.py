"""What is kept of runs: the critical path, what later runs may expect, and nothing lost on the way to a file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.history import (
    RunRecord,
    StageTime,
    Step,
    critical_path,
    expected_seconds,
    record_document,
    record_of,
)

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def stage(name: str, begins_s: float, seconds: float, *needs: str, status: str = "done") -> StageTime:
    return StageTime(name, needs, status, START + timedelta(seconds=begins_s), seconds)


def run(*stages: StageTime, command: str = "deploy-all") -> RunRecord:
    return RunRecord(command, "training", "run-1", "sandbox", START, 100.0, stages, (), {"ok": True})


DEPLOYED = (
    stage("probe", 0, 10),
    stage("cluster", 10, 900, "probe"),
    stage("kuberay", 910, 60, "cluster"),
    stage("nodegroup", 910, 300, "probe", "cluster"),
    stage("verify", 1210, 5, "nodegroup", "kuberay"),
)


def test_the_critical_path_leads_through_what_ended_last() -> None:
    assert critical_path(DEPLOYED) == ("probe", "cluster", "nodegroup", "verify")


def test_a_stage_that_never_ran_is_on_no_path() -> None:
    stopped = (DEPLOYED[0], stage("cluster", 10, 900, "probe", status="failed"), StageTime("verify", ("cluster",)))
    assert critical_path(stopped) == ("probe", "cluster")
    assert critical_path((StageTime("probe"),)) == ()


def test_a_stage_that_found_all_in_place_foretells_nothing() -> None:
    records = [
        run(stage("cluster", 0, 900)),
        run(stage("cluster", 0, 1000)),
        run(stage("cluster", 0, 1100)),
        run(stage("cluster", 0, 3, status="unchanged"), stage("verify", 3, 1, status="failed")),
        run(stage("cluster", 0, 1), command="teardown"),
    ]
    assert expected_seconds(records, "deploy-all") == {"cluster": 1000}


times = st.floats(0, 1e5).map(lambda seconds: round(seconds, 1))
moments = times.map(lambda seconds: START + timedelta(seconds=seconds))
steps = st.builds(Step, st.text(), moments, st.none() | times)
stages = st.builds(
    StageTime,
    st.sampled_from(["probe", "cluster", "verify"]),
    st.lists(st.sampled_from(["probe", "cluster"])).map(tuple),
    st.sampled_from(["done", "failed", "skipped"]),
    st.none() | moments,
    times,
    st.lists(steps, max_size=3).map(tuple),
    st.text(),
)


@given(st.lists(stages, max_size=4))
def test_a_record_is_read_back_as_it_was_written(found: list[StageTime]) -> None:
    record = run(*found)
    assert record_of(record_document(record)) == record
