"""From a pod to what its training does: alone for an Indexed Job or a vcjob, for all workers for mpirun's launcher."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.kinds import POD, controller_of, is_deleting, labels_of
from clusterctl.sandbox.kube.machines.training import fabric, programs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.sandbox.kube.machines.behaviour import Behaviour
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.faults import FaultBook
    from clusterctl.sandbox.kube.machines.kinds import Obj
    from clusterctl.sandbox.kube.machines.kubelets import Kubelets
    from clusterctl.sandbox.kube.machines.training.fabric import Seat
    from clusterctl.sandbox.kube.machines.training.programs import Work

_INDEXES = (
    "batch.kubernetes.io/job-completion-index", "volcano.sh/task-index", "training.kubeflow.org/replica-index",
)  # fmt: skip
_ROLE, _JOB = "training.kubeflow.org/job-role", "training.kubeflow.org/job-name"


class Trainers:
    """Works out the training of pods; asks the scenario for faults of single ranks' pods: `kube:rank/INDEX`."""

    def __init__(self, cluster: Cluster, kubelets: Kubelets, faults: FaultBook) -> None:
        self._cluster = cluster
        self._kubelets = kubelets
        self._faults = faults

    async def behaviour(self, pod: Obj, usual: Behaviour) -> Behaviour:
        """The same behaviour, or that of the training which the pod's command asks for."""
        work = programs.work_of(_words(pod))
        if work is None or controller_of(pod) is None:
            return usual
        members = self._workers(pod) if "mpirun" in work.words else [pod]
        places, crash = await self.places(members, work, fabric.environment(pod["spec"]["containers"][0]))
        if not places:
            return usual
        first = _index(pod) in (0, None)
        script = programs.play(work, places, first=first, crash=crash)
        marker = f"clusterctl-run: {dict(places[0].env).get('CLUSTERCTL_RUN_ID', '')} host={places[0].host}"
        head = (marker,) if "/clusterctl/evidence.sh" in work.words else ()
        return replace(usual, run_s=script.run_s, exit_code=script.exit_code, log=head, cues=script.cues)

    async def places(
        self, members: list[Obj], work: Work, env: Mapping[str, str] | None = None
    ) -> tuple[list[Seat], int | None]:
        """The places of these pods, under `env` where a launcher hands on its own, and the rank that is to die."""
        nodes = len(members) if len(members) > 1 else _node_count(work, members)
        places, crash = [], None
        for position, member in enumerate(members):
            machine = self._kubelets.machine(member["spec"].get("nodeName", ""))
            if machine is None:
                continue
            number = _index(member)
            place = fabric.seat(member, machine, position if number is None else number, nodes)
            outcome = await self._fault(member, place)
            if outcome == "crash":
                crash = place.index * place.devices
            places.append(replace(place.with_env(env or {}), sockets=outcome == "sockets"))
        return places, crash

    async def _fault(self, pod: Obj, place: Seat) -> str | None:
        meta = pod["metadata"]
        rank = {"kind": "Rank", "metadata": {"name": str(place.index), "uid": f"{meta['uid']}/rank"}}
        self._faults.recheck(rank)  # the same pod may serve job after job
        return await self._faults.outcome(rank, (meta["name"], pod["spec"]["nodeName"]))

    def _workers(self, launcher: Obj) -> list[Obj]:
        """mpirun prints for its workers."""
        job, namespace = labels_of(launcher).get(_JOB), launcher["metadata"]["namespace"]
        found = [
            pod
            for pod in self._cluster.informer(POD)
            if pod["metadata"]["namespace"] == namespace
            and not is_deleting(pod)
            and (labels_of(pod).get(_JOB), labels_of(pod).get(_ROLE)) == (job, "worker")
        ]
        return sorted(found, key=lambda pod: _index(pod) or 0)


def _words(pod: Obj) -> str:
    first = pod["spec"]["containers"][0]
    return " ".join((*(first.get("command") or []), *(first.get("args") or [])))


def _index(pod: Obj) -> int | None:
    given = next((labels_of(pod)[label] for label in _INDEXES if labels_of(pod).get(label)), "")
    return int(given) if given.isdecimal() else None


def _node_count(work: Work, members: list[Obj]) -> int:
    found = re.search(r"--nnodes[= ](\d+)", work.words)
    return int(found[1]) if found else len(members)
