"""A cloud as it was before anything of a cluster stood: the plans over it make everything."""

from __future__ import annotations

from dataclasses import dataclass

from clusterctl.model.cluster import ClusterState, NodegroupState, StackState
from clusterctl.ports import ClusterReader


@dataclass(frozen=True, slots=True)
class Unmade:
    """Implements ports.ClusterReader. What a standing cluster has settled for good, its version and zones, is kept."""

    clusters: ClusterReader

    def cluster(self, region: str, name: str) -> ClusterState:
        stands = self.clusters.cluster(region, name)
        return ClusterState(region, name, version=stands.version, private_subnets=stands.private_subnets)

    def nodegroup(self, region: str, cluster: str, name: str) -> NodegroupState:
        return NodegroupState(region, cluster, name)

    def stack(self, region: str, name: str) -> StackState:
        return StackState("")
