"""The parts that make up AWS, in the order in which they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.extension import Part

PARTS: tuple[Part, ...] = ()
