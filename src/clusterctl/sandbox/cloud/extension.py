"""The seam: how a part of the sandbox replaces handlers of moto without touching its files.

moto looks handlers up in module-level registries when the application of a service is first built. `install`
puts the handlers of every extension there. A part offers one function `extension(world) -> Extension` and is
listed in `parts.PARTS`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from clusterctl.sandbox.cloud.world import World

Handler = Callable[..., Any]
Row = dict[str, Any]
Inventory = dict[str, dict[str, list[Row]]]
"""region ("global" for IAM) -> kind ("reservations", "clusters", ...) -> rows."""


def _nothing() -> None:
    """The reset of a part that holds no state."""


@dataclass(frozen=True, slots=True)
class NewService:
    """A service that moto lacks: its package (backends, urls) and the host pattern that names it."""

    package: ModuleType
    host_pattern: str


@dataclass(frozen=True, slots=True)
class Machines:
    """What the machine simulation has to know; rows as the control API gives them."""

    clusters: list[Row] = field(default_factory=list)
    machines: list[Row] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Extension:
    """What one part adds to AWS.

    `url_paths`: moto service -> path pattern ("{0}/") -> handler; entries replace moto's or come on top.
    `preload`: moto services whose application is built before the first request.
    `reset`: forgets the part's own state; moto's own reset follows. Called under the world lock.
    `inventory`: what exists beyond an untouched account, for GET /state. Called under the world lock.
    `machines`: the source of GET /machines, given by one part alone. Called under the world lock.
    """

    name: str
    url_paths: Mapping[str, Mapping[str, Handler]] = field(default_factory=dict)
    new_services: Mapping[str, NewService] = field(default_factory=dict)
    preload: Sequence[str] = ()
    reset: Callable[[], None] = _nothing
    inventory: Callable[[], Inventory] = dict
    machines: Callable[[], Machines] | None = None


Part = Callable[["World"], Extension]


def bound_to(world: World, response_class: type[Any]) -> type[Any]:
    """A subclass of a moto response class whose instances see the world as `self.world`."""
    return type(response_class.__name__, (response_class,), {"world": world, "__module__": response_class.__module__})


def install(extensions: Sequence[Extension]) -> None:
    """Put every handler into moto's registries; before the first request of the process."""
    for extension in extensions:
        for service, new in extension.new_services.items():
            _add_service(service, new)
        for service, paths in extension.url_paths.items():
            _service_paths(service).update(paths)


def _add_service(service: str, new: NewService) -> None:
    index = importlib.import_module("moto.backend_index")
    sys.modules[f"moto.{service}"] = new.package
    index.backend_url_patterns.append((service, re.compile(new.host_pattern)))


def _service_paths(service: str) -> dict[str, Handler]:
    module = "moto.moto_api._internal.urls" if service == "moto_api" else f"moto.{service}.urls"
    paths: dict[str, Handler] = importlib.import_module(module).url_paths
    return paths
