"""Slurm on Kubernetes, from certificates to a slurmd on every GPU node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusterctl.engine.components import Wanted
from clusterctl.engine.operators import OperatorStage
from clusterctl.engine.outputs import Outputs
from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.components import SlinkyState
from clusterctl.model.decision import Decision
from clusterctl.model.operators import SlurmNodes, slinky
from clusterctl.rendering.values import wanted


@dataclass(frozen=True, slots=True)
class SlinkyStage(OperatorStage):
    """Installs Slinky and what it stands on; done when every GPU node is one of Slurm's."""

    name: ClassVar[str] = "slinky"
    needs: ClassVar[tuple[type, ...]] = (ClusterState, NodegroupState, Decision)
    provides: ClassVar[type[SlinkyState]] = SlinkyState
    patience_s: ClassVar[float] = 20 * 60.0

    def describe(self, inputs: Outputs) -> tuple[Wanted, ...]:
        group, decision = inputs[NodegroupState], inputs[Decision]
        kind = decision.kinds.get(group.instance_type) or decision.kind
        taints = tuple(sorted({key for key, _, _ in group.taints}))
        nodes = SlurmNodes(kind, group.desired, taints)
        return tuple(Wanted(*wanted(one)) for one in slinky(self.settings, nodes))
