"""Every rule, by id. Ids are stable: a rule may be dropped, and its id is then never used again."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from clusterctl.model.lint import checks_api, checks_code, checks_devices, checks_fabric, checks_launch, checks_slurm
from clusterctl.model.lint.checks_fabric import Setting, code_settings, manifest_settings, script_settings
from clusterctl.model.lint.finding import Hit, Rule, Severity
from clusterctl.model.lint.pods import Manifest
from clusterctl.model.lint.shell import Script

ERROR, WARNING = Severity.ERROR, Severity.WARNING


def _of_settings(rule_id: str, severity: Severity, check: Callable[[Iterable[Setting]], Iterator[Hit]]) -> Rule:
    """A rule about an environment variable, wherever it is set."""

    def manifest(one: Manifest) -> Iterator[Hit]:
        return check(manifest_settings(one.body))

    def script(one: Script) -> Iterator[Hit]:
        return check(script_settings(one))

    def code(one: ast.Module) -> Iterator[Hit]:
        return check(code_settings(one))

    reason, fix = _SETTING_TEXTS[rule_id]
    return Rule(rule_id, severity, reason, fix, manifest=manifest, script=script, code=code)


_SETTING_TEXTS = {
    "nccl-forced-choice": (
        "NCCL's tuner and the EFA plugin choose for each size and topology; a fixed choice is slower for most of them",
        "remove NCCL_ALGO and NCCL_PROTO",
    ),
    "nccl-ib-disable": (
        "the EFA plugin replaces NCCL's own InfiniBand transport: the switch does nothing, and hides a missing plugin",
        "remove NCCL_IB_DISABLE, and read the transport from NCCL's log",
    ),
    "efa-device-rdma": (
        "the provider finds out by itself whether the type has GPUDirect RDMA; forcing it breaks types that have none",
        "remove FI_EFA_USE_DEVICE_RDMA",
    ),
}

RULES: tuple[Rule, ...] = (
    Rule(
        "slurm-launcher-per-process", ERROR,
        "every task is a torchrun that starts a process for each GPU: eight times eight processes share eight GPUs, "
        "and some launch styles end without an error",
        "one task on a node: --ntasks-per-node=1 with torchrun --nproc-per-node=<GPUs>",
        script=checks_slurm.launcher_per_process,
    ),
    Rule(
        "slurm-launcher-outside-srun", ERROR,
        "a batch script runs on the first node; only srun starts something on all of them",
        "start it with srun --ntasks=$SLURM_NNODES --ntasks-per-node=1",
        script=checks_slurm.launcher_on_one_node,
    ),
    Rule(
        "slurm-standalone", ERROR,
        "--standalone gives each node a rendezvous of its own: each trains alone, and all write the same checkpoint",
        "--rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=<first host>:29500",
        script=checks_slurm.standalone_on_many_nodes,
    ),
    Rule(
        "slurm-exit-code-lost", WARNING,
        "Slurm judges a job by the exit code of its script: one that ends with another command is COMPLETED although "
        "the training failed",
        "set -euo pipefail, or end with exit $? of srun",
        script=checks_slurm.exit_code_lost,
    ),
    Rule(
        "master-addr-own", ERROR,
        "each process group waits for a master that is somewhere else, until its time is up",
        "one shared address: the first host of the allocation, or the first pod behind a headless service",
        manifest=checks_launch.own_master, script=checks_slurm.own_master,
    ),
    Rule(
        "master-addr-unresolvable", ERROR,
        "pods of a Job have a name in DNS only with a subdomain that is a headless service",
        "set subdomain in the pod template to the name of a headless service",
        manifest=checks_launch.master_name_unknown,
    ),
    Rule(
        "job-without-index", ERROR,
        "without completionMode: Indexed the pods have neither an index nor a stable name: no rank, no master",
        "completionMode: Indexed, with completions equal to parallelism",
        manifest=checks_launch.index_missing,
    ),
    Rule(
        "job-completions", ERROR,
        "all ranks have to run at once: with more completions than pods some never start, with fewer some idle",
        "completions equal to parallelism",
        manifest=checks_launch.completions_differ,
    ),
    Rule(
        "node-rank-fixed", ERROR,
        "every pod takes the same place in the world, and the others stay empty",
        "take it from the index: $JOB_COMPLETION_INDEX, $VC_TASK_INDEX or $SLURM_PROCID",
        manifest=checks_launch.node_rank_fixed,
    ),
    Rule(
        "launcher-counts", ERROR,
        "the launcher waits for nodes that never come, starts processes without a GPU, or leaves GPUs idle",
        "nodes and processes of the launcher from the same numbers as pods and GPUs",
        manifest=checks_launch.counts_differ, script=checks_slurm.counts_differ,
    ),
    Rule(
        "mpi-processes", ERROR,
        "slots do not start processes, -np does: fewer train on a part of the GPUs without an error, more do not start",
        "-np = workers x slotsPerWorker",
        manifest=checks_launch.processes_differ, script=checks_slurm.processes_differ,
    ),
    Rule(
        "gang-min-available", ERROR,
        "minAvailable counts pods, not nodes: a part of the gang starts, holds its GPUs and waits for the rest",
        "minAvailable equal to the number of all pods of the job",
        manifest=checks_launch.gang_too_small,
    ),
    Rule(
        "ddp-parameter-server", ERROR,
        "torch's DDP and FSDP reduce gradients among the workers; a parameter server only holds a node",
        "remove the parameter servers",
        manifest=checks_launch.parameter_server,
    ),
    Rule(
        "efa-not-requested", ERROR,
        "without an interface in the pod NCCL falls back to TCP: the job runs, and costs twice",
        "request vpc.amazonaws.com/efa: as many as the type has",
        manifest=checks_fabric.efa_not_requested,
    ),
    Rule(
        "efa-bypassed", ERROR,
        "the pods hold EFA interfaces and do not use them",
        "FI_PROVIDER=efa, and no NCCL_NET",
        manifest=checks_fabric.efa_bypassed,
    ),
    _of_settings("nccl-forced-choice", WARNING, checks_fabric.forced_choice),
    _of_settings("nccl-ib-disable", WARNING, checks_fabric.ib_disabled),
    _of_settings("efa-device-rdma", WARNING, checks_fabric.device_rdma),
    Rule(
        "device-counts", ERROR,
        "more devices than a node has are never scheduled; fewer EFA interfaces than it has halve the bandwidth",
        "the numbers that EC2 gives for the instance type",
        manifest=checks_devices.counts_unlike_type,
    ),
    Rule(
        "many-zones", ERROR,
        "EFA does not cross zones: the job falls back to TCP, and the traffic between zones is billed",
        "one zone, the one in which the capacity is",
        manifest=checks_devices.many_zones,
    ),
    Rule(
        "requests-unlike-limits", WARNING,
        "a pod below the Guaranteed class is throttled or evicted first, and one slow rank holds back all",
        "requests equal to limits in every pod with accelerators",
        manifest=checks_devices.requests_unlike_limits,
    ),
    Rule(
        "mpijob-version", ERROR,
        "the MPI Operator serves kubeflow.org/v2beta1 alone; v1 belongs to another operator, which is retired",
        "apiVersion: kubeflow.org/v2beta1",
        manifest=checks_api.mpijob_version,
    ),
    Rule(
        "slinky-kind", ERROR,
        "Slinky 1.2 has Controller, NodeSet, Accounting, LoginSet, RestApi and Token, all of them v1beta1",
        "render the charts of Slinky, and write NodeSet instead of SlurmNodeSet",
        manifest=checks_api.slinky_kind,
    ),
    Rule(
        "login-public", WARNING,
        "SSH into the cluster is open to the internet",
        "service.spec.type: ClusterIP, or a load balancer with the scheme internal",
        manifest=checks_api.public_login, values=checks_api.public_login_values,
    ),
    Rule(
        "fsx-scratch-throughput", ERROR,
        "perUnitStorageThroughput belongs to persistent file systems; FSx refuses it for scratch ones",
        "remove it, or take deploymentType PERSISTENT_2",
        manifest=lambda one: checks_api.scratch_throughput(one.body), values=checks_api.scratch_throughput,
    ),
    Rule(
        "fsx-data-repository", ERROR,
        "the CSI driver has no such field and drops it: nothing is imported from S3",
        "create the data repository association with FSx's API, for a file system that exists",
        manifest=lambda one: checks_api.volume_with_repository(one.body),
    ),
    Rule(
        "cosine-past-end", WARNING,
        "past the end of its period a cosine rises again, and with it the learning rate",
        "bound the progress: min(1.0, …), or a schedule as long as the training",
        code=checks_code.cosine_past_end,
    ),
)  # fmt: skip
