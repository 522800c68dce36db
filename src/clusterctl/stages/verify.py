"""The proof: what every GPU node offers against what EC2 says it has. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from clusterctl.engine.actions import Plan
from clusterctl.engine.outputs import Outputs
from clusterctl.model.cluster import ClusterState, NodegroupState
from clusterctl.model.components import PluginsState
from clusterctl.model.decision import Decision
from clusterctl.model.verification import (
    Check,
    CheckState,
    Expected,
    FailedVerificationError,
    Verification,
    expect,
    judge,
)
from clusterctl.ports import KubeReader


@dataclass(frozen=True, slots=True)
class VerifyStage:
    """Compares the nodes with what was asked for. `expect_nodes` is the number to find, if not the one asked for."""

    kube: KubeReader
    expect_nodes: int | None = None
    name: str = "verify"
    requires: tuple[type, ...] = (ClusterState, NodegroupState, Decision, PluginsState)
    provides: type[Verification] = Verification
    patience_s: float = 5 * 60

    def observe(self, inputs: Outputs) -> Verification:
        """One look, judged at once."""
        access, group = inputs[ClusterState].access, inputs[NodegroupState]
        selector = f"eks.amazonaws.com/nodegroup={group.name}"
        nodes = self.kube.nodes(access, selector) if access.endpoint and group.exists else ()
        verification = judge(self._expected(inputs), nodes)
        return replace(verification, checks=(*verification.checks, *_more_checks(inputs)))

    def plan(self, inputs: Outputs, observed: Verification) -> Plan:
        return ()

    def waiting_for(self, inputs: Outputs, observed: Verification) -> str:
        return "" if observed.ok else "; ".join(check.message for check in observed.failures) or "nothing was checked"

    def verdict(self, inputs: Outputs, observed: Verification) -> FailedVerificationError:
        return FailedVerificationError(observed)

    def expect(self, inputs: Outputs, observed: Verification) -> Verification:
        return observed

    def _expected(self, inputs: Outputs) -> Expected:
        decision, group = inputs[Decision], inputs[NodegroupState]
        place = decision.candidate
        kind = decision.kinds.get(group.instance_type) or decision.kind
        zone = group.zones[0] if len(group.zones) == 1 else place.zone
        return expect(place.nodes if self.expect_nodes is None else self.expect_nodes, kind, zone)


def _more_checks(inputs: Outputs) -> Iterable[Check]:
    """What the nodes themselves do not tell: whether EKS finds the group well, and the plugins stay up."""
    group = inputs[NodegroupState]
    issues = "".join(f", {issue.code}: {issue.message}" for issue in group.issues)
    healthy = group.ready and not group.issues
    yield Check(
        "node-group", CheckState.OK if healthy else CheckState.FAILED, "error",
        f"EKS calls node group {group.name} {group.status or 'absent'}{issues}",
        "" if healthy else "clusterctl nodegroup",
    )  # fmt: skip
    for state in inputs[PluginsState].components:
        said = state.drift or state.unsettled
        yield Check(
            f"plugin-{state.component.name}", CheckState.FAILED if said else CheckState.OK, "error",
            f"{state.component.title}: {said or 'runs'}", "clusterctl plugins" if said else "",
        )  # fmt: skip
