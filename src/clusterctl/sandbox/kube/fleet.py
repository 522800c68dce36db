"""The open clusters: each an API, a feed of its machines, and the task that plays the machines."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp

from clusterctl.errors import ClusterctlError
from clusterctl.sandbox.kube.access import Feed, Machine
from clusterctl.sandbox.kube.apis import ClusterName

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from clusterctl.sandbox.clock import SimClock
    from clusterctl.sandbox.kube.access import ClusterAccess
    from clusterctl.sandbox.kube.apis import ClusterApi, OpenApi
    from clusterctl.sandbox.kube.cloudfeed import CloudFeed, Snapshot

    Play = Callable[[ClusterAccess, Feed], Coroutine[Any, Any, None]]

_LOG = logging.getLogger(__name__)
_REPLAY_AFTER_S = 0.5


@dataclass(slots=True)
class OpenCluster:
    """One cluster while EKS has it."""

    api: ClusterApi
    feed: Feed
    playing: asyncio.Task[None]
    status: str
    announced: bool = False

    async def close(self) -> None:
        self.playing.cancel()
        await asyncio.gather(self.playing, return_exceptions=True)
        await self.api.close()


@dataclass(slots=True)
class Fleet:
    """Makes the open clusters those that AWS has."""

    clock: SimClock
    cloud: CloudFeed
    open_api: OpenApi
    play: Play
    clusters: dict[ClusterName, OpenCluster] = field(default_factory=dict)

    async def follow(self, snapshot: Snapshot) -> None:
        """Open what is new, close what is gone, hand each cluster its machines."""
        wanted = {ClusterName(row["region"], row["name"]): row for row in snapshot.clusters}
        for cluster in [one for one in self.clusters if one not in wanted]:
            await self._close(cluster)
        for cluster, row in wanted.items():
            await self._keep(cluster, row)
        for cluster, opened in self.clusters.items():
            rows = (m for m in snapshot.machines if (m["region"], m["cluster"]) == (cluster.region, cluster.name))
            opened.feed.publish(map(Machine.from_json, rows))

    async def close(self) -> None:
        for cluster in list(self.clusters):
            await self._close(cluster)

    def last_use(self) -> float:
        """When anybody but the simulation last asked one of the APIs (time.monotonic)."""
        return max((opened.api.last_use for opened in self.clusters.values()), default=0.0)

    async def _keep(self, cluster: ClusterName, row: Mapping[str, Any]) -> None:
        opened, status = self.clusters.get(cluster), row["status"]
        if opened is not None and status == "CREATING" and opened.status != "CREATING":
            await self._close(cluster)  # the same name again: another cluster
            opened = None
        if opened is None:
            opened = await self._open(cluster, row)
        if opened is not None:
            opened.status = status
            await self._announce(opened)

    async def _open(self, cluster: ClusterName, row: Mapping[str, Any]) -> OpenCluster | None:
        start = time.monotonic()
        try:
            api = await self.open_api(cluster, row.get("version") or "")
        except (ClusterctlError, OSError) as problem:
            _LOG.error("cannot open the API of %s: %s", cluster, problem)
            return None
        feed = Feed(self.clock, self.cloud.take_fault)
        playing = asyncio.create_task(self._play(cluster, api.access, feed))
        self.clusters[cluster] = OpenCluster(api, feed, playing, row["status"])
        _LOG.info("%s opened at %s in %.2f s", cluster, api.access.endpoint, time.monotonic() - start)
        return self.clusters[cluster]

    async def _play(self, cluster: ClusterName, access: ClusterAccess, feed: Feed) -> None:
        """Machines that fall over are stood up again: a sandbox without them would only hang."""
        while True:
            try:
                await self.play(access, feed)
            except Exception:  # noqa: BLE001 - the daemon outlives what one cluster does
                _LOG.exception("the machines of %s failed", cluster)
            await asyncio.sleep(_REPLAY_AFTER_S)

    async def _announce(self, opened: OpenCluster) -> None:
        if opened.announced:
            return
        try:
            await self.cloud.announce(opened.api.access)
        except aiohttp.ClientError as problem:
            _LOG.warning("AWS does not take the endpoint yet: %r", problem)
        else:
            opened.announced = True

    async def _close(self, cluster: ClusterName) -> None:
        await self.clusters.pop(cluster).close()
        _LOG.info("%s closed", cluster)
