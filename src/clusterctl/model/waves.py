"""The order in which components may come, for those who install by numbered waves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterctl.model.kube import Component


def sync_waves(chains: Mapping[str, Sequence[Component]], after: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Each component's wave, by name: one later than all that it needs, and than the stages that its own comes after.

    `chains` are the components of each stage, stages in order; `after` are the stages that each one waits for.
    """
    waves: dict[str, int] = {}
    ends: dict[str, int] = {}
    for stage, chain in chains.items():
        start = max((ends[one] for one in after.get(stage, ()) if one in ends), default=-1) + 1
        for one in chain:
            waves[one.name] = max([start, *(waves[need] + 1 for need in one.needs if need in waves)])
        ends[stage] = max((waves[one.name] for one in chain), default=start - 1)
    return waves
