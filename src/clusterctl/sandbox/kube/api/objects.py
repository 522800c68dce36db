"""The shape of what is stored: JSON objects that nobody changes once they are in the store."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
StorageKey = tuple[str, str]  # (group, plural)
ObjectKey = tuple[str, str]  # (namespace or "", name)


def key_of(obj: Object) -> ObjectKey:
    metadata = obj["metadata"]
    return (metadata.get("namespace") or "", metadata["name"])


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def without_metadata(obj: Object) -> Object:
    return {k: v for k, v in obj.items() if k != "metadata"}
