"""The part of JSONPath that printer columns use: .a.b, .a\\.b, ['a'], [0], [*], [?(@.type=="Ready")]."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[Any], list[Any]]

_STEP = re.compile(
    r"""\.?(?P<name>[\w-]+(?:\\\.[\w/-]+)*)"""
    r"""|\[(?P<index>\d+|\*)\]"""
    r"""|\[\?\(@\.(?P<field>[\w.]+)\s*==\s*["'](?P<value>[^"']*)["']\)\]"""
    r"""|\[['"](?P<quoted>[^'"]+)['"]\]"""
)


def values_at(obj: Any, path: str) -> list[Any]:
    """Everything the path reaches; [] when it reaches nothing."""
    found = [obj]
    for step in _steps(path):
        found = [inner for value in found for inner in step(value)]
    return found


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    return tuple(_step(match) for match in _STEP.finditer(path.strip("{}")))


def _step(match: re.Match[str]) -> Step:
    parts = match.groupdict()
    if name := parts["quoted"] or parts["name"]:
        return _by_name(name.replace("\\.", "."))
    if parts["field"]:
        return _by_field(parts["field"], parts["value"])
    return _by_index(parts["index"])


def _by_name(name: str) -> Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _by_field(field: str, wanted: str) -> Step:
    def matching(value: Any) -> list[Any]:
        items = value if isinstance(value, list) else []
        return [item for item in items if isinstance(item, dict) and str(item.get(field)) == wanted]

    return matching


def _by_index(index: str) -> Step:
    chosen = slice(None) if index == "*" else slice(int(index), int(index) + 1)
    return lambda value: value[chosen] if isinstance(value, list) else []
