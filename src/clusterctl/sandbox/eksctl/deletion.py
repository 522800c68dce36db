"""`eksctl delete nodegroup` and `eksctl delete cluster`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from clusterctl.sandbox.eksctl.addons import remove_oidc_provider
from clusterctl.sandbox.eksctl.aws import AwsError, segment
from clusterctl.sandbox.eksctl.failure import EksctlError
from clusterctl.sandbox.eksctl.kubernetes import Kubernetes
from clusterctl.sandbox.eksctl.stacks import cluster_stack, nodegroup_stack

if TYPE_CHECKING:
    from clusterctl.sandbox.eksctl.session import Session

_BALANCERS_S = 600.0


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """The flags of both commands."""

    wait: bool = False
    drain: bool = True
    force: bool = False
    ignore_budgets: bool = False


def delete_nodegroups(session: Session, cluster_name: str, names: list[str], options: DeletionOptions) -> None:
    """The command. Without `wait` it ends while the stacks are still being deleted."""
    console = session.console
    cluster = session.operable_cluster(cluster_name)
    outcome = session.fault("delete-nodegroup", names[0])
    listed = ", ".join(f'"{name}"' for name in names)
    console.info(f"{len(names)} nodegroup(s) ({listed}) will be deleted".replace('"', ""))
    if outcome == "silent-nothing":
        console.done(f'deleted {len(names)} nodegroup(s) from cluster "{cluster_name}"')
        return
    if options.drain:
        for name in names:
            _drain(session, Kubernetes(session.aws, cluster), name, options)
    begun = [_begin(session, cluster_name, name) for name in names]
    if outcome == "timeout":
        session.hang()
        raise EksctlError("exceeded max wait time for StackDeleteComplete waiter")
    if options.wait:
        for stack, stack_id in begun:
            if stack_id:
                session.stacks.await_deletion(stack, stack_id)
    console.done(f'deleted {len(names)} nodegroup(s) from cluster "{cluster_name}"')


def _begin(session: Session, cluster: str, name: str) -> tuple[str, str]:
    """Delete by stack; a stuck stack, or none, leaves the way through EKS's own API."""
    stack = nodegroup_stack(cluster, name)
    if session.stacks.status(stack) not in {"", "DELETE_FAILED"}:
        return stack, session.stacks.delete(stack)
    if session.nodegroup(cluster, name) is None:
        raise EksctlError(f'no nodegroup with name "{name}" found in cluster "{cluster}"')
    session.aws.eks("DELETE", f"/clusters/{segment(cluster)}/node-groups/{segment(name)}")
    session.console.info(f'will delete nodegroup "{name}" via the EKS API')
    return stack, ""


def _drain(session: Session, kubernetes: Kubernetes, name: str, options: DeletionOptions) -> None:
    session.console.info(f'cordon node group "{name}"')
    arguments = ["drain", "-l", f"alpha.eksctl.io/nodegroup-name={name}", "--ignore-daemonsets"]
    arguments += ["--delete-emptydir-data", "--force", "--grace-period=-1"]
    if options.ignore_budgets:
        arguments.append("--disable-eviction")
    nodes = json.loads(kubernetes.run("get", "nodes", "-l", f"alpha.eksctl.io/nodegroup-name={name}", "-o", "json"))[
        "items"
    ]
    if nodes:
        kubernetes.run(*arguments, limit_s=120.0)
    session.console.done(f"drained nodes: [{' '.join(node['metadata']['name'] for node in nodes)}]")


def delete_cluster(session: Session, name: str, options: DeletionOptions) -> None:
    """The command. Node groups are always waited for, the cluster's own stack only with `wait`."""
    console = session.console
    console.info(f'deleting EKS cluster "{name}"')
    outcome = session.fault("delete-cluster", name)
    if outcome == "silent-nothing":
        console.done("all cluster resources were deleted")
        return
    cluster = _cluster_to_delete(session, name, options)
    if cluster is not None and cluster["status"] == "ACTIVE":
        _prepare(session, cluster, options)
    _delete_nodegroup_stacks(session, name)
    if outcome == "timeout":
        session.hang()
        raise EksctlError("exceeded max wait time for StackDeleteComplete waiter")
    if cluster is not None:
        _delete_addons(session, name)
    _delete_cluster_stack(session, name, options)
    left = [stack for stack, status in session.stacks.names(f"eksctl-{name}-").items() if status == "DELETE_FAILED"]
    if left:
        console.failed(f"found the following undeleted stacks: {','.join(left)}")
        raise EksctlError("failed to delete all resources")
    console.done("all cluster resources were deleted")


def _cluster_to_delete(session: Session, name: str, options: DeletionOptions) -> dict[str, Any] | None:
    cluster = session.find_cluster(name)
    if cluster is None:
        if not session.stacks.names(f"eksctl-{name}-"):
            raise EksctlError(f'no eksctl-managed CloudFormation stacks found for "{name}"')
        text = f"ResourceNotFoundException: No cluster found for name: {name}."
        if not options.force:
            session.console.warn(text)
    return cluster


def _prepare(session: Session, cluster: dict[str, Any], options: DeletionOptions) -> None:
    """What needs the API: draining, and the load balancers of Services. `force` goes on without it."""
    kubernetes, console = Kubernetes(session.aws, cluster), session.console
    try:
        if not options.ignore_budgets:
            for name in session.nodegroup_names(cluster["name"]):
                _drain(session, kubernetes, name, options)
        _remove_balancers(session, kubernetes)
    except EksctlError as problem:
        if not options.force:
            raise
        console.warn(f"error occurred during deletion: {problem}")
    remove_oidc_provider(session.aws, console, cluster)


def _remove_balancers(session: Session, kubernetes: Kubernetes) -> None:
    """Delete Services of type LoadBalancer and wait ten minutes for their load balancers to go."""
    console = session.console
    console.info("cleaning up AWS load balancers created by Kubernetes objects of Kind Service or Ingress")

    def balanced() -> list[tuple[str, str]]:
        items = json.loads(kubernetes.run("get", "services", "-A", "-o", "json"))["items"]
        return [
            (item["metadata"]["namespace"], item["metadata"]["name"])
            for item in items
            if item["spec"].get("type") == "LoadBalancer"
        ]

    for namespace, name in balanced():
        kubernetes.run("delete", "service", name, "-n", namespace, "--wait=false")
    if not console.wait_until(lambda: not balanced(), _BALANCERS_S):
        names = ", ".join(f"{namespace}/{name}" for namespace, name in balanced())
        raise EksctlError(f"deadline surpassed waiting for AWS load balancers to be deleted: {names}")


def _delete_nodegroup_stacks(session: Session, cluster: str) -> None:
    stacks = session.stacks
    found = stacks.names(nodegroup_stack(cluster, ""))
    begun = {name: stacks.delete(name) for name in found}
    stuck = []
    for name, stack_id in begun.items():
        try:
            stacks.await_deletion(name, stack_id)
        except EksctlError as problem:
            session.console.failed(f'{problem} (stack "{name}")')
            stuck.append(name)
    if stuck:
        raise EksctlError(f"failed to delete nodegroup(s): {','.join(stuck)}")
    for name in _unmanaged_nodegroups(session, cluster):
        session.aws.eks("DELETE", f"/clusters/{segment(cluster)}/node-groups/{segment(name)}")
        session.console.wait_until(partial(_is_gone, session, cluster, name), session.timeout_s)


def _is_gone(session: Session, cluster: str, name: str) -> bool:
    return session.nodegroup(cluster, name) is None


def _unmanaged_nodegroups(session: Session, cluster: str) -> list[str]:
    return session.nodegroup_names(cluster) if session.find_cluster(cluster) is not None else []


def _delete_addons(session: Session, cluster: str) -> None:
    path = f"/clusters/{segment(cluster)}/addons"
    try:
        for name in session.aws.eks("GET", path).get("addons") or []:
            session.aws.eks("DELETE", f"{path}/{segment(name)}")
    except AwsError as problem:
        if problem.code != "ResourceNotFoundException":
            raise


def _delete_cluster_stack(session: Session, name: str, options: DeletionOptions) -> None:
    stack = cluster_stack(name)
    if session.stacks.status(stack) == "":
        return
    stack_id = session.stacks.delete(stack)
    if options.wait:
        session.stacks.await_deletion(stack, stack_id)
