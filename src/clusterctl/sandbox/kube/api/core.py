"""One cluster's state with everything that acts on it, apart from HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.api.admission import Admission
from clusterctl.sandbox.kube.api.bootstrap import NamespaceContents, bootstrap
from clusterctl.sandbox.kube.api.containers import Containers
from clusterctl.sandbox.kube.api.definitions import Definitions
from clusterctl.sandbox.kube.api.garbage import GarbageCollector, Later
from clusterctl.sandbox.kube.api.lifecycle import Lifecycle
from clusterctl.sandbox.kube.api.resources import Registry
from clusterctl.sandbox.kube.api.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


@dataclass(slots=True)
class Core:
    """What the handlers of requests work on."""

    registry: Registry
    store: Store
    lifecycle: Lifecycle
    containers: Containers
    now: Callable[[], datetime]
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    issued_tokens: dict[str, str] = field(default_factory=dict)  # token -> user name

    @classmethod
    def with_contents(cls, now: Callable[[], datetime], certificate_authority: str, later: Later) -> Core:
        """A cluster as EKS hands it over: system namespaces, roles, priority classes."""
        registry, store = Registry.builtin(), Store()
        lifecycle = Lifecycle(registry, store, Admission(store), now)
        containers = Containers(now)
        store.listeners += [
            Definitions(registry, store, lifecycle, later).on_change,
            GarbageCollector(registry, store, lifecycle, later).on_change,
            NamespaceContents(registry, lifecycle, certificate_authority).on_change,
            containers.on_change,
        ]
        bootstrap(lifecycle)
        return cls(registry, store, lifecycle, containers, now)
