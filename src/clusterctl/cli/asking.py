"""From options to what wiring is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterctl.cli.command import Invocation
    from clusterctl.wiring.bench import Ask


@dataclass(frozen=True, slots=True)
class Search:
    """The options of a capacity search, as they were typed."""

    regions: str = ""
    all_regions: bool = False
    azs: str = ""
    instance_types: str = ""
    nodes: int | None = None
    cluster_name: str = ""
    region: str = ""

    def flags(self) -> dict[str, Any]:
        types = tuple(part for part in self.instance_types.split(",") if part)
        return {
            "REGIONS": self.regions,
            "AZS": self.azs,
            "INSTANCE_TYPES": self.instance_types,
            "GPU_NODE_TYPE": types[0] if types else "",
            "GPU_NODE_COUNT": self.nodes,
            "CLUSTER_NAME": self.cluster_name,
            "REGION": self.region,
        }


def ask(invocation: Invocation, search: Search, **more: Any) -> Ask:
    """What wiring needs to know. `flags` in `more` are added to those of the search."""
    from clusterctl.wiring.bench import Ask

    flags = {**search.flags(), **more.pop("flags", {})}
    return Ask(
        command=invocation.command,
        sandbox=invocation.sandbox,
        placement=invocation.placement,
        scenario=invocation.scenario,
        flags=flags,
        all_regions=search.all_regions,
        **more,
    )
