"""The entry point: one app, one place that turns errors into exit codes."""

from __future__ import annotations

import itertools
import sys
from typing import Annotated, NoReturn

import typer

from clusterctl import __version__
from clusterctl.cli import (
    deploy_all,
    doctor,
    extend,
    lint,
    probe,
    reap,
    render,
    report,
    sandbox,
    stage,
    status,
    teardown,
    token,
    train,
    verify,
)
from clusterctl.cli.result import as_error, failed_document, note, write_error, write_json
from clusterctl.errors import ClusterctlError, InterruptedRunError, UsageError

PROGRAM = "clusterctl"

app = typer.Typer(
    name=PROGRAM,
    help="Verified GPU and EFA training clusters on Amazon EKS, one idempotent stage at a time.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    deploy_all,
    probe,
    stage,
    verify,
    train,
    status,
    report,
    extend,
    teardown,
    reap,
    render,
    lint,
    doctor,
    sandbox,
    token,
):
    module.register(app)


def _version(value: bool) -> None:  # noqa: FBT001 - typer's callback
    if value:
        typer.echo(f"clusterctl (EKS training clusters) {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: FBT002
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Verified GPU and EFA training clusters on Amazon EKS, one idempotent stage at a time."""


def run() -> NoReturn:
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        code = app(arguments, prog_name=PROGRAM, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except Exception as problem:  # noqa: BLE001 - the one place that may: everything ends in an exit code
        return _ended(problem, arguments)
    except KeyboardInterrupt as problem:
        return _ended(problem, arguments)


def _ended(problem: BaseException, arguments: list[str]) -> int:
    if type(problem).__name__ == "NoArgsIsHelpError":  # raised with the help as its message
        note(str(problem))
        return UsageError.exit_code
    error = _parser_error(problem) or as_error(problem)
    if _wants_json(arguments):
        write_json(failed_document(_command(arguments), error))
    verbose = any(word.startswith("-v") or word == "--verbose" for word in arguments)
    write_error(error, verbose=verbose or type(error) is ClusterctlError)
    return error.exit_code


def _parser_error(problem: BaseException) -> ClusterctlError | None:
    """What the option parser did not understand, or Ctrl-C while it ran, as our own error."""
    if isinstance(problem, typer.Abort):
        return InterruptedRunError("interrupted")
    describe = getattr(problem, "format_message", None)
    if describe is None:
        return None
    context = getattr(problem, "ctx", None)
    path = getattr(context, "command_path", PROGRAM)
    misplaced = path == PROGRAM and type(problem).__name__ == "NoSuchOption"
    hint = f"options follow the command: {PROGRAM} COMMAND --option" if misplaced else f"{path} --help"
    return UsageError(str(describe()).rstrip("."), hint=hint)


def _command(arguments: list[str]) -> str:
    """The command that was meant; words before it may be values of misplaced options."""
    known = {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups}
    return next((word for word in arguments if word in known), PROGRAM)


def _wants_json(arguments: list[str]) -> bool:
    pairs = itertools.pairwise(arguments)
    return any(pair in (("-o", "json"), ("--output", "json")) for pair in pairs) or bool(
        {"-ojson", "--output=json", "-o=json"} & set(arguments)
    )
