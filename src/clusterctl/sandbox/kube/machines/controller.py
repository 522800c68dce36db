"""The loop of every controller: keys of changed objects in, one reconciliation of each key at a time."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import aiohttp

from clusterctl.sandbox.kube.machines.client import ApiError
from clusterctl.sandbox.kube.machines.kinds import controller_of, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.informer import Handler
    from clusterctl.sandbox.kube.machines.kinds import Key, Kind, Obj

LOG = logging.getLogger(__name__)
_WORKERS = 8
_FIRST_RETRY_S, _LAST_RETRY_S = 0.1, 5.0  # real seconds
SOON_S = 0.005  # real seconds in which changes of one object are taken together


class Controller(ABC):
    """Reconciles objects of `kind` when they, or objects they own of the kinds in `owns`, change."""

    kind: ClassVar[Kind]
    owns: ClassVar[tuple[Kind, ...]] = ()
    reads: ClassVar[tuple[Kind, ...]] = ()

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._busy: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._failures: dict[Key, int] = {}
        self._endings: list[Callable[[], None]] = []

    @abstractmethod
    async def reconcile(self, key: Key) -> float | None:
        """Bring the world closer to the wish; simulated seconds until the next look, None when only changes count."""

    def subscribe(self) -> None:
        """Connect the queue to the informers."""
        self.listen(self.kind, lambda obj, _: self.add(key_of(obj)))
        for kind in self.owns:
            self.listen(kind, lambda obj, _: self._add_owner(obj))

    def listen(self, kind: Kind, handler: Handler) -> None:
        """Hear of changes of a kind for as long as this controller runs."""
        self._endings.append(self.cluster.informer(kind).on_change(handler))

    def _add_owner(self, obj: Obj) -> None:
        owner = controller_of(obj)
        if owner and owner["kind"] == self.kind.name:
            self.add((obj["metadata"].get("namespace", "") if self.kind.namespaced else "", owner["name"]))

    def add(self, key: Key) -> None:
        """Reconcile a key very soon; many additions make one."""
        self._arm(key, SOON_S)

    def add_all(self) -> None:
        for obj in self.cluster.informer(self.kind):
            self.add(key_of(obj))

    def add_after(self, key: Key, simulated_s: float) -> None:
        self._arm(key, max(self.cluster.clock.real_seconds(simulated_s), SOON_S))

    def _arm(self, key: Key, real_s: float) -> None:
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer:
            if timer.when() <= loop.time() + real_s:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(real_s, self._due, key)

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        if key not in self._waiting:
            self._waiting.add(key)
            if key not in self._busy:
                self._queue.put_nowait(key)

    async def run(self) -> None:
        """Work until cancelled."""
        await self.cluster.synced((self.kind, *self.owns, *self.reads))
        self.subscribe()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(_WORKERS):
                    group.create_task(self._work())
        finally:
            for end in self._endings:
                end()
            for timer in self._timers.values():
                timer.cancel()

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._waiting.discard(key)
            self._busy.add(key)
            await self._attempt(key)
            self._busy.discard(key)
            if key in self._waiting:
                self._queue.put_nowait(key)

    async def _attempt(self, key: Key) -> None:
        try:
            again = await self.reconcile(key)
        except (ApiError, aiohttp.ClientError, TimeoutError, OSError) as problem:
            LOG.debug("%s %s: %r", self.kind.plural, key, problem)
            self._retry(key)
        except Exception:
            LOG.exception("%s %s", self.kind.plural, key)
            self._retry(key)
        else:
            self._failures.pop(key, None)
            if again is not None:
                self.add_after(key, again)

    def _retry(self, key: Key) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._arm(key, min(_FIRST_RETRY_S * 2**failures, _LAST_RETRY_S))
