"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

import copy
from typing import Any


def merge_patch(current: Any, patch: Any) -> Any:
    """The value after the patch; neither argument is changed, null removes."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(current) if isinstance(current, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
