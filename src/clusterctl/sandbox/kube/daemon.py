"""The kube daemon: keeps an open Kubernetes API, with its machines, for every EKS cluster of the sandbox."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.kube.apis import ASSETS, OpenBuiltin, OpenReal
from clusterctl.sandbox.kube.cloudfeed import CloudFeed
from clusterctl.sandbox.kube.control import Control
from clusterctl.sandbox.kube.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.kube.apis import OpenApi
    from clusterctl.sandbox.kube.authentication import Authenticator
    from clusterctl.sandbox.kube.fleet import Play
    from clusterctl.sandbox.state import StateFolder

_LOG = logging.getLogger(__name__)
IDLE_S = 3600.0
_LOOK_S = 0.5
_RETRY_S = 0.2


class KubeDaemon:
    """Runs until it is told to stop, its folder vanishes, or nobody used the sandbox for an hour."""

    def __init__(self, folder: StateFolder, play: Play, environment: Mapping[str, str] | None = None) -> None:
        self.stopping = asyncio.Event()
        self._folder = folder
        self._play = play
        self._environment = os.environ if environment is None else environment
        self._clock = SimClock.from_json(json.loads((folder.path / "clock.json").read_text()))
        self._control = Control(self._describe, self.stopping.set)
        self._fleet: Fleet | None = None
        self._last_news = time.monotonic()

    async def run(self) -> None:
        """Serve; writes the ready file once the control interface answers, removes it at the end."""
        aws = json.loads(self._folder.ready_file("aws").read_text())
        await self._control.start()
        async with aiohttp.ClientSession() as session:
            self._fleet = Fleet(self._clock, CloudFeed(session, aws["url"]), self._opener(), self._play)
            following = asyncio.create_task(self._follow(self._fleet))
            ready = self._folder.ready_file("kube")
            _write(ready, {"url": self._control.url, "pid": os.getpid()})
            try:
                await self._wait_for_the_end()
            finally:
                ready.unlink(missing_ok=True)
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
                await self._fleet.close()
                await self._control.close()

    def _opener(self) -> OpenApi:
        assets = self._environment.get(ASSETS)
        if not assets:
            return OpenBuiltin(self._clock)
        return OpenReal(Path(assets), self._folder.path, self._control.webhook_url)

    async def _follow(self, fleet: Fleet) -> None:
        """Let the open clusters be what AWS says, poll after poll."""
        version = 0
        while True:
            try:
                snapshot = await fleet.cloud.snapshot(version)
                if snapshot.version != version:
                    self._last_news = time.monotonic()
                version = snapshot.version
                await fleet.follow(snapshot)
                self._control.authenticators = self._authenticators(fleet)
            except (aiohttp.ClientError, TimeoutError) as problem:
                _LOG.warning("AWS does not answer: %r", problem)
                version = 0  # a new AWS counts from the start
                await asyncio.sleep(_RETRY_S)
            except Exception:  # noqa: BLE001 - the daemon outlives what one cluster does
                _LOG.exception("cannot follow AWS")
                await asyncio.sleep(_RETRY_S)

    def _authenticators(self, fleet: Fleet) -> dict[Any, Authenticator]:
        return {cluster: opened.api.authenticator for cluster, opened in fleet.clusters.items()}

    async def _wait_for_the_end(self) -> None:
        while not self.stopping.is_set() and self._folder.path.is_dir() and not self._is_idle():
            try:
                await asyncio.wait_for(self.stopping.wait(), _LOOK_S)
            except TimeoutError:
                continue

    def _is_idle(self) -> bool:
        used = self._fleet.last_use() if self._fleet else 0.0
        return time.monotonic() - max(used, self._last_news) > IDLE_S

    def _describe(self) -> list[dict[str, Any]]:
        opened = self._fleet.clusters.items() if self._fleet else ()
        return [
            {
                "name": cluster.name,
                "region": cluster.region,
                "status": one.status,
                "endpoint": one.api.access.endpoint,
                "certificate_authority": one.api.access.certificate_authority,
                "changes": one.api.changes,
            }
            for cluster, one in opened
        ]


def _write(path: Path, data: dict[str, Any]) -> None:
    temporary = path.with_suffix(".new")
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(data))
    temporary.replace(path)
