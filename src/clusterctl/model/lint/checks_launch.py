"""Mistakes in how a manifest starts and joins the processes of one job."""

from __future__ import annotations

from collections.abc import Iterator

from clusterctl.model.lint.finding import Hit
from clusterctl.model.lint.launches import MASTER_OPTIONS, OWN_ADDRESS, Launch, is_fixed, mpiruns, number, torchruns
from clusterctl.model.lint.pods import GPU, Manifest, Pods, whole

OWN_FIELDS = ("status.podIP", "status.podIPs", "status.hostIP", "metadata.name", "spec.nodeName")
INDEX = ("JOB_COMPLETION_INDEX", "job-completion-index")


def own_master(manifest: Manifest) -> Iterator[Hit]:
    """Pods of one job that take their own address for the master's."""
    for pods in manifest.pods:
        if pods.many and pods.role not in ("head", "Launcher", "Master"):
            yield from _own_master_env(pods)
            yield from _own_master_commands(pods)


def _own_master_env(pods: Pods) -> Iterator[Hit]:
    for container in pods.containers:
        own = {one.get("name") for one in container.env if one.at("valueFrom", "fieldRef", "fieldPath") in OWN_FIELDS}
        for one in container.env:
            value = str(one.get("value", ""))
            by_name = any(f"$({name})" in value for name in own)
            if one.get("name") == "MASTER_ADDR" and ("MASTER_ADDR" in own or by_name or OWN_ADDRESS.search(value)):
                yield one.line, f"each of the {pods.count} pods takes its own address for MASTER_ADDR"


def _own_master_commands(pods: Pods) -> Iterator[Hit]:
    for _, command in pods.commands:
        for name, value in command.assigned:
            if name == "MASTER_ADDR" and OWN_ADDRESS.search(value):
                yield command.line, f"each of the {pods.count} pods takes its own address for MASTER_ADDR: {value}"
    for launch in _launches(pods):
        for option in MASTER_OPTIONS:
            if OWN_ADDRESS.search(launch.options.get(option, "")):
                yield launch.line_of(option), f"each of the {pods.count} pods rendezvous at itself: {option}"


def index_missing(manifest: Manifest) -> Iterator[Hit]:
    """A Job of ranks whose pods have no index."""
    if manifest.kind != "Job" or manifest.group != "batch":
        return
    spec, pods = manifest.spec, manifest.pods[0]
    if pods.many and spec.get("completionMode") != "Indexed" and is_ranked(pods):
        yield spec.line_of("parallelism"), f"{pods.count} pods that need a rank, without completionMode: Indexed"


def completions_differ(manifest: Manifest) -> Iterator[Hit]:
    """Ranks that never run at once: completions unlike parallelism."""
    if manifest.kind != "Job" or manifest.group != "batch":
        return
    spec, pods = manifest.spec, manifest.pods[0]
    completions = whole(spec.get("completions"))
    if pods.many and completions is not None and completions != pods.count and is_ranked(pods):
        yield spec.line_of("completions"), f"{completions} completions of {pods.count} pods at a time are no one world"


def is_ranked(pods: Pods) -> bool:
    """Whether the pods form one world: an index, a master or a launcher of several nodes says so."""
    texts = [word for _, command in pods.commands for word in command.words]
    names = {str(entry.get("name")) for one in pods.containers for entry in one.env}
    fields = [str(entry.at("valueFrom", "fieldRef", "fieldPath")) for one in pods.containers for entry in one.env]
    indexed = any(mark in text for mark in INDEX for text in (*texts, *names, *fields))
    return indexed or "MASTER_ADDR" in names or any("--nnodes" in launch.options for launch in _launches(pods))


def _launches(pods: Pods) -> Iterator[Launch]:
    return torchruns(command for _, command in pods.commands)


def master_name_unknown(manifest: Manifest) -> Iterator[Hit]:
    """`job-0.service` resolves only where the pods have that service for their subdomain."""
    if manifest.kind != "Job" or manifest.group != "batch":
        return
    pods = manifest.pods[0]
    first = f"{manifest.body.at('metadata', 'name')}-0."
    for container in pods.containers:
        for one in container.env:
            named = one.get("name") == "MASTER_ADDR" and str(one.get("value", "")).startswith(first)
            if named and not pods.spec.get("subdomain"):
                yield one.line, f"{one['value']} does not resolve: the pods have no subdomain"


def node_rank_fixed(manifest: Manifest) -> Iterator[Hit]:
    """The same literal node rank on every pod."""
    for pods in manifest.pods:
        for launch in _launches(pods) if pods.many else ():
            rank = launch.options.get("--node-rank", "")
            if rank.isdecimal():
                yield launch.line_of("--node-rank"), f"each of the {pods.count} pods says --node-rank={rank}"


def counts_differ(manifest: Manifest) -> Iterator[Hit]:
    """Nodes and processes of the launcher against pods and their GPUs."""
    for pods in manifest.pods:
        for container in pods.containers:
            gpus = container.asks(GPU)
            for launch in torchruns(container.commands):
                told, processes = number(launch.nodes), number(launch.processes)
                if pods.many and told and "--nnodes" in launch.options and told != _world(manifest, pods):
                    yield launch.line_of("--nnodes"), f"--nnodes={told}, and there are {_world(manifest, pods)} pods"
                if gpus and processes and "--nproc-per-node" in launch.options and processes != gpus:
                    yield launch.line_of("--nproc-per-node"), f"{processes} processes in a pod of {gpus} GPUs"
    yield from _slots_differ(manifest)
    yield from _ray_counts_differ(manifest)


def _world(manifest: Manifest, pods: Pods) -> int | None:
    """Pods that run torchrun; a master and its workers make one world."""
    joined = [one for one in manifest.pods if any(True for _ in _launches(one))]
    counts = [one.count for one in joined] or [pods.count]
    return None if None in counts else sum(one or 0 for one in counts)


def _slots_differ(manifest: Manifest) -> Iterator[Hit]:
    slots = whole(manifest.spec.get("slotsPerWorker"))
    for pods in manifest.pods if manifest.kind == "MPIJob" else ():
        gpus = max((one.asks(GPU) for one in pods.containers), default=0)
        if pods.role == "Worker" and slots and gpus and slots != gpus:
            yield manifest.spec.line_of("slotsPerWorker"), f"{slots} slots in a worker of {gpus} GPUs"


def _ray_counts_differ(manifest: Manifest) -> Iterator[Hit]:
    if not manifest.kind.startswith("Ray"):
        return
    for pods in manifest.pods:
        told = whole(pods.owner.at("rayStartParams", "num-gpus"))
        gpus = pods.containers[0].asks(GPU) if pods.containers else 0
        if told is not None and told != gpus:
            yield pods.owner.map("rayStartParams").line_of("num-gpus"), f"num-gpus {told} in a pod of {gpus} GPUs"


def processes_differ(manifest: Manifest) -> Iterator[Hit]:
    """mpirun told of other processes than workers have slots."""
    if manifest.kind != "MPIJob":
        return
    workers = next((one.count for one in manifest.pods if one.role == "Worker"), None)
    slots = whole(manifest.spec.get("slotsPerWorker", 1))
    extra = 1 if manifest.spec.get("runLauncherAsWorker") is True else 0
    for run in mpiruns(manifest.commands):
        if workers is not None and slots and run.processes is not None:
            right = (workers + extra) * slots
            if run.processes != right:
                yield run.line, f"-np {run.processes}, and {workers + extra} workers have {slots} slots each: {right}"


def gang_too_small(manifest: Manifest) -> Iterator[Hit]:
    """minAvailable counts pods: fewer than all start a part of a fixed world."""
    if manifest.kind == "MPIJob":
        yield from _mpi_gang(manifest)
    if manifest.kind != "Job" or manifest.group != "batch.volcano.sh":
        return
    counts = [one.count for one in manifest.pods]
    least = whole(manifest.spec.get("minAvailable"))
    if not least or None in counts:
        return
    total, line = sum(one or 0 for one in counts), manifest.spec.line_of("minAvailable")
    if least > total:
        yield line, f"minAvailable {least} of {total} pods: Volcano refuses it"
    elif least < total and not _may_be_smaller(manifest, least):
        yield line, f"minAvailable {least} of {total} pods: it counts pods, not nodes, and starts a part of the job"


def _may_be_smaller(manifest: Manifest, least: int) -> bool:
    """An elastic launcher runs with fewer pods; pods that are no world do not wait for each other."""
    ranked = [one for one in manifest.pods if is_ranked(one) or any(c.has_accelerator for c in one.containers)]
    elastic = [one for one in torchruns(manifest.commands) if not is_fixed(one)]
    return not ranked or any((number(one.nodes.partition(":")[0]) or 0) <= least for one in elastic)


def _mpi_gang(manifest: Manifest) -> Iterator[Hit]:
    policy = manifest.spec.map("runPolicy", "schedulingPolicy")
    least = whole(policy.get("minAvailable"))
    workers = next((one.count for one in manifest.pods if one.role == "Worker"), None)
    if not least or workers is None:
        return
    waits = manifest.spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
    if waits and least > workers:
        yield policy.line_of("minAvailable"), f"the launcher waits for {workers} workers, and these for {least} pods"
    elif least < workers:
        yield policy.line_of("minAvailable"), f"minAvailable {least} of {workers} workers starts a part of the job"


def parameter_server(manifest: Manifest) -> Iterator[Hit]:
    """A parameter server beside processes that reduce their gradients among themselves."""
    servers = [one for one in manifest.pods if one.role.lower() in ("ps", "parameterserver", "parameter-server")]
    others = [one for one in manifest.pods if one not in servers]
    if servers and (manifest.kind == "PyTorchJob" or any(_is_torch(one) for one in others)):
        owner = servers[0].owner
        yield owner.line, f"{servers[0].count} parameter servers beside torch's DDP, which has no use for them"


def _is_torch(pods: Pods) -> bool:
    if any(True for _ in _launches(pods)):
        return True
    return any("pytorch" in str(one.body.get("image", "")).lower() for one in pods.containers)
