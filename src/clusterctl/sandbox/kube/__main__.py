"""The kube daemon: `python -m clusterctl.sandbox.kube --state FOLDER`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from pathlib import Path

from clusterctl.sandbox.kube.daemon import KubeDaemon
from clusterctl.sandbox.kube.machines import run
from clusterctl.sandbox.state import StateFolder


def main() -> None:
    """Serve until SIGTERM, until the folder vanishes, or after an hour without use."""
    parser = argparse.ArgumentParser(prog="clusterctl.sandbox.kube")
    parser.add_argument("--state", type=Path, required=True)
    folder = StateFolder(parser.parse_args().state)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    asyncio.run(_serve(folder))


async def _serve(folder: StateFolder) -> None:
    daemon = KubeDaemon(folder, run)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stopping.set)
    await daemon.run()


if __name__ == "__main__":
    main()
