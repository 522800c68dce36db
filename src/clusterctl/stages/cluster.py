"""The EKS cluster with its add-ons, system nodes and kubeconfig: made once, and mended where something is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clusterctl.engine.actions import (
    Action,
    AssociateOidc,
    CreateAddon,
    CreateCluster,
    CreateNodegroup,
    DeleteCluster,
    DeleteNodegroup,
    Plan,
    ReplaceAddon,
    WriteKubeconfig,
)
from clusterctl.engine.attempts import CONTROL_PLANE, Attempt, Attempts
from clusterctl.engine.outputs import Outputs
from clusterctl.errors import BusyError, UsageError
from clusterctl.model.cluster import ADDONS, TAG_CLUSTER, ClusterState, StackVerdict
from clusterctl.model.contention import refuse_system_nodes_of_others, refuse_work_of_others
from clusterctl.model.decision import Decision
from clusterctl.model.launch import launch_error
from clusterctl.model.run import RunContext
from clusterctl.model.settings import Settings
from clusterctl.model.specs import (
    SYSTEM_NODEGROUP,
    ClusterSpec,
    check_ami_family,
    check_launchable,
    cluster_zones,
)
from clusterctl.model.standing import Standing, cluster_standing, describe, nodegroup_standing
from clusterctl.ports import ClusterReader, KubeconfigReader
from clusterctl.rendering.eksctl_config import render_cluster

_SETTLED = ("ACTIVE", "UPDATE_FAILED")  # of an add-on; one that could not be updated goes on as it was
_FAILED = ("CREATE_FAILED", "DELETE_FAILED")


@dataclass(frozen=True, slots=True)
class ClusterStage:
    """Provides ClusterState. A cluster that somebody else made is only added to, never deleted."""

    clusters: ClusterReader
    kubeconfig: KubeconfigReader

    name: ClassVar[str] = "cluster"
    requires: ClassVar[tuple[type, ...]] = (Settings, RunContext, Decision)
    provides: ClassVar[type[ClusterState]] = ClusterState
    patience_s: ClassVar[float] = 45 * 60.0

    def observe(self, inputs: Outputs) -> ClusterState:
        state = self.clusters.cluster(inputs[Decision].candidate.region, inputs[RunContext].cluster)
        return replace(state, kubeconfig_current=bool(state.endpoint) and self.kubeconfig.current(state.access))

    def plan(self, inputs: Outputs, observed: ClusterState) -> Plan:
        """Raises UsageError or BusyError for what is in the way and not ours, and the cause if system nodes failed."""
        match cluster_standing(observed.status, observed.stack):
            case Standing.ABSENT:
                return (_create(inputs, observed),)
            case Standing.BROKEN:
                if not observed.ours:
                    raise _not_ours(f"cluster {observed.name}", describe(observed), _delete_command(observed))
                why = describe(observed)
                return (DeleteCluster(observed.region, observed.name, why), _create(inputs, observed))
            case Standing.COMING | Standing.GOING:
                if not observed.ours:
                    raise BusyError(
                        f"cluster {observed.name} is being changed by somebody else ({describe(observed)})",
                        hint="wait for the end of it, or choose another CLUSTER_NAME",
                    )
                refuse_work_of_others(inputs[RunContext], observed)
                return ()
            case _:
                return self._mend(inputs, observed)

    def waiting_for(self, inputs: Outputs, observed: ClusterState) -> str:
        if not observed.ready:
            return describe(observed)
        if cluster_standing(observed.status, observed.stack) is not Standing.READY:
            return describe(observed)
        if (system := observed.nodegroups.get(SYSTEM_NODEGROUP, "absent")) != "ACTIVE":
            return f"system node group: {system}"
        unsettled = [f"{name} {status}" for name, status in observed.addons.items() if status not in _SETTLED]
        issues = [issue.message for issue in observed.addon_issues]
        return "; ".join([", ".join(unsettled), *issues]) if unsettled else ""

    def expect(self, inputs: Outputs, observed: ClusterState) -> ClusterState:
        spec = _spec(inputs, observed)
        return replace(
            observed,
            status="ACTIVE",
            version=observed.version or spec.version,
            oidc_provider=True,
            private_subnets=observed.private_subnets or dict.fromkeys(spec.zones, ""),
            addons=dict.fromkeys(ADDONS, "ACTIVE") | observed.addons,
            nodegroups={SYSTEM_NODEGROUP: "ACTIVE"} | observed.nodegroups,
            tags=observed.tags or spec.tags,
            kubeconfig_current=True,
        )

    def _mend(self, inputs: Outputs, state: ClusterState) -> Plan:
        if state.stack.verdict is StackVerdict.ABSENT:
            raise UsageError(
                f"cluster {state.name} was not made by eksctl, which therefore cannot add node groups to it",
                hint="choose another CLUSTER_NAME",
            )
        if not state.ready:
            return ()
        refuse_system_nodes_of_others(inputs[RunContext], state)
        oidc = () if state.oidc_provider else (AssociateOidc(state.region, state.name),)
        path = self.kubeconfig.path(state.name, state.region)
        kubeconfig = () if state.kubeconfig_current or not state.endpoint else (WriteKubeconfig(state.access, path),)
        return (*oidc, *_addons(state), *_system_nodes(inputs, state), *kubeconfig)


def _create(inputs: Outputs, state: ClusterState) -> CreateCluster:
    """Refuses first what would fail only after the cluster has been paid for."""
    decision, settings = inputs[Decision], inputs[Settings]
    check_launchable(decision.kind)
    check_ami_family(settings.node_ami_family, decision.kind.accelerator)
    _refuse_useless(inputs, state)
    spec = _spec(inputs, state)
    summary = f"Kubernetes {spec.version}, {spec.system_count} x {spec.system_type}, zones {', '.join(spec.zones)}"
    return CreateCluster(spec.region, spec.name, render_cluster(spec), summary)


def _spec(inputs: Outputs, state: ClusterState) -> ClusterSpec:
    """What is asked for; of a cluster that stands, its own version and zones."""
    settings, decision, run = inputs[Settings], inputs[Decision], inputs[RunContext]
    failed = _unplaced(inputs, state)
    roomy = failed.failure.zones if failed and failed.failure else tuple(one.name for one in decision.all_zones)
    possible = [one for one in decision.all_zones if one.name in roomy]
    zones = tuple(sorted(state.private_subnets)) or cluster_zones(possible, decision.zones)
    return ClusterSpec(
        name=run.cluster,
        region=state.region,
        version=state.version or settings.k8s_version,
        zones=zones,
        system_type=settings.system_node_type,
        system_count=settings.system_node_count,
        ami_family=settings.node_ami_family,
        addons=ADDONS,
        tags=run.tags,
    )


def _unplaced(inputs: Outputs, state: ClusterState) -> Attempt | None:
    """The last time in this run that EKS had no room for the control plane in a zone, and named others."""
    return inputs[Attempts].failure_of(state.region, CONTROL_PLANE) if Attempts in inputs else None


def _refuse_useless(inputs: Outputs, state: ClusterState) -> None:
    """Raise where a cluster in the zones that EKS names could not take the nodes, or has been tried in vain."""
    failed = _unplaced(inputs, state)
    if failed is None or failed.failure is None:
        return
    tried = sum(one.nodegroup == CONTROL_PLANE and one.region == state.region for one in inputs[Attempts].tried)
    wanted = {one.zone for one in inputs[Decision].in_region()}
    if tried > 1 or not wanted & set(failed.failure.zones):
        raise launch_error(failed.failure, f"EKS has no room for cluster {state.name}: {failed.reason}")


def _not_ours(what: str, state: str, command: str) -> UsageError:
    return UsageError(
        f"{what} is broken and was not made by clusterctl ({state})",
        hint=f"{command}, or choose another CLUSTER_NAME",
    )


def _delete_command(state: ClusterState) -> str:
    return f"eksctl delete cluster --name {state.name} --region {state.region}"


def _addons(state: ClusterState) -> Plan:
    """Add-ons that are missing, and those that failed: eksctl would pass over both."""
    actions: list[Action] = []
    for addon in ADDONS:
        status = state.addons.get(addon, "")
        if not status:
            actions.append(CreateAddon(state.region, state.name, addon))
        elif status in _FAILED:
            actions.append(ReplaceAddon(state.region, state.name, addon, f"it is {status}"))
    return tuple(actions)


def _system_nodes(inputs: Outputs, state: ClusterState) -> Plan:
    """The node group that operators run on. One that cannot be made ends the stage with its own reason."""
    tried = inputs[Attempts] if Attempts in inputs else Attempts()
    if (failed := tried.failure_of(state.region, SYSTEM_NODEGROUP)) and failed.failure:
        raise launch_error(failed.failure, f"the system node group was not made: {failed.reason}")
    status = state.nodegroups.get(SYSTEM_NODEGROUP, "")
    spec = _spec(inputs, state)
    create = CreateNodegroup(
        state.region, state.name, SYSTEM_NODEGROUP, "", spec.system_count, spec.system_type, render_cluster(spec)
    )
    match nodegroup_standing(status, state.system_stack):
        case Standing.ABSENT:
            return (create,)
        case Standing.BROKEN:
            why = f"EKS: {status or 'absent'}, stack: {state.system_stack.status or 'absent'}"
            if not state.ours and state.system_stack.tags.get(TAG_CLUSTER) != state.name:
                raise _not_ours(f"node group {SYSTEM_NODEGROUP} of {state.name}", why, "delete it with eksctl")
            return (DeleteNodegroup(state.region, state.name, SYSTEM_NODEGROUP, why), create)
        case _:
            return ()
