"""JUnit XML of a run: what failed is a failure, what did not run is skipped and never a pass."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

from hypothesis import given
from hypothesis import strategies as st

from clusterctl.model.history import RunRecord, StageTime, Step
from clusterctl.rendering.junit import junit_xml

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def check(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "ok": False, "skipped": False, "message": f"{name} message", "remedy": "fix it", **more}


def run(*stages: StageTime, checks: list[dict[str, object]] | None = None) -> Xml.Element:
    document = {"ok": False, "verification": {"checks": checks} if checks is not None else None}
    text = junit_xml(RunRecord("deploy-all", "training", "run-1", "aws", START, 12.0, stages, (), document))
    return Xml.fromstring(text.encode())


def outcome(case: Xml.Element) -> str:
    return next((child.tag for child in case if child.tag in ("failure", "skipped")), "passed")


STAGES = (
    StageTime("probe", (), "unchanged", START, 1.0),
    StageTime("cluster", (), "done", START, 2.0, (Step("create cluster", START, 2.0),)),
    StageTime("nodegroup", (), "failed", START, 3.0, message="no capacity"),
    StageTime("plugins", (), "running", START, 3.0),
    StageTime("verify"),
)


def test_stages_are_cases_and_only_what_held_has_passed() -> None:
    root = run(*STAGES)
    assert {case.attrib["name"]: outcome(case) for case in root.iter("testcase")} == {
        "probe": "passed", "cluster": "passed", "nodegroup": "failure", "plugins": "failure", "verify": "skipped",
    }  # fmt: skip
    (suite,) = root
    assert suite.attrib == {"name": "stages", "tests": "5", "failures": "2", "skipped": "1"}
    assert [one.attrib["message"] for one in root.iter("failure")] == ["no capacity", "cut off"]


def test_a_check_that_did_not_run_is_skipped() -> None:
    root = run(checks=[check("gpus", ok=True), check("efa"), check("fabric", skipped=True)])
    assert [outcome(case) for case in root[1]] == ["passed", "failure", "skipped"]
    assert [one.text for one in root.iter("failure")] == ["fix it"]


@given(st.text(), st.text())
def test_whatever_a_program_printed_is_still_xml(message: str, step: str) -> None:
    root = run(StageTime("cluster", (), "failed", START, 1.0, (Step(step, START),), message))
    assert len(list(root.iter("failure"))) == 1
