"""The command line of the stand-in: the commands and flags of eksctl that clusterctl and its users meet."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from clusterctl.sandbox.eksctl import VERSION
from clusterctl.sandbox.eksctl.failure import EksctlError

_DURATION = re.compile(r"^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$")


class _Parser(argparse.ArgumentParser):
    """Refuses in the words of eksctl's own parser, with exit code 1."""

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"unrecognized arguments: (\S+)", message)
        raise EksctlError(f"unknown flag: {unknown.group(1).split('=')[0]}" if unknown else message)


def _truth(text: str) -> bool:
    if text.lower() in {"true", "1", "t"}:
        return True
    if text.lower() in {"false", "0", "f"}:
        return False
    raise argparse.ArgumentTypeError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def _seconds(text: str) -> float:
    match = _DURATION.match(text)
    if not match or not text:
        raise argparse.ArgumentTypeError(f'time: invalid duration "{text}"')
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(3600 * hours + 60 * minutes + seconds)


def _add_switch(parser: argparse.ArgumentParser, *names: str, on: bool = False) -> None:
    parser.add_argument(*names, type=_truth, nargs="?", const=True, default=on)


def _command(commands: Any, name: str, *aliases: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, aliases=aliases, allow_abbrev=False)
    parser.set_defaults(noun=name)
    parser.add_argument("--region", "-r", default="")
    parser.add_argument("--profile", "-p", default="")
    parser.add_argument("--color", "-C", default="true")
    parser.add_argument("--verbose", "-v", type=int, default=3)
    parser.add_argument("--timeout", type=_seconds, default=1500.0)
    return parser


def _parser() -> _Parser:
    parser = _Parser(prog="eksctl", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)
    version = verbs.add_parser("version", allow_abbrev=False)
    version.add_argument("--output", "-o", default="")
    version.add_argument("--color", "-C", default="true")
    version.add_argument("--verbose", "-v", type=int, default=3)
    _add_create(verbs.add_parser("create").add_subparsers(dest="noun", required=True))
    _add_delete(verbs.add_parser("delete").add_subparsers(dest="noun", required=True))
    _add_get(verbs.add_parser("get").add_subparsers(dest="noun", required=True))
    _add_utils(verbs.add_parser("utils").add_subparsers(dest="noun", required=True))
    return parser


def _add_create(commands: Any) -> None:
    cluster, nodegroup = _command(commands, "cluster"), _command(commands, "nodegroup", "ng")
    for parser in (cluster, nodegroup):
        parser.add_argument("--config-file", "-f", default="")
        parser.add_argument("--name", "-n", default="")
        parser.add_argument("--nodegroup-parallelism", type=int, default=8)
        parser.add_argument("--cfn-role-arn", default="")
        _add_switch(parser, "--cfn-disable-rollback")
        _add_switch(parser, "--install-nvidia-plugin", on=True)
        _add_switch(parser, "--install-neuron-plugin", on=True)
    cluster.add_argument("--kubeconfig", default="")
    for name, default in (
        ("--write-kubeconfig", True), ("--set-kubeconfig-context", True), ("--auto-kubeconfig", False),
        ("--without-nodegroup", False),
    ):  # fmt: skip
        _add_switch(cluster, name, on=default)
    nodegroup.add_argument("--cluster", default="")
    nodegroup.add_argument("--include", default="")
    nodegroup.add_argument("--exclude", default="")


def _add_delete(commands: Any) -> None:
    cluster, nodegroup = _command(commands, "cluster"), _command(commands, "nodegroup", "ng")
    for parser in (cluster, nodegroup):
        parser.add_argument("--config-file", "-f", default="")
        parser.add_argument("--name", "-n", default="")
        parser.add_argument("--parallel", type=int, default=1)
        parser.add_argument("--pod-eviction-wait-period", type=_seconds, default=10.0)
        _add_switch(parser, "--wait", "-w")
    _add_switch(cluster, "--force")
    _add_switch(cluster, "--disable-nodegroup-eviction")
    nodegroup.add_argument("--cluster", default="")
    nodegroup.add_argument("--max-grace-period", type=_seconds, default=600.0)
    for name, default in (("--drain", True), ("--disable-eviction", False), ("--approve", False)):
        _add_switch(nodegroup, name, on=default)


def _add_get(commands: Any) -> None:
    for name, alias in (("cluster", "clusters"), ("nodegroup", "nodegroups")):
        parser = _command(commands, name, alias)
        parser.add_argument("--name", "-n", default="")
        parser.add_argument("--cluster", default="")
        parser.add_argument("--output", "-o", default="table")


def _add_utils(commands: Any) -> None:
    schema = commands.add_parser("schema")
    schema.set_defaults(noun="schema")
    provider = _command(commands, "associate-iam-oidc-provider")
    provider.add_argument("--cluster", default="")
    provider.add_argument("--config-file", "-f", default="")
    _add_switch(provider, "--approve")
    described = _command(commands, "describe-stacks")
    described.add_argument("--cluster", "--name", "-n", default="")
    described.add_argument("--output", "-o", default="json")
    for switch in ("--all", "--events"):
        _add_switch(described, switch)


def run(arguments: list[str]) -> int:
    """Run one command; 0 or 1, as eksctl knows no other exit code."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    try:
        parsed = _parser().parse_args(arguments)
        if parsed.verb == "version":
            _write(f'{{"Version":"{VERSION}"}}' if parsed.output == "json" else VERSION)
        else:
            from clusterctl.sandbox.eksctl.commands import COMMANDS

            COMMANDS[parsed.verb, parsed.noun](parsed)
    except EksctlError as problem:
        sys.stderr.write(f"Error: {problem}\n")
        return 1
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        return 1
    return 0


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


def print_schema(_: argparse.Namespace) -> None:
    """`utils schema`: the real one where a copy is at hand."""
    from clusterctl.sandbox.eksctl.parsing import SCHEMA_FILE

    path = Path(os.environ.get("CLUSTERCTL_SCHEMAS", "")) / SCHEMA_FILE
    if not os.environ.get("CLUSTERCTL_SCHEMAS") or not path.is_file():
        raise EksctlError("the stand-in has no schema of its own; set CLUSTERCTL_SCHEMAS to a folder that has it")
    _write(path.read_text().rstrip())
