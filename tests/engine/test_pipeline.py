"""Laws of the pipeline over tiny stages: each makes one add-on of a fake AWS. Time is a fake clock's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from clusterctl.engine.actions import CreateAddon, CreateNodegroup, Plan
from clusterctl.engine.attempts import Attempt, Attempts, PlaceFailedError
from clusterctl.engine.documents import run_document
from clusterctl.engine.events import ActionDone, PlaceFailed, RunStarted, StageEnded, StageStarted, Waiting
from clusterctl.engine.outputs import Outputs
from clusterctl.engine.pipeline import MOST_ROUNDS, Pipeline
from clusterctl.errors import CapacityUnavailableError, ClusterctlError, InterruptedRunError, StageIncompleteError
from clusterctl.model.failures import classify
from fakes import FakeAws, FakeClock, FakeJournal, Recorder, executor


@dataclass(frozen=True)
class Seen:
    present: bool
    waits: str = ""


class First(Seen):
    """What the first stage provides."""


class Second(Seen):
    """What the second stage provides."""


class Third(Seen):
    """What the third stage provides."""


@dataclass
class TinyStage:
    """Makes the add-on of its own name. `before` runs at each look, `waits` is what it waits for once made."""

    name: str
    provides: type[Seen]
    aws: FakeAws
    requires: tuple[type, ...] = ()
    patience_s: float = 60.0
    before: Callable[[], None] = lambda: None
    waits: Callable[[], str] = lambda: ""
    inputs: list[Outputs] = field(default_factory=list)

    def observe(self, inputs: Outputs) -> Seen:
        self.before()
        self.inputs.append(inputs)
        present = self.name in self.aws.addons
        return self.provides(present, self.waits() if present else "")

    def plan(self, inputs: Outputs, observed: Seen) -> Plan:
        return () if observed.present else (CreateAddon("us-east-2", "training", self.name),)

    def waiting_for(self, inputs: Outputs, observed: Seen) -> str:
        return observed.waits

    def expect(self, inputs: Outputs, observed: Seen) -> Seen:
        return self.provides(present=True)


@dataclass
class JudgingStage(TinyStage):
    """A tiny stage that can say what it means when nothing settles."""

    def verdict(self, inputs: Outputs, observed: Any) -> ClusterctlError:
        return CapacityUnavailableError(f"given up on: {observed.waits}")


def pipeline(*stages: Any, clock: FakeClock | None = None, sink: Recorder | None = None, **hands: Any) -> Pipeline:
    aws = next((stage.aws for stage in stages if hasattr(stage, "aws")), None)
    return Pipeline(stages, executor(**{"aws": aws, **hands}), clock or FakeClock(), sink or Recorder())


def chain(aws: FakeAws, **third: Any) -> tuple[TinyStage, TinyStage, TinyStage]:
    return (
        TinyStage("first", First, aws),
        TinyStage("second", Second, aws, requires=(First,)),
        TinyStage("third", Third, aws, requires=(Second,), **third),
    )


def statuses(result: Any) -> dict[str, str]:
    return {stage.name: stage.status for stage in result.stages}


def broken() -> None:
    raise StageIncompleteError("cannot be looked at")


def test_a_preview_changes_nothing_and_shows_every_stage_after_its_forerunners() -> None:
    aws, journal = FakeAws(), FakeJournal()
    preview = pipeline(*reversed(chain(aws)), journal=journal).preview(Outputs())
    assert (aws.calls, journal.lines) == ([], [])
    assert [plan.stage for plan in preview.plans] == ["first", "second", "third"]
    assert all(plan.plan for plan in preview.plans)
    assert preview.outputs[Third].present


def test_a_preview_hands_on_what_a_stage_that_still_settles_will_be() -> None:
    aws = FakeAws()
    aws.addons.add("first")
    first = TinyStage("first", First, aws, waits=lambda: "still coming")
    second = TinyStage("second", Second, aws, requires=(First,))
    pipeline(first, second).preview(Outputs())
    assert second.inputs[0][First].waits == ""


def test_a_second_apply_finds_nothing_to_do() -> None:
    aws = FakeAws()
    first = pipeline(*chain(aws)).apply(Outputs())
    before = list(aws.calls)
    second = pipeline(*chain(aws)).apply(Outputs())
    assert statuses(first) == dict.fromkeys(("first", "second", "third"), "done")
    assert statuses(second) == dict.fromkeys(("first", "second", "third"), "unchanged")
    assert aws.calls == before
    assert [stage.actions for stage in first.stages] == [("add first",), ("add second",), ("add third",)]


def test_what_was_previewed_is_what_is_done() -> None:
    aws = FakeAws()
    line = pipeline(*chain(aws))
    planned = [str(action) for plan in line.preview(Outputs()).plans for action in plan.plan]
    done = [action for stage in line.apply(Outputs()).stages for action in stage.actions]
    assert done == planned


def test_a_stage_is_given_what_it_requires_and_no_more() -> None:
    aws = FakeAws()
    stages = chain(aws)
    pipeline(*stages).apply(Outputs().with_value("a word"))
    assert Second in stages[2].inputs[0]
    assert First not in stages[2].inputs[0]
    assert str not in stages[2].inputs[0]


def test_independent_stages_run_at_once() -> None:
    aws, meeting = FakeAws(), threading.Barrier(2, timeout=10)
    left = TinyStage("left", First, aws, before=_once(meeting.wait))
    right = TinyStage("right", Second, aws, before=_once(meeting.wait))
    result = pipeline(left, right).apply(Outputs())
    assert result.error is None
    assert aws.addons == {"left", "right"}


def _once(act: Callable[[], Any]) -> Callable[[], None]:
    left = [act]

    def run() -> None:
        if left:
            left.pop()()

    return run


def test_a_failing_stage_skips_its_dependents_and_lets_running_ones_finish() -> None:
    aws, failed = FakeAws(), threading.Event()

    def fail() -> None:
        failed.set()
        broken()

    bad = TinyStage("bad", First, aws, before=fail)
    after = TinyStage("after", Second, aws, requires=(First,))
    beside = TinyStage("beside", Third, aws, before=_once(lambda: failed.wait(10)))
    result = pipeline(bad, after, beside).apply(Outputs())
    assert statuses(result) == {"bad": "failed", "beside": "done", "after": "skipped"}
    assert isinstance(result.error, StageIncompleteError)
    assert aws.addons == {"beside"}
    assert Third in result.outputs
    assert First not in result.outputs


def test_nothing_new_begins_once_a_stage_has_failed() -> None:
    aws, release = FakeAws(), threading.Event()

    def fail_late() -> None:
        release.wait(10)
        broken()

    bad = TinyStage("bad", First, aws, before=fail_late)
    beside = TinyStage("beside", Second, aws)
    last = TinyStage("last", Third, aws, requires=(First, Second))
    beside.before = _once(release.set)
    result = pipeline(bad, beside, last).apply(Outputs())
    assert statuses(result)["last"] == "skipped"
    assert not last.inputs


def test_a_failed_stage_reports_the_actions_and_the_time_that_it_took() -> None:
    clock = FakeClock()
    stage = TinyStage("slow", First, FakeAws(), waits=lambda: "nodes to come")
    (slow,) = pipeline(stage, clock=clock).apply(Outputs()).stages
    assert (slow.status, slow.actions) == ("failed", ("add slow",))
    assert slow.seconds == clock.slept_s > 0


def test_a_stage_that_never_settles_names_what_it_waited_for_and_how_to_go_on() -> None:
    clock = FakeClock()
    stage = TinyStage("slow", First, FakeAws(), waits=lambda: "nodes to come", patience_s=300)
    error = pipeline(stage, clock=clock).apply(Outputs()).error
    assert isinstance(error, StageIncompleteError)
    assert error.message == "stage slow: nodes to come"
    assert "clusterctl slow" in error.hint
    assert 285 <= clock.slept_s <= 300


def test_a_stage_that_never_settles_may_give_its_own_verdict() -> None:
    stage = JudgingStage("slow", First, FakeAws(), waits=lambda: "nodes to come")
    error = pipeline(stage).apply(Outputs()).error
    assert isinstance(error, CapacityUnavailableError)
    assert error.message == "given up on: nodes to come"


def test_a_stage_that_settles_in_time_hands_on_what_it_saw_last() -> None:
    answers = iter(["coming", "coming", "nearly there"])
    stage = TinyStage("slow", First, FakeAws(), waits=lambda: next(answers, ""))
    sink = Recorder()
    result = pipeline(stage, sink=sink).apply(Outputs())
    assert result.outputs[First] == First(present=True)
    assert [event.message for event in sink.of(Waiting)][-1] == ""


def test_a_stage_that_loses_its_work_while_it_waits_does_it_again() -> None:
    aws = FakeAws()
    losses = iter([aws.addons.clear])

    def waits() -> str:
        if lose := next(losses, None):
            lose()
            return "coming"
        return ""

    result = pipeline(TinyStage("slow", First, aws, waits=waits)).apply(Outputs())
    assert result.error is None
    assert aws.calls == ["create addon slow", "create addon slow"]


def test_a_stage_that_always_finds_something_to_change_is_stopped() -> None:
    class Forgetful(FakeAws):
        def create_addon(self, region: str, cluster: str, addon: str) -> None:
            self.calls.append(addon)

    aws = Forgetful()
    error = pipeline(TinyStage("vain", First, aws)).apply(Outputs()).error
    assert isinstance(error, StageIncompleteError)
    assert len(aws.calls) == MOST_ROUNDS


def test_an_interrupted_clock_ends_the_run_and_begins_nothing_more() -> None:
    aws = FakeAws()
    first = TinyStage("first", First, aws, waits=lambda: "nodes to come", patience_s=3600)
    second = TinyStage("second", Second, aws, requires=(First,))
    result = pipeline(first, second, clock=FakeClock(interrupted_after_s=100)).apply(Outputs())
    assert isinstance(result.error, InterruptedRunError)
    assert statuses(result) == {"first": "failed", "second": "skipped"}


def test_events_tell_the_story_in_order() -> None:
    sink = Recorder()
    pipeline(TinyStage("first", First, FakeAws()), sink=sink).apply(Outputs())
    assert isinstance(sink.events[0], RunStarted)
    assert sink.events[0].needs == (("first", ()),)
    assert isinstance(sink.events[1], StageStarted)
    assert [str(event.action) for event in sink.of(ActionDone)] == ["add first"]
    last = sink.events[-1]
    assert isinstance(last, StageEnded)
    assert (last.stage, last.status) == ("first", "done")


def test_the_intent_is_written_before_the_world_is_touched() -> None:
    aws, journal = FakeAws(), FakeJournal()
    pipeline(TinyStage("first", First, aws), journal=journal).apply(Outputs())
    assert journal.lines == ["intended CreateAddon: add first", "done CreateAddon"]


@dataclass
class ZoneStage:
    """Tries zones one after the other, as it is told which of them failed."""

    zones: tuple[str, ...]
    launcher: ZoneLauncher
    name: str = "nodegroup"
    requires: tuple[type, ...] = ()
    provides: type[Seen] = First
    patience_s: float = 60.0

    def observe(self, inputs: Outputs) -> Seen:
        return First(bool(self.launcher.made))

    def plan(self, inputs: Outputs, observed: Seen) -> Plan:
        if observed.present:
            return ()
        left = [zone for zone in self.zones if not inputs[Attempts].failed_in(zone, "g6.12xlarge")]
        if not left:
            raise CapacityUnavailableError("no zone is left")
        return (CreateNodegroup("us-east-2", "training", "gpu", left[0], 2, "g6.12xlarge", ""),)

    def waiting_for(self, inputs: Outputs, observed: Seen) -> str:
        return ""

    def expect(self, inputs: Outputs, observed: Seen) -> Seen:
        return First(present=True)


class ZoneLauncher:
    """Has room in one zone, or in none."""

    def __init__(self, roomy: str = "") -> None:
        self.roomy, self.made = roomy, ""

    def create(self, action: CreateNodegroup, tell: Callable[[str], None]) -> None:
        if action.zone != self.roomy:
            failure = classify("InsufficientInstanceCapacity", "none left")
            raise PlaceFailedError(Attempt(action.region, action.zone, action.instance_type, "x", "none left", failure))
        self.made = action.zone


def test_a_place_that_fails_leads_to_a_new_plan_and_is_reported() -> None:
    launcher, sink = ZoneLauncher("c"), Recorder()
    result = pipeline(ZoneStage(("a", "b", "c"), launcher), sink=sink, launcher=launcher).apply(Outputs())
    assert (result.error, launcher.made) == (None, "c")
    assert [one.zone for one in result.attempts.tried] == ["a", "b"]
    assert [(one.place, one.reason) for one in sink.of(PlaceFailed)] == [("a", "none left"), ("b", "none left")]
    assert [one["zone"] for one in run_document(result)["attempts"]] == ["a", "b"]


def test_places_that_all_fail_end_with_the_stages_own_error_and_every_attempt() -> None:
    launcher = ZoneLauncher()
    result = pipeline(ZoneStage(("a", "b"), launcher), launcher=launcher).apply(Outputs())
    assert isinstance(result.error, CapacityUnavailableError)
    assert [one.zone for one in result.attempts.tried] == ["a", "b"]


@pytest.mark.parametrize("kind", [First, Second, Third])
def test_an_output_that_nobody_made_is_not_there(kind: type[Seen]) -> None:
    outputs = Outputs().with_value(kind(present=True))
    assert kind in outputs
    with pytest.raises(KeyError):
        outputs.only((str,))
