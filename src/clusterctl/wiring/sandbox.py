"""The sandbox as the command line sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusterctl.errors import UsageError
from clusterctl.sandbox import lifecycle
from clusterctl.sandbox.scenario import Fault, load_scenario, plain_words
from clusterctl.sandbox.state import SandboxRecord, StateFolder


def start(scenario: Path | None) -> dict[str, Any]:
    """Start the sandbox, or find it running. Raises UsageError for a scenario that cannot be read."""
    text = _text(scenario)
    return describe(lifecycle.ensure(StateFolder.default(), text))


def stop() -> bool:
    return lifecycle.stop(StateFolder.default())


def reset() -> dict[str, Any]:
    return describe(lifecycle.reset(StateFolder.default()))


def status() -> dict[str, Any]:
    """Where the sandbox runs and what is in its world; `running` is False when there is none."""
    record = lifecycle.running(StateFolder.default())
    if record is None:
        return {"running": False, "folder": str(StateFolder.default().path)}
    return {**describe(record), "world": lifecycle.control(record, "sandbox/state")}


def add_fault(fault: dict[str, Any]) -> None:
    """Let something go wrong from now on. Raises UsageError for a fault that the scenario file would refuse."""
    from pydantic import ValidationError

    try:
        checked = Fault.model_validate({key: value for key, value in fault.items() if value not in (None, "", False)})
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"]).replace("_", "-")
        raise UsageError(
            f"--{where or 'on'}: {plain_words(first['msg'])}", hint="see docs/sandbox.md for the faults"
        ) from problem
    lifecycle.control(_running(), "sandbox/faults", {"faults": [checked.model_dump(mode="json", exclude_none=True)]})


def change_scenario(file: Path) -> None:
    lifecycle.ensure(StateFolder.default(), _text(file))


def clear_faults() -> None:
    lifecycle.control(_running(), "sandbox/faults", method="DELETE")


def describe(record: SandboxRecord) -> dict[str, Any]:
    return {
        "running": True,
        "folder": str(StateFolder.default().path),
        "aws": record.aws_url,
        "kubernetes": record.kube_url,
        "speed": record.clock.speed,
        "simulated_time": record.clock.now().isoformat(timespec="seconds"),
    }


def _running() -> SandboxRecord:
    return lifecycle.ensure(StateFolder.default())


def _text(scenario: Path | None) -> str | None:
    if scenario is None:
        return None
    load_scenario(scenario)
    return scenario.read_text()
