"""The timeline of a run, from its events."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from clusterctl.engine.actions import CreateAddon
from clusterctl.engine.documents import event_document
from clusterctl.engine.events import ActionDone, ActionStarted, Notice, RunStarted, StageEnded, StageStarted, Waiting
from clusterctl.engine.recording import Recording, both
from clusterctl.model.history import Step, record_document, record_of
from clusterctl.model.run import RunContext
from fakes import START, Recorder

ADDON = CreateAddon("us-east-2", "training", "vpc-cni")
OTHER = CreateAddon("us-east-2", "training", "coredns")
RUN = RunContext("run-1", "111122223333", "somebody", "training", None, "kubeconfigs")
NEEDS = (("probe", ()), ("cluster", ("probe",)), ("verify", ("cluster",)))


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def played() -> Recording:
    recording = Recording(START)
    for event in (
        RunStarted(START, NEEDS),
        StageStarted(after(1), "probe"),
        StageEnded(after(3), "probe", "unchanged", 2.0),
        StageStarted(after(3), "cluster"),
        ActionStarted(after(4), "cluster", ADDON),
        Waiting(after(5), "cluster", "vpc-cni: CREATING"),
        ActionDone(after(9), "cluster", ADDON),
        ActionStarted(after(9), "cluster", OTHER),
        Notice(after(10), "the version leaves support soon"),
        StageEnded(after(12), "cluster", "failed", 9.0, "refused"),
    ):
        recording(event)
    return recording


def test_stages_are_kept_with_what_they_stood_on_and_how_they_ended() -> None:
    record = played().record("deploy-all", RUN, "aws", {"ok": False})
    assert [(one.name, one.needs, one.status, one.seconds) for one in record.stages] == [
        ("probe", (), "unchanged", 2.0),
        ("cluster", ("probe",), "failed", 9.0),
        ("verify", ("cluster",), "skipped", 0.0),
    ]
    assert (record.stages[1].message, record.stages[2].started) == ("refused", None)
    assert (record.seconds, record.notes, record.document) == (12, ("the version leaves support soon",), {"ok": False})


def test_a_step_that_never_ended_has_no_duration() -> None:
    steps = played().record("deploy-all", RUN, "aws", {}).stages[1].steps
    assert steps == (Step(str(ADDON), after(4), 5.0), Step(str(OTHER), after(9), None))


def test_what_was_recorded_is_the_same_after_json() -> None:
    record = played().record("deploy-all", RUN, "aws", {"ok": True})
    assert record_of(json.loads(json.dumps(record_document(record)))) == record


def test_both_sinks_hear_all_of_it() -> None:
    one, other = Recorder(), Recorder()
    both(one, other)(Notice(START, "heard"))
    assert one.events == other.events == [Notice(START, "heard")]


def test_every_event_is_one_line_of_json_with_its_name() -> None:
    action = json.loads(json.dumps(event_document(ActionStarted(START, "cluster", ADDON))))
    assert action == {
        "event": "action-started", "at": START.isoformat(), "stage": "cluster", "action": str(ADDON),
        "effect": ADDON.effect.value,
    }  # fmt: skip
    assert event_document(RunStarted(START, NEEDS))["needs"] == {
        "probe": [], "cluster": ["probe"], "verify": ["cluster"],
    }  # fmt: skip
