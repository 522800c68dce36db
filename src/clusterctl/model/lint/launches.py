"""How a program is started on many processes: torchrun and mpirun, with their options read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clusterctl.model.lint.shell import Command, Script, read_options

TORCHRUN = {"torchrun", "torch.distributed.run", "torch.distributed.launch"}
MPIRUN = {"mpirun", "mpiexec", "orterun", "mpirun.real"}
TALK = {"echo", "printf", "pip", "which", "pkill", "export", "declare", "local", "readonly", "alias", "command", "type"}
MPI_SWITCHES = {
    "allow-run-as-root", "oversubscribe", "nooversubscribe", "tag-output", "timestamp-output", "display-map",
    "display-allocation", "display-devel-map", "report-bindings", "bind-to-core", "bind-to-none", "bycore", "bynode",
    "byslot", "nolocal", "novm", "do-not-launch", "quiet", "q", "verbose", "v", "pernode", "use-hwthread-cpus",
    "debug-daemons", "leave-session-attached", "enable-recovery", "continuous",
    "get-stack-traces", "report-child-jobs-separately",
}  # fmt: skip
SWITCHES = {"--standalone", "--module", "--no-python", "--run-path"}
OWN_ADDRESS = re.compile(
    r"\$\(\s*hostname\b[^)]*\)|`\s*hostname\b[^`]*`|\$\{?(?:HOSTNAME|POD_IP|MY_POD_IP|POD_NAME|HOST_IP|SLURMD_NODENAME)\b"
    r"|\$\((?:POD_IP|MY_POD_IP|POD_NAME|HOSTNAME|HOST_IP)\)"
)
MASTER_OPTIONS = ("--master-addr", "--rdzv-endpoint")


@dataclass(frozen=True, slots=True)
class Launch:
    """One torchrun: its options (with hyphens), the line of each, and the command that it stands in."""

    options: dict[str, str] = field(hash=False)
    lines: dict[str, int] = field(hash=False)
    command: Command
    line: int

    @property
    def processes(self) -> str:
        """Processes on one node; torchrun's own default is 1."""
        return self.options.get("--nproc-per-node", "1")

    @property
    def nodes(self) -> str:
        return self.options.get("--nnodes", "1")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The programs that start it, the outermost first: srun, bash …"""
        outer = [one.program for one in self.command.inside]
        return (*outer, *([self.command.program] if self.command.program in ("srun", *MPIRUN) else []))

    def line_of(self, option: str) -> int:
        return self.lines.get(option, self.line)


def torchruns(commands: Iterable[Command]) -> Iterator[Launch]:
    for command in commands:
        names = [word.rpartition("/")[2] for word in command.words]
        position = next((at for at, name in enumerate(names) if name in TORCHRUN), None)
        if position is not None and command.program not in TALK:
            yield _torchrun(command, position)


def _torchrun(command: Command, position: int) -> Launch:
    options: dict[str, str] = {}
    lines: dict[str, int] = {}
    waiting = ""
    for at in range(position + 1, len(command.words)):
        name, equals, value = command.words[at].partition("=")
        if name.startswith("-"):
            key = "-" * (2 if name.startswith("--") else 1) + name.lstrip("-").replace("_", "-")
            options[key], lines[key] = value, command.line_of(at)
            waiting = "" if equals or key in SWITCHES or key == "-m" else key
        elif waiting:
            options[waiting], waiting = command.words[at], ""
        else:
            break
    return Launch(options, lines, command, command.line_of(position))


@dataclass(frozen=True, slots=True)
class MpiRun:
    """One mpirun: how many processes it is told to start, None when it is not told."""

    processes: int | None
    line: int
    exported: tuple[tuple[str, str, int], ...]


def mpiruns(commands: Iterable[Command]) -> Iterator[MpiRun]:
    for command in commands:
        names = [word.rpartition("/")[2] for word in command.words]
        position = next((at for at, name in enumerate(names) if name in MPIRUN), None)
        if position is not None and command.program not in TALK:
            yield _mpirun(command, position)


def _mpirun(command: Command, position: int) -> MpiRun:
    """Open MPI's own options end where the program begins, whose options may have the same names."""
    count, line = None, command.line_of(position)
    exported = []
    at = position + 1
    while at < len(command.words) and command.words[at].startswith("-"):
        word = command.words[at]
        value = command.words[at + 1] if at + 1 < len(command.words) else ""
        if word in ("-np", "-n", "--np", "--n") and value.isdecimal():
            count, line = int(value), command.line_of(at + 1)
        if word == "-x" and "=" in value:
            name, _, given = value.partition("=")
            exported.append((name, given, command.line_of(at + 1)))
        at += 1 + _values_after(word, value)
    return MpiRun(count, line, tuple(exported))


def _values_after(word: str, value: str) -> int:
    """How many words an option of mpirun takes: two for --mca, none for a switch."""
    name = word.lstrip("-")
    if name in ("mca", "gmca", "prtemca", "pmixmca"):
        return 2
    return 0 if "=" in name or name in MPI_SWITCHES or value.startswith("-") else 1


def srun_options(script: Script, command: Command) -> dict[str, str]:
    """Slurm's options that hold for a command: those of the batch script, then those of the srun around it."""
    options = dict(script.sbatch)
    for one in (*command.inside, command):
        if one.program == "srun":
            options |= read_options(one.words[1:])
    return options


def number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() else None


def is_fixed(launch: Launch) -> bool:
    """Whether the number of nodes is fixed; `2:4` is elastic."""
    return ":" not in launch.nodes
