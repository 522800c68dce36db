"""`eksctl create nodegroup`, and the node groups of `create cluster`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.kubernetes import Kubernetes
from clusterctl.sandbox.eksctl.network import least_network_cards, nodegroup_subnets
from clusterctl.sandbox.eksctl.nodegroup_template import NodegroupFacts, nodegroup_template
from clusterctl.sandbox.eksctl.plugins import PluginChoice, install_plugins
from clusterctl.sandbox.eksctl.stacks import cluster_stack, nodegroup_stack, stack_tags

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.config import ClusterConfig, NodegroupConfig
    from clusterctl.sandbox.eksctl.session import Session


@dataclass(frozen=True, slots=True)
class Started:
    """A node group's stack that was begun, and the fault that it acts out."""

    nodegroup: NodegroupConfig
    stack: str
    stack_id: str
    outcome: str


def create_nodegroups(session: Session, config: ClusterConfig, choice: PluginChoice) -> None:
    """The command: begin what does not exist yet, wait, install plugins. Exits well having made nothing."""
    cluster = session.operable_cluster(config.name)
    console = session.console
    wanted = _without_existing(session, config)
    outcomes = {one.name: session.fault("create-nodegroup", config.name, one) for one in wanted}
    wanted = [one for one in wanted if outcomes[one.name] != "silent-nothing"]
    if not wanted:
        console.info("no tasks")
        console.done(f'created 0 nodegroup(s) in cluster "{config.name}"')
        console.done(f'created 0 managed nodegroup(s) in cluster "{config.name}"')
        console.info("checking security group configuration for all nodegroups")
        console.info("all nodegroups have up-to-date cloudformation templates")
        return
    for nodegroup in wanted:
        console.info(f'nodegroup "{nodegroup.name}" will use "" [{nodegroup.ami_family}/{config.version}]')
    run_nodegroups(session, config, cluster, outcomes)
    finish_nodegroups(session, cluster, wanted, choice)
    console.done(f'created {len(wanted)} managed nodegroup(s) in cluster "{config.name}"')
    console.info("checking security group configuration for all nodegroups")
    console.info("all nodegroups have up-to-date cloudformation templates")


def _without_existing(session: Session, config: ClusterConfig) -> list[NodegroupConfig]:
    """eksctl takes a stack in any state but DELETE_FAILED for an existing node group."""
    prefix = nodegroup_stack(config.name, "")
    stacks = {name: status for name, status in session.stacks.names(prefix).items() if status != "DELETE_FAILED"}
    taken = {name.removeprefix(prefix) for name in stacks} | set(session.nodegroup_names(config.name))
    excluded = [one.name for one in config.nodegroups if one.name in taken]
    if excluded:
        names = ",".join(excluded)
        session.console.info(f"{len(excluded)} existing nodegroup(s) ({names}) will be excluded")
    return [one for one in config.nodegroups if one.name not in taken]


def run_nodegroups(session: Session, config: ClusterConfig, cluster: dict[str, Any], outcomes: dict[str, str]) -> None:
    """Begin the stacks of the node groups named in `outcomes`, then wait for each. Raises EksctlError."""
    wanted = [one for one in config.nodegroups if outcomes.get(one.name, "silent-nothing") != "silent-nothing"]
    started = [_start(session, config, cluster, one, outcomes[one.name]) for one in wanted]
    failed = []
    for one in started:
        try:
            _await_stack(session, one)
        except EksctlError as problem:
            session.console.failed(str(problem))
            failed.append(one.nodegroup.name)
    if failed:
        _give_up(session, config.name, failed)


def _await_stack(session: Session, started: Started) -> None:
    if started.outcome == "timeout":
        session.hang()
        raise EksctlError("exceeded max wait time for StackCreateComplete waiter")
    session.stacks.await_nodegroup(started.stack, started.stack_id)


def _give_up(session: Session, cluster: str, failed: list[str]) -> None:
    console, region = session.console, session.aws.region
    text = f"{len(failed)} error(s) occurred and nodegroups haven't been created properly"
    console.info(f"{text}, you may wish to check CloudFormation console")
    console.info(
        f"to cleanup resources, run 'eksctl delete nodegroup --region={region} --cluster={cluster} --name=<name>'"
        " for each of the failed nodegroup"
    )
    raise EksctlError(f'failed to create nodegroups for cluster "{cluster}"')


def _start(
    session: Session, config: ClusterConfig, cluster: dict[str, Any], nodegroup: NodegroupConfig, outcome: str
) -> Started:
    aws, console = session.aws, session.console
    stack = nodegroup_stack(config.name, nodegroup.name)
    console.info(f'building managed nodegroup stack "{stack}"')
    outputs = session.stacks.outputs(cluster_stack(config.name)) or {"VPC": cluster["resourcesVpcConfig"]["vpcId"]}
    tags = stack_tags(config.name, config.tags) | {
        "alpha.eksctl.io/nodegroup-name": nodegroup.name,
        "alpha.eksctl.io/nodegroup-type": "managed",
    }
    subnets = nodegroup_subnets(aws, nodegroup, outputs)
    if nodegroup.efa and nodegroup.zones and len(subnets) > 1:
        console.info(f"EFA requires all nodes be in a single subnet, arbitrarily choosing one: {subnets[0]}")
        subnets = subnets[:1]
    facts = NodegroupFacts(
        cluster=config.name,
        version=cluster["version"],
        subnets=subnets,
        cluster_security_group=cluster["resourcesVpcConfig"]["clusterSecurityGroupId"],
        network_cards=least_network_cards(aws, nodegroup.instance_types) if nodegroup.efa else 0,
        tags=config.tags,
        rehearsal=outcome if outcome in {"rollback", "partial"} else "",
    )
    stack_id = session.stacks.create(stack, nodegroup_template(nodegroup, facts), tags)
    return Started(nodegroup, stack, stack_id, outcome)


def finish_nodegroups(
    session: Session, cluster: dict[str, Any], nodegroups: list[NodegroupConfig], choice: PluginChoice
) -> None:
    """Wait for minSize Ready nodes of each node group, then install the device plugins."""
    kubernetes = Kubernetes(session.aws, cluster)
    for nodegroup in nodegroups:
        least = nodegroup.sizes["minSize"]
        if least:
            _await_nodes(session, kubernetes, nodegroup.name, least)
    install_plugins(kubernetes, session.console, nodegroups, choice)


def _await_nodes(session: Session, kubernetes: Kubernetes, name: str, least: int) -> None:
    console = session.console
    console.info(f'waiting for at least {least} node(s) to become ready in "{name}"')
    ready: list[str] = []

    def enough() -> bool:
        ready[:] = kubernetes.ready_nodes(name)
        return len(ready) >= least

    if not console.wait_until(enough, session.timeout_s, every_s=30.0):
        raise EksctlError(
            f'timed out waiting for at least {least} nodes to join the cluster and become ready in "{name}":'
            " context deadline exceeded"
        )
    console.info(f'nodegroup "{name}" has {len(ready)} node(s)')
    for node in ready:
        console.info(f'node "{node}" is ready')
