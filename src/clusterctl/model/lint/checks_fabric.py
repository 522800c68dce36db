"""Mistakes that keep a job from EFA, or tie NCCL's hands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from clusterctl.model.lint.finding import Hit
from clusterctl.model.lint.launches import mpiruns
from clusterctl.model.lint.pods import EFA, Manifest
from clusterctl.model.lint.shell import Command, Script, read_options
from clusterctl.model.lint.yaml_lines import Map, walk

Setting = tuple[str, str, int]  # name, value, line
FORCED = ("NCCL_ALGO", "NCCL_PROTO")
OFF = ("", "0", "false", "no")


def manifest_settings(document: Map) -> Iterator[Setting]:
    """Every environment variable that a document sets: env lists, maps of variables, `-x` of mpirun, exports."""
    for one in walk(document):
        name, value = one.get("name"), one.get("value")
        if isinstance(name, str) and "value" in one:
            yield name, str(value), one.line
        for key, given in one.items():
            if key.isupper() and not isinstance(given, (dict, list)):
                yield key, str(given), one.line_of(key)
    yield from command_settings(Manifest(document).commands)


def command_settings(commands: Iterable[Command]) -> Iterator[Setting]:
    for command in commands:
        for name, value in command.assigned:
            yield name, value, command.line
        if command.program == "srun":
            for part in read_options(command.words[1:]).get("--export", "").split(","):
                name, equals, value = part.partition("=")
                if equals:
                    yield name, value, command.line
        for run in mpiruns([command]):
            yield from run.exported


def script_settings(script: Script) -> list[Setting]:
    exports = script.sbatch.get("--export", "")
    given = [part.partition("=") for part in exports.split(",") if "=" in part]
    line = script.sbatch_lines.get("--export", 1)
    return [*((name, value, line) for name, _, value in given), *command_settings(script.commands)]


def code_settings(tree: ast.AST) -> Iterator[Setting]:
    """`os.environ["NAME"] = "value"`, `setdefault` on it, and the entries of a dictionary literal."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=owner, slice=ast.Constant(value=str(name)))]):
                if "environ" in ast.unparse(owner):
                    yield name, _literal(node.value), node.lineno
            case ast.Call(
                func=ast.Attribute(attr="setdefault" | "putenv"), args=[ast.Constant(value=str(name)), value]
            ):
                yield name, _literal(value), node.lineno
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, _literal(value), key.lineno


def _literal(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def forced_choice(settings: Iterable[Setting]) -> Iterator[Hit]:
    for name, value, line in settings:
        if name in FORCED and value:
            yield line, f"{name}={value} takes the choice from NCCL's tuner"


def ib_disabled(settings: Iterable[Setting]) -> Iterator[Hit]:
    for name, value, line in settings:
        if name == "NCCL_IB_DISABLE" and value.lower() not in OFF:
            yield line, f"NCCL_IB_DISABLE={value}"


def device_rdma(settings: Iterable[Setting]) -> Iterator[Hit]:
    for name, value, line in settings:
        if name == "FI_EFA_USE_DEVICE_RDMA":
            yield line, f"FI_EFA_USE_DEVICE_RDMA={value}"


def efa_not_requested(manifest: Manifest) -> Iterator[Hit]:
    """EFA is wanted, and a pod with accelerators has no interface to use it on."""
    wanted = next((one for one in manifest_settings(manifest.body) if _wants_efa(one)), None)
    for pods in manifest.pods if wanted else ():
        for container in pods.containers:
            if container.has_accelerator and not container.asks(EFA):
                yield container.line, f"{wanted[0]}={wanted[1]}, and the container requests no {EFA}"  # type: ignore[index]


def _wants_efa(setting: Setting) -> bool:
    name, value, _ = setting
    return (name == "FI_PROVIDER" and value == "efa") or (name == "NCCL_NET_PLUGIN" and value in ("ofi", "aws-ofi"))


def efa_bypassed(manifest: Manifest) -> Iterator[Hit]:
    """EFA is requested, and the environment sends the traffic over sockets."""
    if any(one.asks(EFA) for one in manifest.containers):
        for name, value, line in manifest_settings(manifest.body):
            sockets = name == "FI_PROVIDER" and value in ("tcp", "sockets", "udp")
            if sockets or (name == "NCCL_NET" and value.lower() == "socket"):
                yield line, f"{name}={value} sends the traffic of pods with EFA over sockets"
