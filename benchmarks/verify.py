"""The verdict on 5,000 nodes against kubectl's own time for the same read: what we add must stay small."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from measuring import Table, measured, own_environment

from clusterctl.adapters.kubectl import Kubectl
from clusterctl.adapters.kubesession import CREDENTIAL, KubeSession, kubeconfig_without_secret
from clusterctl.adapters.process import KUBECTL, Tool, child_environment
from clusterctl.cli.tables import NODE_COLUMNS, node_rows, table
from clusterctl.model.documents import verification_document
from clusterctl.model.kube import KubeAccess
from clusterctl.model.verification import EFA, GPU, Expected, judge
from clusterctl.sandbox.clock import SimClock
from clusterctl.sandbox.kube.access import ClusterAccess, Machine
from clusterctl.sandbox.kube.apis import ClusterName, OpenBuiltin
from clusterctl.sandbox.kube.machines.client import KubeClient
from clusterctl.sandbox.kube.machines.kinds import NODE
from clusterctl.sandbox.kube.machines.nodeobject import conditions, new_node, with_extended

NODES = 5000
ROUNDS = 3
MOST_EXTRA_S = 3.0
SELECTOR = "eks.amazonaws.com/nodegroup=gpu"
EXPECTED = Expected(NODES, 8, 32, 0, "p5.48xlarge", "us-east-2b")
IMAGES = [  # a kubelet reports up to fifty, and they are most of a Node object
    {"names": [f"registry.example/team/image-{number}@sha256:{number:064x}"], "sizeBytes": 10**9 + number}
    for number in range(50)
]
MACHINE = Machine(
    instance_id="", region="us-east-2", zone="us-east-2b", zone_id="use2-az2", cluster="training", nodegroup="gpu",
    instance_type="p5.48xlarge", private_ip="", private_dns="", ami_type="AL2023_x86_64_NVIDIA",
    architecture="x86_64", capacity_type="ON_DEMAND", vcpus=192, memory_mib=2097152, launched_at=0.0,
)  # fmt: skip


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="clusterctl-bench-") as name, cluster_of(NODES) as given:
        folder, access = Path(name), KubeAccess(given.region, given.name, given.endpoint, given.certificate_authority)
        tool = Tool(KUBECTL, child_environment(os.environ))
        session = KubeSession(lambda _: credential(given), folder / "kube", time.sleep)
        alone, whole, mib = [], [], 0.0
        for _ in range(ROUNDS):
            seconds, mib = kubectl_alone(tool, access, given, folder)
            alone.append(seconds)
            whole.append(timed(lambda: verdict(Kubectl(tool, session), access)))
        session.close()
    table = Table(f"verify of {NODES} nodes, {mib:.0f} MiB of JSON, median of {ROUNDS}")
    table.say("kubectl get nodes -o json", f"{statistics.median(alone):.2f} s")
    table.say("read, judged and shown", f"{statistics.median(whole):.2f} s")
    table.at_most("beyond kubectl's own time", statistics.median(whole) - statistics.median(alone), MOST_EXTRA_S, "s")
    return table.end()


def verdict(kubectl: Kubectl, access: KubeAccess) -> None:
    """All that `clusterctl verify` does with the nodes, both kinds of output included."""
    verification = judge(EXPECTED, kubectl.nodes(access, SELECTOR))
    if not verification.ok:
        sys.exit(f"the nodes are not as they were made: {verification.failures}")
    document = verification_document(verification)
    json.dumps(document, indent=2)
    table("nodes", NODE_COLUMNS, node_rows(document), color=False)


def kubectl_alone(tool: Tool, access: KubeAccess, given: ClusterAccess, folder: Path) -> tuple[float, float]:
    """Seconds, and MiB that kubectl printed."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(kubeconfig_without_secret(access)))
    environ = {**own_environment(folder), "KUBECONFIG": str(kubeconfig), CREDENTIAL: credential(given)}
    command = [tool.checked_path, "get", "nodes", "--selector", SELECTOR, "--output", "json"]
    run = measured(command, environ, folder).succeeded()
    return run.seconds, len(run.stdout) / 2**20


def timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def credential(given: ClusterAccess) -> str:
    kind = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    return json.dumps({**kind, "status": {"token": given.token}})


@contextlib.contextmanager
def cluster_of(count: int) -> Iterator[ClusterAccess]:
    """The sandbox's Kubernetes API with that many ready nodes, in a thread of its own."""
    ready: dict[str, Any] = {}
    started = threading.Event()

    async def serve() -> None:
        api = await OpenBuiltin(SimClock.starting_now())(ClusterName("us-east-2", "training"), "1.34")
        await make_nodes(api.access, count)
        ready.update(access=api.access, stop=asyncio.Event(), loop=asyncio.get_running_loop())
        started.set()
        await ready["stop"].wait()
        await api.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    if not started.wait(120):
        sys.exit("the Kubernetes API did not start")
    try:
        yield ready["access"]
    finally:
        ready["loop"].call_soon_threadsafe(ready["stop"].set)
        thread.join(30)


async def make_nodes(access: ClusterAccess, count: int) -> None:
    async with KubeClient(access) as client:
        await asyncio.gather(*(client.create(NODE, node(number)) for number in range(count)))


def node(number: int) -> dict[str, Any]:
    """A p5.48xlarge as its kubelet shows it, once the device plugins run."""
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    dns = f"ip-{address.replace('.', '-')}.us-east-2.compute.internal"
    machine = replace(MACHINE, instance_id=f"i-{number:017x}", private_ip=address, private_dns=dns)
    made, when = new_node(machine, "v1.34.2", "2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z"
    status = made["status"]
    status["allocatable"] = with_extended(status["allocatable"], {GPU: 8, EFA: 32})
    status["conditions"] = conditions([], when, ready=True)
    status["images"] = IMAGES
    made["spec"]["taints"] = []
    return made


if __name__ == "__main__":
    sys.exit(main())
