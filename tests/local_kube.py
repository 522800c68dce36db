"""One Kubernetes API with simulated machines in this process, for the real kubectl and the real helm."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

import clusterctl.sandbox
from clusterctl.adapters.charts import FolderCharts
from clusterctl.adapters.helm import Helm
from clusterctl.adapters.kubectl import Kubectl
from clusterctl.adapters.kubesession import KubeSession
from clusterctl.adapters.manifests import Manifests
from clusterctl.adapters.process import HELM, KUBECTL, Tool, child_environment
from clusterctl.adapters.releases import ComponentReleases
from clusterctl.errors import ToolMissingError
from clusterctl.model.kube import KubeAccess
from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.kube import machines
from clusterctl.sandbox.kube.access import Feed, Machine
from clusterctl.sandbox.kube.apis import ClusterName, OpenBuiltin

REGION = "us-east-2"
CLUSTER = "training"
SPEED = 600.0
CHARTS = Path(clusterctl.sandbox.__file__).parent / "charts"
T = TypeVar("T")


def gpu_machine(number: int, **changes: Any) -> Machine:
    """A g6.12xlarge of node group gpu, launched as our node group launches it."""
    labels = {
        "role": "gpu-worker",
        "nvidia.com/gpu.present": "true",
        "eks.amazonaws.com/nodegroup": "gpu",
    }
    values: dict[str, Any] = {
        "instance_id": f"i-{number:017x}", "region": REGION, "zone": "us-east-2b", "zone_id": "use2-az2",
        "cluster": CLUSTER, "nodegroup": "gpu", "instance_type": "g6.12xlarge",
        "private_ip": f"192.168.1.{number}", "private_dns": f"ip-192-168-1-{number}.us-east-2.compute.internal",
        "ami_type": "AL2023_x86_64_NVIDIA", "architecture": "x86_64", "capacity_type": "ON_DEMAND", "vcpus": 48,
        "memory_mib": 196608, "launched_at": 0.0, "efa_interfaces": 1, "gpus": 4, "gpu_name": "L4", "labels": labels,
    }  # fmt: skip
    return Machine(**{**values, **changes})


def system_machine(number: int) -> Machine:
    """An m7i.xlarge of node group system."""
    labels = {"role": "system", "eks.amazonaws.com/nodegroup": "system"}
    return gpu_machine(
        number, nodegroup="system", instance_type="m7i.xlarge", ami_type="AL2023_x86_64_STANDARD", vcpus=4,
        memory_mib=16384, efa_interfaces=0, gpus=0, gpu_name="", labels=labels,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalKube:
    """A running API: how to reach it, a credential for it, and its machines to change."""

    access: KubeAccess
    credential: str
    clock: SimClock
    publish: Callable[[Sequence[Machine]], None]
    faults: list[dict[str, Any]]  # those that are still to strike; a test may add some

    def credentials(self, access: KubeAccess) -> str:
        assert access == self.access
        return self.credential


@contextmanager
def running_kube(faults: Sequence[dict[str, Any]] = ()) -> Iterator[LocalKube]:
    """An API with controllers, in a thread of its own; gone afterwards."""
    left = list(faults)
    ready: dict[str, Any] = {}
    started = threading.Event()

    async def take(on: str, **selectors: str) -> dict[str, Any] | None:
        found = next((one for one in left if one["on"] == on), None)
        if found and found.get("times", 1) != "always":
            left.remove(found)
        return found

    async def serve() -> None:
        clock = SimClock.starting_now(SPEED)
        api = await OpenBuiltin(clock)(ClusterName(REGION, CLUSTER), "1.34")
        feed = Feed(clock, take)
        playing = asyncio.create_task(machines.run(api.access, feed))
        stop = asyncio.Event()
        ready.update(api=api, feed=feed, clock=clock, stop=stop, loop=asyncio.get_running_loop())
        started.set()
        await stop.wait()
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing
        await api.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(30)
    loop, given = ready["loop"], ready["api"].access
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": given.token},
    }
    try:
        yield LocalKube(
            KubeAccess(REGION, CLUSTER, given.endpoint, given.certificate_authority),
            json.dumps(credential),
            ready["clock"],
            lambda found: loop.call_soon_threadsafe(ready["feed"].publish, tuple(found)),
            left,
        )
    finally:
        loop.call_soon_threadsafe(ready["stop"].set)
        thread.join(30)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A local cluster and our two ways to it."""

    kube: LocalKube
    kubectl: Kubectl
    helm: Helm
    releases: ComponentReleases
    session: KubeSession
    kubectl_tool: Tool
    helm_tool: Tool

    @property
    def access(self) -> KubeAccess:
        return self.kube.access


@contextmanager
def running_cluster(
    folder: Path, machines_of: Sequence[Machine] = (), faults: Sequence[dict[str, Any]] = ()
) -> Iterator[Cluster]:
    """A cluster of two system nodes and, unless told otherwise, two GPU nodes. Skips where there is no helm."""
    environ = child_environment(os.environ)
    helm_tool, kubectl_tool = Tool(HELM, environ), Tool(KUBECTL, environ)
    try:
        _ = helm_tool.checked_path
    except ToolMissingError as problem:
        pytest.skip(f"{problem}: scripts/get_helm.py brings it")
    with running_kube(faults) as kube:
        session = KubeSession(kube.credentials, folder, time.sleep)
        kubectl = Kubectl(kubectl_tool, session)
        source = FolderCharts(CHARTS)
        helm = Helm(helm_tool, session, source, kubectl)
        releases = ComponentReleases(helm, Manifests(kubectl_tool, session, source, kubectl))
        gpu = machines_of or (gpu_machine(11), gpu_machine(12))
        kube.publish([system_machine(1), system_machine(2), *gpu])
        yield Cluster(kube, kubectl, helm, releases, session, kubectl_tool, helm_tool)
        session.close()


def eventually(look: Callable[[], T], holds: Callable[[T], bool], limit_s: float = 15) -> T:
    """What is seen once it holds; fails with what was seen last."""
    until = time.monotonic() + limit_s
    seen = look()
    while not holds(seen) and time.monotonic() < until:
        time.sleep(0.1)
        seen = look()
    assert holds(seen), seen
    return seen
