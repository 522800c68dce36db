"""Operators of a cluster: each lives while a pod of its Deployment is ready, and no longer.

To add one, name its image in `_programs` and give the controllers that its process runs.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.kinds import DEPLOYMENT, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.kinds import Key, Obj
    from clusterctl.sandbox.kube.machines.training.pods import Trainers

    Program = Callable[[Cluster, Obj], list[Controller]]

LOG = logging.getLogger(__name__)


class Operators(Controller):
    """Starts and ends the controllers of operators; a Deployment's image says which it is."""

    kind = DEPLOYMENT

    def __init__(self, cluster: Cluster, trainers: Trainers) -> None:
        super().__init__(cluster)
        self._programs = _programs(trainers)
        self._alive: dict[Key, tuple[asyncio.Task[None], list[Controller]]] = {}

    async def run(self) -> None:
        """Work until cancelled; the operators end with it."""
        try:
            await super().run()
        finally:
            for task, _ in self._alive.values():
                task.cancel()

    async def reconcile(self, key: Key) -> float | None:
        deployment = self.cluster.informer(DEPLOYMENT).get(*key)
        serves = deployment is not None and (deployment.get("status") or {}).get("readyReplicas", 0) > 0
        program = self._programs.get(image_name(deployment)) if deployment else None
        if serves and deployment and program and key not in self._alive:
            controllers = program(self.cluster, deployment)
            self._alive[key] = (asyncio.create_task(_live(controllers), name=f"operator {key}"), controllers)
        elif not serves and key in self._alive:
            await self._end(key)
        return None

    async def _end(self, key: Key) -> None:
        """Ended operators watch no longer: their kinds may be about to go."""
        task, controllers = self._alive.pop(key)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        in_use = {one.kind for _, others in self._alive.values() for one in others}
        for one in controllers:
            if "." in one.kind.group and not one.kind.group.endswith(".k8s.io") and one.kind not in in_use:
                await self.cluster.forget(one.kind)


async def _live(controllers: list[Controller]) -> None:
    async with asyncio.TaskGroup() as group:
        for one in controllers:
            group.create_task(one.run(), name=type(one).__name__)


def image_name(deployment: Obj) -> str:
    """The last two parts of the first container's image, without its tag: `volcanosh/vc-scheduler`."""
    image = str(deployment["spec"]["template"]["spec"]["containers"][0].get("image", ""))
    path = image.partition("@")[0].split("/")
    return "/".join([*path[-2:-1], path[-1].partition(":")[0]])


def _programs(trainers: Trainers) -> dict[str, Program]:
    from clusterctl.sandbox.kube.machines.operators import certificates, mariadb, mpi, ray, slinky, slurmjobs, volcano

    return {
        "jetstack/cert-manager-controller": lambda cluster, _: [certificates.Certificates(cluster)],
        "jetstack/cert-manager-webhook": lambda cluster, me: [certificates.WebhookSecret(cluster, key_of(me))],
        "jetstack/cert-manager-cainjector": lambda cluster, _: certificates.injectors(cluster),
        "volcanosh/vc-webhook-manager": lambda cluster, me: certificates.servers(cluster, key_of(me)[0]),
        "mariadb-operator/mariadb-operator": mariadb.program,
        "kuberay/operator": lambda cluster, _: [ray.RayClusters(cluster, trainers)],
        "volcanosh/vc-controller-manager": lambda cluster, _: [volcano.VcJobs(cluster)],
        "volcanosh/vc-scheduler": lambda cluster, _: [volcano.GangScheduler(cluster)],
        "mpioperator/mpi-operator": lambda cluster, _: mpi.controllers(cluster),
        "slinkyproject/slurm-operator": lambda cluster, _: [
            *slinky.controllers(cluster),
            slurmjobs.SlurmJobs(cluster, trainers),
        ],
    }
