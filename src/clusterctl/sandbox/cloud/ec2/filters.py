"""EC2's filter `tag-key` with several values: any one suffices. moto wants them all."""

from __future__ import annotations

from typing import Any

from moto.ec2 import utils as moto_utils

from clusterctl.sandbox.cloud.ec2.base import matches

_motos_own = moto_utils.is_filter_matching


def is_filter_matching(thing: Any, name: str, values: Any) -> bool:
    """In the place of moto's function of this name."""
    if name != "tag-key":
        return bool(_motos_own(thing, name, values))
    patterns = values if isinstance(values, list) else [values]
    return any(matches(key, patterns) for key in thing.get_filter_value(name))


def install() -> None:
    """moto's filters look the function up in its module each time."""
    moto_utils.is_filter_matching = is_filter_matching
