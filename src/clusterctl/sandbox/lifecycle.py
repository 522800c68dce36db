"""Starts, finds and ends the processes of the local world."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any

from filelock import FileLock

from clusterctl.errors import ClusterctlError, UsageError
from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.scenario import Scenario, parse_scenario
from clusterctl.sandbox.state import SandboxRecord, StateFolder, write_private

START_LIMIT_S = 60.0
STOP_LIMIT_S = 5.0
_SOURCE = str(Path(__file__).parents[2])  # so that all parts of a sandbox are of one version
_OWNER_ALONE = 0o077  # a umask
_WRAPPER = """#!/bin/sh
umask 077
PYTHONPATH={source} exec {python} -m clusterctl.sandbox.eksctl "$@"
"""


def running(state: StateFolder) -> SandboxRecord | None:
    """The sandbox of this folder, if both its processes live."""
    try:
        record = SandboxRecord.from_json(state.record.read_text())
    except (OSError, ValueError, KeyError):
        return None
    return record if _lives(record.aws_pid) and _lives(record.kube_pid) else None


def ensure(state: StateFolder, scenario: str | None = None) -> SandboxRecord:
    """The running sandbox, started if there is none. A scenario that differs is given to a running one."""
    _make_folder(state)
    with FileLock(state.path / "lifecycle.lock", timeout=START_LIMIT_S * 2, mode=0o600):
        record = running(state)
        if record is None:
            return _start(state, scenario)
        if scenario is not None and scenario != _read(state.scenario):
            _change_scenario(state, record, scenario)
        return record


def stop(state: StateFolder) -> bool:
    """End the sandbox and forget its world. True if there was one."""
    if not state.path.exists():
        return False
    with FileLock(state.path / "lifecycle.lock", timeout=START_LIMIT_S * 2, mode=0o600):
        pids = _pids(state)
        for pid in pids:
            _signal(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_LIMIT_S
        while any(_lives(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in pids:
            _signal(pid, signal.SIGKILL)
    shutil.rmtree(state.path, ignore_errors=True)
    return bool(pids)


def reset(state: StateFolder) -> SandboxRecord:
    """An empty world under the same scenario."""
    scenario = _read(state.scenario)
    stop(state)
    return ensure(state, scenario)


def control(record: SandboxRecord, path: str, body: object = None, *, method: str = "") -> Any:
    """Ask the sandbox's own control interface, JSON in and out."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the URL is the sandbox's own, on loopback
        f"{record.aws_url}/moto-api/{path}",
        data=data,
        headers={"Content-Type": "application/json"},
        method=method or ("GET" if data is None else "POST"),
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)
    except (urllib.error.URLError, TimeoutError) as problem:
        raise ClusterctlError(f"the sandbox does not answer: {problem}", hint="clusterctl sandbox reset") from problem


def _start(state: StateFolder, scenario_text: str | None) -> SandboxRecord:
    scenario = parse_scenario(scenario_text or "", "the scenario")
    for process in ("aws", "kube"):
        state.ready_file(process).unlink(missing_ok=True)
    write_private(state.scenario, scenario_text or "")
    clock = SimClock.starting_now(scenario.speed)
    write_private(state.path / "clock.json", json.dumps(clock.to_json()))
    _write_eksctl(state)
    try:
        aws = _spawn(state, "aws", "clusterctl.sandbox.cloud")
        kube = _spawn(state, "kube", "clusterctl.sandbox.kube")
    except BaseException:
        for pid in _pids(state):
            _signal(pid, signal.SIGKILL)
        raise
    record = SandboxRecord(aws["url"], aws["pid"], kube["url"], kube["pid"], clock)
    write_private(state.record, record.to_json())
    return record


def _spawn(state: StateFolder, process: str, module: str) -> dict[str, Any]:
    with _appended(state.log(process)) as log:
        child = subprocess.Popen(
            [sys.executable, "-m", module, "--state", str(state.path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=state.path,
            umask=_OWNER_ALONE,
            env=_environment(),
        )
    ready, deadline = state.ready_file(process), time.monotonic() + START_LIMIT_S
    while not ready.exists():
        if child.poll() is not None or time.monotonic() > deadline:
            _signal(child.pid, signal.SIGKILL)
            raise _not_started(state, process)
        time.sleep(0.02)
    answer: dict[str, Any] = json.loads(ready.read_text())
    return answer


def _appended(log: Path) -> IO[bytes]:
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def _not_started(state: StateFolder, process: str) -> ClusterctlError:
    last = _read(state.log(process)).strip().splitlines()[-1:] or ["it printed nothing"]
    hint = "pip install 'clusterctl[sandbox]'" if "ModuleNotFoundError" in last[0] else f"see {state.log(process)}"
    return ClusterctlError(f"the sandbox's {process} process did not start: {last[0]}", hint=hint)


def _environment() -> dict[str, str]:
    """The daemons get no credential and no AWS setting of the user's."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, (_SOURCE, os.environ.get("PYTHONPATH"))))}


def _change_scenario(state: StateFolder, record: SandboxRecord, text: str) -> None:
    scenario: Scenario = parse_scenario(text, "the scenario")
    if scenario.speed != record.clock.speed:
        raise UsageError(
            f"the running sandbox goes at speed {record.clock.speed:g}, the scenario asks for {scenario.speed:g}",
            hint="clusterctl sandbox stop, then start it with the scenario",
        )
    control(record, "sandbox/scenario", scenario.model_dump(mode="json"))
    write_private(state.scenario, text)


def _write_eksctl(state: StateFolder) -> None:
    state.bin.mkdir(mode=0o700, exist_ok=True)
    wrapper = state.bin / "eksctl"
    write_private(wrapper, _WRAPPER.format(python=shlex.quote(sys.executable), source=shlex.quote(_SOURCE)))
    wrapper.chmod(0o700)


def _make_folder(state: StateFolder) -> None:
    try:
        state.path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise UsageError(
            f"cannot make the sandbox folder {state.path}: {problem.strerror}", hint="set CLUSTERCTL_SANDBOX_DIR"
        ) from problem


def _pids(state: StateFolder) -> list[int]:
    found = []
    for process in ("kube", "aws"):
        try:
            found.append(int(json.loads(state.ready_file(process).read_text())["pid"]))
        except (OSError, ValueError, KeyError):
            continue
    return [pid for pid in found if _lives(pid)]


def _lives(pid: int) -> bool:
    """True for a process that runs our code: the number alone may have gone to somebody else."""
    try:
        return b"clusterctl.sandbox" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists() and _signal(pid, 0)


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
