"""Jobs of a simulated Slurm: what `sbatch` was given in slurmctld's pod, run over the slurmd pods of its namespace."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterctl.sandbox.kube.machines.controller import Controller
from clusterctl.sandbox.kube.machines.devices import image_parts
from clusterctl.sandbox.kube.machines.kinds import POD, Key, Obj, is_ready, labels_of
from clusterctl.sandbox.kube.machines.training import programs
from clusterctl.sandbox.kube.machines.training.fabric import WITH_PLUGIN

if TYPE_CHECKING:
    from clusterctl.sandbox.kube.machines.cluster import Cluster
    from clusterctl.sandbox.kube.machines.training.pods import Trainers

_NAME = "app.kubernetes.io/name"
_LOOK_S = 0.3  # real seconds between two looks at what was submitted
_OPTION = re.compile(r"^#SBATCH --(?P<name>[\w-]+)=(?P<value>\S+)", re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<name>\w+)=\"(?P<value>[^\"]*)\"", re.MULTILINE)
_IMAGE = re.compile(r"--container-image=(?P<image>\S+)")


@dataclass(frozen=True, slots=True)
class _Job:
    """One batch job: its options, its lines, and how far it is. Without a start it waits for nodes."""

    number: int
    name: str
    comment: str
    nodes: int
    text: str
    script: programs.Script | None = None
    began: float = 0.0
    printed: int = 0
    state: str = "PENDING"
    reason: str = "Resources"

    @property
    def active(self) -> bool:
        return self.state in ("PENDING", "RUNNING")

    @property
    def line(self) -> str:
        """As `scontrol --oneliner show jobs` prints it, as far as anybody looks."""
        code = self.script.exit_code if self.script and self.state == "FAILED" else 0
        return (
            f"JobId={self.number} JobName={self.name} UserId=root(0) JobState={self.state} Reason={self.reason} "
            f"ExitCode={code}:0 NumNodes={self.nodes} Comment={self.comment}"
        )


class SlurmJobs(Controller):
    """Looks at what was run in slurmctld's pods, and plays the jobs."""

    kind = POD

    def __init__(self, cluster: Cluster, trainers: Trainers) -> None:
        super().__init__(cluster)
        self._trainers = trainers
        self._jobs: dict[str, list[_Job]] = {}  # by the uid of slurmctld's pod
        self._read: dict[str, int] = {}

    async def reconcile(self, key: Key) -> float | None:
        controller = self.cluster.informer(POD).get(*key)
        if controller is None or labels_of(controller).get(_NAME) != "slurmctld" or not is_ready(controller):
            return None
        uid = controller["metadata"]["uid"]
        await self._take_in(controller, uid)
        workers = self._workers(key[0])
        self._jobs[uid] = [await self._advance(job, workers) for job in self._jobs.get(uid, [])]
        lines = "".join(f"{job.line}\n" for job in self._jobs[uid])
        client = self.cluster.client
        await client.set_answer(controller, r"^scontrol .*show jobs?\b", lines or "No jobs in the system\n")
        await client.set_answer(controller, r"^sbatch\b", f"{len(self._jobs[uid]) + 1}\n")
        await client.set_answer(controller, r"^scancel\b", "")
        return _LOOK_S * self.cluster.clock.speed

    def _workers(self, namespace: str) -> list[Obj]:
        found = [
            pod
            for pod in self.cluster.informer(POD)
            if pod["metadata"]["namespace"] == namespace and labels_of(pod).get(_NAME) == "slurmd" and is_ready(pod)
        ]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    async def _take_in(self, controller: Obj, uid: str) -> None:
        """New submissions and cancellations, in the order in which they came."""
        commands = await self.cluster.client.commands(controller)
        jobs = self._jobs.setdefault(uid, [])
        for command in commands[self._read.get(uid, 0) :]:
            if command.startswith("sbatch"):
                jobs.append(_submitted(len(jobs) + 1, command))
            elif command.startswith("scancel"):
                name = command.split()[-1]
                jobs[:] = [_cancelled(job) if job.active and job.name == name else job for job in jobs]
        self._read[uid] = len(commands)

    async def _advance(self, job: _Job, workers: list[Obj]) -> _Job:
        if job.state == "PENDING":
            return await self._start(job, workers)
        if job.state != "RUNNING" or job.script is None or not workers:
            return job
        age = self.cluster.clock.timestamp() - job.began
        due = [line for at, line in job.script.cues[job.printed :] if at <= age]
        first = workers[0]
        await self.cluster.client.append_log(first, first["spec"]["containers"][0]["name"], due)
        state = job.state if age < job.script.run_s else "FAILED" if job.script.exit_code else "COMPLETED"
        return replace(job, printed=job.printed + len(due), state=state)

    async def _start(self, job: _Job, workers: list[Obj]) -> _Job:
        if len(workers) < job.nodes:
            return replace(job, reason="PartitionNodeLimit" if workers else "ReqNodeNotAvail")
        script = await self._script(job, workers[: job.nodes])
        return replace(job, state="RUNNING", reason="None", script=script, began=self.cluster.clock.timestamp())

    async def _script(self, job: _Job, workers: list[Obj]) -> programs.Script:
        """What the batch script prints: the marker first, then that of its program, in the image that srun names."""
        env = {found["name"]: found["value"] for found in _EXPORT.finditer(job.text)}
        head = ((0.0, f"clusterctl-run: {env.get('CLUSTERCTL_RUN_ID', '')}"),)
        work, image = programs.work_of(job.text), _IMAGE.search(job.text)
        if image and not all("slurmd-pyxis" in _image(pod) for pod in workers):
            refusal = "srun: unrecognized option '--container-image=" + image["image"] + "'"
            return programs.Script((*head, (1.0, refusal)), 2.0, exit_code=1)
        if work is None:
            return programs.Script(head, 2.0)
        places, crash = await self._trainers.places(workers, work, env)
        name = image_parts(image["image"].replace("#", "/"))[0] if image else ""
        places = [replace(place, index=number, has_plugin=name in WITH_PLUGIN) for number, place in enumerate(places)]
        played = programs.play(work, places, first=True, crash=crash)
        return replace(played, cues=(*head, *played.cues))


def _cancelled(job: _Job) -> _Job:
    return replace(job, state="CANCELLED", reason="None")


def _submitted(number: int, command: str) -> _Job:
    options = {found["name"]: found["value"] for found in _OPTION.finditer(command)}
    name, comment = options.get("job-name", "sbatch"), options.get("comment", "")
    return _Job(number, name, comment, int(options.get("nodes", "1")), command)


def _image(pod: Obj) -> str:
    return str(pod["spec"]["containers"][0].get("image", ""))
