"""Simulated machines and controllers of one cluster: pure clients of its Kubernetes API.

They need nothing but the API, so the same ones serve the built-in server and a real kube-apiserver. `run` starts them:
kubelets for the machines of the feed, the scheduler, the workload controllers, and the operators that are installed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import aiohttp

from clusterctl.sandbox.kube.machines.client import ApiError, KubeClient
from clusterctl.sandbox.kube.machines.cluster import Cluster

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.access import ClusterAccess, Feed
    from clusterctl.sandbox.kube.machines.controller import Controller
    from clusterctl.sandbox.kube.machines.endpoints import LoadBalancers

LOG = logging.getLogger(__name__)
_RETRY_S = 0.2  # real seconds


async def run(access: ClusterAccess, feed: Feed, balancers: LoadBalancers | None = None) -> None:
    """Play the machines and controllers of a cluster until cancelled."""
    async with KubeClient(access) as client:
        version = await _server_version(client)
        cluster = Cluster(client, feed.clock, access.region)
        try:
            async with asyncio.TaskGroup() as group:
                for controller in _controllers(cluster, access, feed, version, balancers):
                    group.create_task(controller.run(), name=type(controller).__name__)
        finally:
            await cluster.close()


async def _server_version(client: KubeClient) -> str:
    """The version that kubelets report: the server's. Waits until the server answers."""
    while True:
        try:
            answer = await client.call("GET", "/version")
        except (ApiError, aiohttp.ClientError, TimeoutError, OSError) as problem:
            LOG.debug("waiting for the API: %r", problem)
            await asyncio.sleep(_RETRY_S)
        else:
            return str(answer["gitVersion"])


def _controllers(
    cluster: Cluster, access: ClusterAccess, feed: Feed, version: str, balancers: LoadBalancers | None
) -> list[Controller]:
    from clusterctl.sandbox.kube.machines.claims import Claims
    from clusterctl.sandbox.kube.machines.daemonsets import DaemonSets
    from clusterctl.sandbox.kube.machines.deployments import Deployments
    from clusterctl.sandbox.kube.machines.endpoints import NamesOnly, Services
    from clusterctl.sandbox.kube.machines.faults import FaultBook
    from clusterctl.sandbox.kube.machines.jobs import Jobs
    from clusterctl.sandbox.kube.machines.kubelets import Kubelets
    from clusterctl.sandbox.kube.machines.operators import Operators
    from clusterctl.sandbox.kube.machines.podagent import PodAgent
    from clusterctl.sandbox.kube.machines.replicasets import ReplicaSets
    from clusterctl.sandbox.kube.machines.scheduler import Scheduler
    from clusterctl.sandbox.kube.machines.statefulsets import StatefulSets
    from clusterctl.sandbox.kube.machines.training.pods import Trainers

    faults = FaultBook(feed.take_fault, feed.clock, access.region)
    kubelets = Kubelets(cluster, feed, faults, version)
    trainers = Trainers(cluster, kubelets, faults)
    return [
        kubelets,
        PodAgent(cluster, kubelets, faults, trainers),
        Scheduler(cluster),
        ReplicaSets(cluster),
        Deployments(cluster),
        DaemonSets(cluster, faults),
        StatefulSets(cluster),
        Jobs(cluster),
        Claims(cluster),
        Services(cluster, balancers or NamesOnly(access.region)),
        Operators(cluster, trainers),
    ]
