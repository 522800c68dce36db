# ruff: noqa: FBT002 - typer makes options of parameters
"""What every command has in common: the shared options, one result on stdout, errors on stderr, the exit code."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from clusterctl.errors import UsageError

Command = Callable[..., int | None]
COMMON = "Everywhere"


@dataclass(frozen=True, slots=True)
class Invocation:
    """The shared options of one call."""

    command: str
    sandbox: bool
    scenario: Path | None
    placement: Path
    json: bool
    verbose: int
    color: bool


def _common(
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox",
            envvar="CLUSTERCTL_SANDBOX",
            help="Work on the local world instead of AWS.",
            rich_help_panel=COMMON,
        ),
    ] = False,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="The scenario of the sandbox.", rich_help_panel=COMMON, metavar="F.yaml"),
    ] = None,
    placement: Annotated[
        Path, typer.Option("--placement", help="The placement file.", rich_help_panel=COMMON, metavar="FILE")
    ] = Path(".placement.env"),
    output: Annotated[
        str, typer.Option("--output", "-o", help="text or json.", rich_help_panel=COMMON, metavar="text|json")
    ] = "text",
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, help="Details of errors; twice: of everything.", rich_help_panel=COMMON
        ),
    ] = 0,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours.", rich_help_panel=COMMON)] = False,
) -> Invocation:
    if output not in ("text", "json"):
        raise typer.BadParameter(f"{output!r} is neither text nor json", param_hint="--output")
    color = not no_color and not os.environ.get("NO_COLOR")
    return Invocation("", sandbox, scenario, placement, output == "json", verbose, color)


class Deferred(TyperCommand):
    """Builds its options when it is called: `--help` lists every command and needs the options of none.

    Its callback makes the command that stands behind it.
    """

    @functools.cached_property
    def built(self) -> Any:
        return self.callback() if self.callback else None

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        _refuse_empty(args)
        return self.built.make_context(info_name, args, parent, **extra)

    def get_params(self, ctx: Any) -> Any:
        return self.built.get_params(ctx)


def command(app: typer.Typer, name: str) -> Callable[[Command], Command]:
    """Register a command: it gets an Invocation first, its own options after it."""

    def register(function: Command) -> Command:
        def build() -> Any:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(_with_shared_options(function, name))
            return typer.main.get_command(alone)

        build.__doc__ = function.__doc__
        app.command(name, cls=Deferred)(build)
        return function

    return register


def _with_shared_options(function: Command, name: str) -> Command:
    shared = inspect.signature(_common, eval_str=True).parameters
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

    @functools.wraps(function)
    def call(**given: Any) -> None:
        invocation = _common(**{key: given.pop(key) for key in shared})
        code = function(_named(invocation, name), **given)
        raise typer.Exit(code or 0)

    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*own, *shared.values())]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _refuse_empty(arguments: list[str]) -> None:
    """Raise UsageError for an empty value: the unset variable of a script must not mean the default."""
    for before, word in itertools.pairwise(["", *arguments]):
        if word == "" or (word.startswith("--") and word.endswith("=")):
            name = word.rstrip("=") or (before if before.startswith("-") else "an argument")
            raise UsageError(f"{name} is empty", hint="leave it out to get the default")


def _named(invocation: Invocation, name: str) -> Invocation:
    return replace(invocation, command=name)
