"""Mistakes in batch scripts of Slurm."""

from __future__ import annotations

from collections.abc import Iterator

from clusterctl.model.lint.finding import Hit
from clusterctl.model.lint.launches import MPIRUN, OWN_ADDRESS, Launch, mpiruns, number, srun_options, torchruns
from clusterctl.model.lint.shell import Command, Script, read_options


def launcher_per_process(script: Script) -> Iterator[Hit]:
    """Several tasks on a node, each of them a torchrun with a process for every GPU."""
    for launch in _under_srun(script):
        tasks = _tasks_per_node(script, launch.command)
        if tasks and tasks > 1 and launch.processes != "1":
            each = launch.processes or "several"
            yield (
                launch.line,
                f"{tasks} tasks on a node each start {each} processes: {_total(tasks, each)} on every node",
            )


def _total(tasks: int, each: str) -> str:
    return f"{tasks * int(each)} processes" if each.isdecimal() else f"{tasks} times too many processes"


def _under_srun(script: Script) -> Iterator[Launch]:
    return (one for one in torchruns(script.commands) if "srun" in one.hosts)


def _tasks_per_node(script: Script, command: Command) -> int | None:
    options = srun_options(script, command)
    own = read_options(command.words[1:]) if command.program == "srun" else {}
    tasks, nodes = number(options.get("--ntasks")), number(options.get("--nodes"))
    if "--ntasks" in own and tasks and nodes and "--ntasks-per-node" not in own:
        return -(-tasks // nodes)
    each = number(options.get("--ntasks-per-node"))
    return each if each else (-(-tasks // nodes) if tasks and nodes else None)


def launcher_on_one_node(script: Script) -> Iterator[Hit]:
    """torchrun outside of srun runs on the first node of the allocation alone."""
    nodes = number(script.sbatch.get("--nodes"))
    for launch in torchruns(script.commands):
        if nodes and nodes > 1 and not {"srun", "ssh", "pdsh", "clush", *MPIRUN} & set(launch.hosts):
            yield launch.line, f"torchrun outside of srun runs on one of the {nodes} nodes; the others idle"


def standalone_on_many_nodes(script: Script) -> Iterator[Hit]:
    """`--standalone` makes a world of its own on each node, without an error."""
    for launch in _under_srun(script):
        nodes = number(srun_options(script, launch.command).get("--nodes"))
        if nodes and nodes > 1 and "--standalone" in launch.options:
            yield launch.line, f"--standalone on {nodes} nodes trains {nodes} models side by side, not one"


def own_master(script: Script) -> Iterator[Hit]:
    """An address of the node itself, taken where every node takes its own."""
    for command in script.commands:
        if not any(one.program == "srun" for one in command.inside):
            continue
        for name, value in command.assigned:
            if name == "MASTER_ADDR" and OWN_ADDRESS.search(value):
                yield command.line, f"every node sets MASTER_ADDR to itself: {value}"
    for launch in _under_srun(script):
        nested = any(one.program == "srun" for one in launch.command.inside)
        for option in ("--master-addr", "--rdzv-endpoint"):
            value = launch.options.get(option, "")
            if nested and OWN_ADDRESS.search(value):
                yield launch.line_of(option), f"every node rendezvous at itself: {option} {value}"


def counts_differ(script: Script) -> Iterator[Hit]:
    """Nodes and processes of the launcher against those of the allocation."""
    for launch in torchruns(script.commands):
        options = srun_options(script, launch.command)
        nodes, gpus = number(options.get("--nodes")), gpus_per_node(options)
        told, processes = number(launch.nodes), number(launch.processes)
        if nodes and told and "--nnodes" in launch.options and told != nodes:
            yield launch.line_of("--nnodes"), f"--nnodes={told}, and the allocation has {nodes} nodes"
        if gpus and processes and "--nproc-per-node" in launch.options and processes != gpus:
            yield launch.line_of("--nproc-per-node"), f"{processes} processes on {gpus} GPUs of a node"


def gpus_per_node(options: dict[str, str]) -> int | None:
    """GPUs of a node: `--gpus-per-node=8`, `--gpus-per-node=h100:8` or `--gres=gpu:h100:8`."""
    given = options.get("--gpus-per-node", "") or options.get("--gres", "")
    if "--gres" in options and not given.startswith("gpu") and "--gpus-per-node" not in options:
        return None
    return number(given.rpartition(":")[2])


def processes_differ(script: Script) -> Iterator[Hit]:
    """mpirun told of other processes than the allocation has tasks."""
    nodes, each = number(script.sbatch.get("--nodes")), number(script.sbatch.get("--ntasks-per-node"))
    tasks = number(script.sbatch.get("--ntasks")) or (nodes * each if nodes and each else None)
    for run in mpiruns(script.commands):
        if tasks and run.processes is not None and run.processes != tasks:
            yield run.line, f"-np {run.processes}, and the allocation has {tasks} tasks"


def exit_code_lost(script: Script) -> Iterator[Hit]:
    """The exit code of a batch script is that of its last command."""
    top = [one for one in script.commands if not one.inside and one.words]
    strict = any(one.program == "set" and any(_sets_e(word, one) for word in one.words) for one in top)
    starts = [at for at, one in enumerate(top) if one.program in ("srun", "mpirun", "torchrun")]
    if not script.is_batch or strict or not starts or starts[-1] == len(top) - 1:
        return
    after = top[starts[-1] + 1 :]
    if not any(one.program in ("exit", "return") or "$?" in " ".join(one.words) or _keeps(one) for one in after):
        yield after[-1].line, f"the script ends with {after[-1].program}, whose exit code hides that of the job"


def _keeps(command: Command) -> bool:
    """The code is remembered, or waited for."""
    waited = command.program == "wait" and len(command.words) > 1
    return waited or any("$?" in value for _, value in command.assigned)


def _sets_e(word: str, command: Command) -> bool:
    return (word.startswith("-") and not word.startswith("--") and "e" in word) or (
        word == "errexit" and "-o" in command.words
    )
