"""AWS, or the local world: the one place that tells them apart. Everything else runs the same against both."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterctl.adapters.aws.session import AwsSession, Credentials
from clusterctl.adapters.charts import ChartSource, FolderCharts, RemoteCharts
from clusterctl.adapters.clock import TimeBase, WallTime
from clusterctl.adapters.process import child_environment
from clusterctl.errors import UsageError
from clusterctl.ports import Journal
from clusterctl.sandbox import lifecycle
from clusterctl.sandbox.charts import CHARTS_FOLDER
from clusterctl.sandbox.crashing import crashing
from clusterctl.sandbox.scenario import load_scenario
from clusterctl.sandbox.state import ACCESS_KEY, SECRET_KEY, StateFolder

NOWHERE = "http://127.0.0.1:9"  # the discard port: a proxy that lets nothing leave this machine


def _as_it_is(journal: Journal) -> Journal:
    return journal


@dataclass(frozen=True, slots=True)
class World:
    """What is different between AWS and the sandbox, and nothing else."""

    session: AwsSession
    time: TimeBase
    children: Mapping[str, str]  # the environment of child processes
    tool_folders: tuple[Path, ...]
    home: Path  # caches, locks and kubeconfigs of ours
    charts: ChartSource
    token_environment: Mapping[str, str]  # what `clusterctl token` needs in a kubeconfig
    name: str
    journal: Callable[[Journal], Journal] = _as_it_is  # what a scenario lets happen at side effects


def open_world(*, sandbox: bool, scenario: Path | None = None) -> World:
    """The world that a command works on. Raises UsageError for a scenario without a sandbox."""
    if sandbox:
        return _sandbox(scenario)
    if scenario:
        raise UsageError("a scenario is for the sandbox", hint="add --sandbox")
    return World(
        session=AwsSession(),
        time=WallTime(),
        children=child_environment(os.environ),
        tool_folders=(),
        home=_state_home() / "clusterctl",
        charts=_charts(RemoteCharts),
        token_environment={},
        name="aws",
    )


def _sandbox(scenario: Path | None) -> World:
    state = StateFolder.default()
    text = None
    if scenario:
        load_scenario(scenario)
        text = scenario.read_text()
    record = lifecycle.ensure(state, text)
    environment = {key: value for key, value in child_environment(os.environ).items() if not key.startswith("AWS_")}
    sandboxed = {
        "AWS_ENDPOINT_URL": record.aws_url,
        "AWS_ACCESS_KEY_ID": os.environ.get("CLUSTERCTL_SANDBOX_ACCESS_KEY", ACCESS_KEY),
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CLUSTERCTL_SANDBOX_DIR": str(state.path),
        "HOME": str(state.path),
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1,localhost",
    }
    key = sandboxed["AWS_ACCESS_KEY_ID"]
    return World(
        session=AwsSession(credentials=Credentials(key, SECRET_KEY), endpoint_url=record.aws_url),
        time=record.clock,
        children={**environment, **sandboxed},
        tool_folders=(state.bin,),
        home=state.path / "client",
        charts=_charts(lambda: FolderCharts(CHARTS_FOLDER)),
        token_environment={"CLUSTERCTL_SANDBOX": "1", "CLUSTERCTL_SANDBOX_DIR": str(state.path)},
        name="sandbox",
        journal=crashing(record),
    )


def _charts(otherwise: Callable[[], ChartSource]) -> ChartSource:
    folder = os.environ.get("CLUSTERCTL_CHARTS")
    return FolderCharts(Path(folder)) if folder else otherwise()


def _state_home() -> Path:
    given = os.environ.get("XDG_STATE_HOME")
    if given:
        return Path(given)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError as problem:
        raise UsageError("HOME is not set", hint="set HOME or XDG_STATE_HOME") from problem


def patient_sleep(seconds: float) -> None:
    """Real seconds, for repeats towards things on this machine's own network."""
    time.sleep(seconds)
