"""The AWS daemon: `python -m clusterctl.sandbox.cloud --state FOLDER`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.scenario import Scenario, load_scenario
from clusterctl.sandbox.state import StateFolder

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.server import Server

_IDLE_S = 3600.0
_WATCH_EVERY_S = 1.0


def main() -> None:
    """Serve until SIGTERM, until the folder vanishes, or after an hour without a request."""
    parser = argparse.ArgumentParser(prog="clusterctl.sandbox.cloud")
    parser.add_argument("--state", type=Path, required=True)
    folder = StateFolder(parser.parse_args().state)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    server = _build(folder)
    server.start()
    ready = folder.ready_file("aws")
    _write(ready, {"url": server.url, "pid": os.getpid()})
    _watch(server, folder, stopping)
    ready.unlink(missing_ok=True)


def _build(folder: StateFolder) -> Server:
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "unused")  # moto's own sessions look for credentials
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "unused")
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"  # over a thousand images in every region, for nobody
    from clusterctl.sandbox.cloud.parts import PARTS
    from clusterctl.sandbox.cloud.server import Server
    from clusterctl.sandbox.cloud.world import World

    clock = SimClock.from_json(json.loads((folder.path / "clock.json").read_text()))
    scenario = load_scenario(folder.scenario) if folder.scenario.exists() else Scenario()
    return Server(World(clock, scenario), PARTS)


def _write(path: Path, data: dict[str, object]) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(data))
    temporary.replace(path)


def _watch(server: Server, folder: StateFolder, stopping: threading.Event) -> None:
    while not stopping.wait(_WATCH_EVERY_S):
        idle = time.monotonic() - server.gate.last_request
        if idle > _IDLE_S or not folder.path.is_dir():
            return


if __name__ == "__main__":
    main()
