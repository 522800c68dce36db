"""The JSON of a run."""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime
from typing import Any

from clusterctl.engine.attempts import Attempt
from clusterctl.engine.events import Event
from clusterctl.engine.pipeline import RunResult, StageResult
from clusterctl.errors import CapacityUnavailableError
from clusterctl.model.cluster import NodegroupState
from clusterctl.model.documents import verification_document
from clusterctl.model.verification import Verification


def run_document(result: RunResult) -> dict[str, Any]:
    """Stages, attempts and the verification, as far as the run got."""
    return {
        "stages": [stage_document(stage) for stage in result.stages],
        "attempts": [attempt_document(one) for one in _attempts(result)],
        "verification": _verification(result),
    }


def event_document(event: Event) -> dict[str, Any]:
    """An event as one JSON object: `event` is its name in kebab case, an action is its line in the plan."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(event).__name__).lower()
    fields = {one.name: getattr(event, one.name) for one in dataclasses.fields(event)}
    if action := fields.get("action"):
        fields |= {"action": str(action), "effect": action.effect.value}
    if needs := fields.get("needs"):
        fields["needs"] = {stage: list(before) for stage, before in needs}
    return {"event": name, **{key: _plain(value) for key, value in fields.items()}}


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def stage_document(stage: StageResult) -> dict[str, Any]:
    seconds = round(stage.seconds, 1)
    return {"name": stage.name, "status": stage.status, "seconds": seconds, "actions": list(stage.actions)}


def attempt_document(attempt: Attempt) -> dict[str, Any]:
    return {
        "region": attempt.region,
        "zone": attempt.zone,
        "instance_type": attempt.instance_type,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
    }


def _attempts(result: RunResult) -> tuple[Attempt, ...]:
    """The places that failed, and the one that worked where this run made the node group."""
    tried = (*result.attempts.tried, *_ruled_out(result))
    made = any(stage.name == "nodegroup" and stage.status == "done" for stage in result.stages)
    if not made or NodegroupState not in result.outputs:
        return tried
    state = result.outputs[NodegroupState]
    zone = ",".join(state.zones)
    return (
        *tried,
        Attempt(state.region, zone, state.instance_type, "available", "node group is ACTIVE"),
    )


def _ruled_out(result: RunResult) -> tuple[Attempt, ...]:
    """Where no place was left: those that were asked about and ruled out before anything was launched there."""
    if not isinstance(result.error, CapacityUnavailableError):
        return ()
    known = {(one.region, one.instance_type, one.zone) for one in result.attempts.tried}
    places = [one for one in result.error.document.get("candidates", ()) if one["verdict"] != "available"]
    return tuple(
        Attempt(one["region"], one["zone"], one["instance_type"], one["verdict"], one["reason"])
        for one in places
        if (one["region"], one["instance_type"], one["zone"]) not in known
    )


def _verification(result: RunResult) -> dict[str, Any] | None:
    return verification_document(result.outputs[Verification]) if Verification in result.outputs else None
