"""`eksctl create cluster`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.addons import (
    announce_defaults,
    associate_oidc_provider,
    create_addons,
    early_and_late,
)
from clusterctl.sandbox.eksctl.cluster_template import NetworkPlan, cluster_template
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.kubernetes import write_kubeconfig
from clusterctl.sandbox.eksctl.network import check_offerings, plan_network
from clusterctl.sandbox.eksctl.nodegroups import finish_nodegroups, run_nodegroups
from clusterctl.sandbox.eksctl.plugins import PluginChoice
from clusterctl.sandbox.eksctl.stacks import cluster_stack, stack_tags

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.config import ClusterConfig
    from clusterctl.sandbox.eksctl.session import Session


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The flags of `create cluster`; no kubeconfig path means that none is written."""

    kubeconfig: Path | None = None
    with_nodegroups: bool = True
    plugins: PluginChoice = field(default_factory=PluginChoice)


def check_version(session: Session, config: ClusterConfig) -> None:
    """eksctl asks EKS which versions there are."""
    rows = session.aws.eks("GET", "/cluster-versions").get("clusterVersions") or []
    known = [row["clusterVersion"] for row in rows]
    if config.version not in known:
        listed = ", ".join(sorted(known))
        raise EksctlError(f"invalid version {config.version}, supported values: {listed}")


def create_cluster(session: Session, config: ClusterConfig, options: ClusterOptions) -> None:
    """The command. Not to be repeated over an existing stack."""
    check_version(session, config)
    outcome = session.fault("create-cluster", config.name)
    network = plan_network(session.aws, config)
    zones = list(dict.fromkeys(one.zone for one in network.subnets))
    check_offerings(session.aws, config, zones)
    _announce(session, config, network)
    if outcome == "silent-nothing":
        session.console.done(f'EKS cluster "{config.name}" in "{session.aws.region}" region is ready')
        return
    try:
        cluster = _make_control_plane(session, config, network, outcome)
        _populate(session, config, cluster, options)
    except EksctlError as problem:
        _give_up(session, config, problem)
    session.console.done(f'EKS cluster "{config.name}" in "{session.aws.region}" region is ready')


def _give_up(session: Session, config: ClusterConfig, problem: EksctlError) -> None:
    console, region = session.console, session.aws.region
    console.failed(str(problem))
    console.info(
        "1 error(s) occurred and cluster hasn't been created properly, you may wish to check CloudFormation console"
    )
    console.info(f"to cleanup resources, run 'eksctl delete cluster --region={region} --name={config.name}'")
    raise EksctlError(f'failed to create cluster "{config.name}"') from problem


def _announce(session: Session, config: ClusterConfig, network: NetworkPlan) -> None:
    console, region = session.console, session.aws.region
    if not config.zones and not network.vpc_id:
        zones = " ".join(dict.fromkeys(one.zone for one in network.subnets))
        console.info(f"setting availability zones to [{zones}]")
    for public, private in zip(network.of_kind("Public"), network.of_kind("Private"), strict=False):
        console.info(f"subnets for {public.zone} - public:{public.cidr} private:{private.cidr}")
    console.info(f"using Kubernetes version {config.version}")
    console.info(f'creating EKS cluster "{config.name}" in "{region}" region with managed nodes')
    console.info(
        "if you encounter any issues, check CloudFormation console or try"
        f" 'eksctl utils describe-stacks --region={region} --cluster={config.name}'"
    )
    announce_defaults(config, console)


def _make_control_plane(session: Session, config: ClusterConfig, network: NetworkPlan, outcome: str) -> dict[str, Any]:
    name = cluster_stack(config.name)
    session.console.info(f'building cluster stack "{name}"')
    template = cluster_template(config, network, "rollback" if outcome == "rollback" else "")
    tags = stack_tags(config.name, config.tags, oidc=config.with_oidc)
    stack_id = session.stacks.create(name, template, tags)
    if outcome == "timeout":
        session.hang()
        raise EksctlError("exceeded max wait time for StackCreateComplete waiter")
    session.stacks.await_cluster(name, stack_id)
    return session.operable_cluster(config.name)


def _populate(session: Session, config: ClusterConfig, cluster: dict[str, Any], options: ClusterOptions) -> None:
    aws, console = session.aws, session.console
    early, late = early_and_late(config)
    create_addons(aws, console, config.name, early, has_nodes=False)
    if config.with_oidc:
        associate_oidc_provider(aws, console, cluster)
    nodegroups = config.nodegroups if options.with_nodegroups else []
    outcomes = {one.name: session.fault("create-nodegroup", config.name, one) for one in nodegroups}
    run_nodegroups(session, config, cluster, outcomes)
    console.info("waiting for the control plane to become ready")
    if options.kubeconfig is not None:
        write_kubeconfig(aws, cluster, options.kubeconfig)
        console.done(f'saved kubeconfig as "{options.kubeconfig}"')
    console.done(f'all EKS cluster resources for "{config.name}" have been created')
    made = [one for one in nodegroups if outcomes[one.name] != "silent-nothing"]
    if made:
        finish_nodegroups(session, cluster, made, options.plugins)
    create_addons(aws, console, config.name, late, has_nodes=bool(made))
