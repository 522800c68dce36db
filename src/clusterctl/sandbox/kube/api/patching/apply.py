"""Server-side apply, and who manages which field after every other kind of write."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.kube.api.patching.fields import ITEM, Path, decode, describe, encode, owned_fields, remove
from clusterctl.sandbox.kube.api.patching.ordering import applied_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterctl.sandbox.kube.api.objects import Object
    from clusterctl.sandbox.kube.api.patching.structure import Structure


@dataclass(frozen=True, slots=True)
class Manager:
    """Who writes: an entry of managedFields without its fields."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @classmethod
    def of_entry(cls, entry: Object) -> Manager:
        return cls(
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        )

    def entry(self, paths: Iterable[Path], time: str) -> Object:
        return {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encode(paths),
            **({"subresource": self.subresource} if self.subresource else {}),
        }

    def described(self) -> str:
        return f'"{self.name}"' + (f" using {self.api_version}" if self.operation == "Update" else "")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field that somebody else manages and that the apply would change."""

    manager: Manager
    path: Path

    @property
    def field(self) -> str:
        return describe(self.path)


class ApplyConflictError(Exception):
    """Fields of others are in the way, and force was not given."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Apply:
    """One apply: who, in which structure, at what time, and whether it takes what others manage."""

    manager: Manager
    structure: Structure
    time: str
    force: bool = False

    def to(self, live: Object, config: Object) -> Object:
        """The live object ({} when there is none) with `config` applied. Raises ApplyConflictError."""
        entries = _entries(live)
        mine = decode((entries.get(self.manager) or {}).get("fieldsV1") or {})
        applied = owned_fields(config, self.structure)
        before = owned_fields(live, self.structure)
        others = {m: decode(e.get("fieldsV1") or {}) for m, e in entries.items() if m != self.manager}
        kept = self._settle(others, applied, before)
        merged = self._merge(live, config)
        owned = set(applied).union(*kept.values())
        above = _ancestors(owned)
        self._drop(merged, {path for path in mine - owned if not _stays(path, above)})
        alive = set(owned_fields(merged, self.structure))
        kept = {m: {p for p in paths if p in alive or p not in before} for m, paths in kept.items()}
        merged["metadata"]["managedFields"] = self._managed(entries, kept, set(applied))
        return merged

    def _settle(
        self, others: Mapping[Manager, set[Path]], applied: Mapping[Path, Any], before: Mapping[Path, Any]
    ) -> dict[Manager, set[Path]]:
        """What the others keep. Raises when they hold what changes and this apply is not forced."""
        clashes = {
            m: {p for p in paths & applied.keys() if p[-1] != ITEM and before.get(p) != applied[p]}
            for m, paths in others.items()
        }
        conflicts = [Conflict(m, p) for m, paths in clashes.items() for p in sorted(paths, key=_by_depth)]
        if conflicts and not self.force:
            raise ApplyConflictError(conflicts)
        return {m: paths - clashes[m] for m, paths in others.items()}

    def _merge(self, live: Object, config: Object) -> Object:
        wanted = {name: value for name, value in config.items() if name != "metadata"}
        merged = _merge_map(live, wanted, self.structure)
        metadata = {k: v for k, v in (config.get("metadata") or {}).items() if k != "managedFields"}
        merged["metadata"] = _merge_map(live.get("metadata") or {}, metadata, self.structure.child("metadata"))
        return copy.deepcopy(merged)

    def _drop(self, merged: Object, paths: set[Path]) -> None:
        """Remove what this manager used to apply; whole items before the fields in them."""
        for path in sorted(paths, key=lambda p: (p[-1] != ITEM, -len(p))):
            remove(merged, path, self.structure)

    def _managed(
        self, entries: Mapping[Manager, Object], kept: Mapping[Manager, set[Path]], applied: set[Path]
    ) -> list[Object]:
        managed = [m.entry(paths, entries[m].get("time", self.time)) for m, paths in kept.items() if paths]
        mine = entries.get(self.manager)
        if mine is not None and decode(mine["fieldsV1"]) == applied:
            managed.append(mine)
        elif applied:
            managed.append(self.manager.entry(applied, self.time))
        return sorted(managed, key=lambda e: (e["operation"], e.get("time", ""), e["manager"]))


def managed_after(old: Object | None, new: Object, structure: Structure, manager: Manager, time: str) -> list[Object]:
    """The managedFields after a write that is not an apply: whoever changes a field manages it."""
    before, after = owned_fields(old or {}, structure), owned_fields(new, structure)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    removed = set(before) - set(after)
    given = (new.get("metadata") or {}).get("managedFields")
    entries = _entries(old or {}) if given is None else _entries(new)
    entries.setdefault(manager, {"fieldsV1": {}})
    managed = []
    for owner, entry in entries.items():
        had = decode(entry.get("fieldsV1") or {})
        has = (had - removed) | changed if owner == manager else had - removed - changed
        if has:
            managed.append(entry if has == had else owner.entry(has, time))
    return managed


def _entries(obj: Object) -> dict[Manager, Object]:
    listed = (obj.get("metadata") or {}).get("managedFields") or []
    return {Manager.of_entry(entry): entry for entry in listed if entry.get("manager")}


def _merge_map(live: Object, config: Object, structure: Structure) -> Object:
    merged = dict(live)
    for name, value in config.items():
        merged[name] = _merge_value(live.get(name), value, structure.child(name))
    return merged


def _merge_value(live: Any, value: Any, structure: Structure) -> Any:
    if isinstance(value, dict) and isinstance(live, dict) and not structure.atomic_map:
        return _merge_map(live, value, structure)
    if isinstance(value, list) and isinstance(live, list) and structure.list_rule.associates(live, value):
        return _merge_list(live, value, structure)
    return value


def _merge_list(live: list[Any], applied: list[Any], structure: Structure) -> list[Any]:
    rule = structure.list_rule
    old = {rule.key_of(item): item for item in live}
    new = {rule.key_of(item): item for item in applied}
    merged = {**old, **{k: _merge_value(old.get(k), item, structure.item) for k, item in new.items()}}
    return [merged[key] for key in applied_order(list(old), list(new))]


def _ancestors(paths: Iterable[Path]) -> set[Path]:
    return {path[:length] for path in paths for length in range(1, len(path))}


def _stays(path: Path, above: set[Path]) -> bool:
    """Whether somebody owns something below: in a map once applied empty, or in an item, which needs its keys."""
    if path[-1] == ITEM:
        return path[:-1] in above
    if len(path) > 1 and path[-2].startswith("k:") and path[:-1] in above:
        return path[-1].removeprefix("f:") in json.loads(path[-2].removeprefix("k:"))
    return path in above


def _by_depth(path: Path) -> list[tuple[bool, str]]:
    """Fields of a map before what lies deeper, as kube-apiserver reports conflicts."""
    return [(index + 1 < len(path), element) for index, element in enumerate(path)]
