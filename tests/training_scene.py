"""A local cluster with working device plugins, and jobs that run on it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from clusterctl.adapters.kubejobs import KubeJobs
from clusterctl.engine.events import Event
from clusterctl.engine.raytraining import RayRunner
from clusterctl.engine.slurmtraining import SlurmRunner
from clusterctl.engine.training import TrainJob, TrainRunner
from clusterctl.model.instances import InstanceType
from clusterctl.model.jobsize import size_job
from clusterctl.model.jobstates import KINDS
from clusterctl.model.pins import IMAGES
from clusterctl.model.settings import Settings
from clusterctl.rendering.workloads import JobText, load_workload, render_job, scripts_of
from fakes import executor
from local_kube import Cluster

KIND = InstanceType("g6.12xlarge", 48, 196608, gpus=4, gpu_name="L4", gpu_memory_mib=22888, efa_interfaces=1)
PLUGINS = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: kube-system}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {role: gpu-worker}
      containers: [{name: plugin, image: "registry/IMAGE:v0.20.0"}]
"""


@dataclass
class Scene:
    """A cluster whose GPU nodes offer what they have, and a way to run a workload on it."""

    cluster: Cluster
    jobs: KubeJobs
    events: list[Event] = field(default_factory=list)

    @property
    def faults(self) -> list[dict[str, Any]]:
        return self.cluster.kube.faults

    @property
    def words(self) -> str:
        return "\n".join(getattr(event, "message", "") for event in self.events)

    def job(self, name: str, run_id: str = "run1", **changes: Any) -> TrainJob:
        access, workload = self.cluster.access, load_workload(name)
        nodes = self.cluster.kubectl.nodes(access, "eks.amazonaws.com/nodegroup=gpu")
        size = size_job(sorted(nodes, key=lambda node: node.name), (), KIND)
        env = (("NCCL_DEBUG", "INFO"), ("FI_PROVIDER", "efa"))
        values: dict[str, Any] = {
            "name": name, "run_id": run_id, "namespace": "training", "nodegroup": "gpu", "size": size, "env": env,
            "image": IMAGES[workload.image].reference, "scripts": scripts_of(workload), "settings": Settings(),
        }  # fmt: skip
        values |= changes
        text = render_job(JobText(**values))
        return TrainJob(workload, KINDS[workload.launcher], size, run_id, access, values["namespace"], text)

    def runner(self, clock: Any = None, name: str = "") -> TrainRunner:
        world = executor(kube=self.cluster.kubectl)
        make = {"ray-fsdp": RayRunner, "slurm-ddp": SlurmRunner}.get(name, TrainRunner)
        return make(self.jobs, world, clock or _Clock(self.cluster.kube.clock), self.events.append)


class _Clock:
    """The simulation's time."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def now(self) -> Any:
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        time.sleep(self._clock.real_seconds(seconds))
