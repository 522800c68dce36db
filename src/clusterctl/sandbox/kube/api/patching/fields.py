"""Sets of fields, as `managedFields` holds them.

A path is a tuple of FieldsV1 elements: `f:name`, `k:{"name":"c"}`, `v:"x"`; a last `.` is a keyed item itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.patching.structure import ListRule, Structure

Path = tuple[str, ...]
ITEM = "."
_OWNABLE_METADATA = ("annotations", "finalizers", "labels", "ownerReferences")


def owned_fields(obj: Object, structure: Structure) -> dict[Path, Any]:
    """Every field of an object that a manager can own, with its value."""
    fields = {name: value for name, value in obj.items() if name not in {"apiVersion", "kind", "metadata"}}
    metadata = obj.get("metadata") or {}
    if ownable := {name: metadata[name] for name in _OWNABLE_METADATA if name in metadata}:
        fields["metadata"] = ownable
    return dict(_leaves(fields, structure, ()))


def _leaves(obj: Object, structure: Structure, path: Path) -> Iterator[tuple[Path, Any]]:
    for name, value in obj.items():
        child, here = structure.child(name), (*path, f"f:{name}")
        if isinstance(value, dict) and value and not child.atomic_map:
            yield from _leaves(value, child, here)
        elif isinstance(value, list) and value and child.list_rule.associates(value):
            yield from _items(value, child, here)
        else:
            yield here, value


def _items(items: list[Any], structure: Structure, path: Path) -> Iterator[tuple[Path, Any]]:
    rule = structure.list_rule
    for item in items:
        here = (*path, _element(item, rule))
        if rule.kind == "set":
            yield here, item
        else:
            yield (*here, ITEM), True
            yield from _leaves(item, structure.item, here)


def _element(item: Any, rule: ListRule) -> str:
    if rule.kind == "set":
        return "v:" + json.dumps(item)
    named = dict(zip(rule.keys, rule.key_of(item), strict=True))
    return "k:" + json.dumps(named, separators=(",", ":"), sort_keys=True)


def encode(paths: Iterable[Path]) -> Object:
    """The FieldsV1 document of a set of paths."""
    root: Object = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
    return root


def decode(fields: Object) -> set[Path]:
    return set(_decode(fields, ()))


def _decode(node: Object, path: Path) -> Iterator[Path]:
    if not node and path:
        yield path
    for element, below in node.items():
        if element != ITEM:
            yield from _decode(below, (*path, element))
        elif path and path[-1].startswith("k:"):
            yield (*path, ITEM)


def describe(path: Path) -> str:
    """`.spec.containers[name="c"].image`, as conflicts are reported."""
    return "".join(map(_describe, path))


def _describe(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    if kind == "k:":
        return "[" + ",".join(f"{k}={json.dumps(v)}" for k, v in json.loads(text).items()) + "]"
    return f"[={text}]" if kind == "v:" else ""


def remove(obj: Object, path: Path, structure: Structure) -> None:
    """Take one field out of an object in place, and the maps and lists that it leaves empty."""
    name, rest = path[0][2:], path[1:]
    if name not in obj:
        return
    value, child = obj[name], structure.child(name)
    if rest and isinstance(value, list):
        _remove_item(value, rest, child)
    elif rest and isinstance(value, dict):
        remove(value, rest, child)
    if not rest or (value in ({}, []) and name != "metadata"):
        del obj[name]


def _remove_item(items: list[Any], path: Path, structure: Structure) -> None:
    rule = structure.list_rule
    if not rule.associates(items):
        return
    index = next((i for i, item in enumerate(items) if _element(item, rule) == path[0]), None)
    if index is None:
        return
    if path[1:] in ((), (ITEM,)):
        items.pop(index)
    else:
        remove(items[index], path[1:], structure.item)
