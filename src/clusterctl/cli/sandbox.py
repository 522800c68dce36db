# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""`clusterctl sandbox`: the local world, started, looked at, disturbed and ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clusterctl.cli.command import Invocation, command
from clusterctl.cli.result import schema, write_json, write_text

ScenarioFile = Annotated[Path | None, typer.Argument(help="A scenario file.", metavar="[F.yaml]")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="The local world: AWS, Kubernetes and eksctl on loopback.", no_args_is_help=True, rich_markup_mode=None
    )
    _lifecycle(group)
    _faults(group)
    app.add_typer(group, name="sandbox")


def _lifecycle(group: typer.Typer) -> None:
    @command(group, "start")
    def start(invocation: Invocation) -> None:
        """Start the sandbox, or find it running.

        Example: clusterctl sandbox start --scenario no-capacity.yaml
        """
        from clusterctl.wiring import sandbox

        _show(invocation, sandbox.start(invocation.scenario))

    @command(group, "stop")
    def stop(invocation: Invocation) -> None:
        """End the sandbox and forget its world.

        Example: clusterctl sandbox stop
        """
        from clusterctl.wiring import sandbox

        _show(invocation, {"running": False, "was_running": sandbox.stop()})

    @command(group, "status")
    def status(invocation: Invocation) -> None:
        """Where it runs, and what is in its world.

        Example: clusterctl sandbox status -o json
        """
        from clusterctl.wiring import sandbox

        _show(invocation, sandbox.status())

    @command(group, "reset")
    def reset(invocation: Invocation) -> None:
        """An empty world under the same scenario.

        Example: clusterctl sandbox reset
        """
        from clusterctl.wiring import sandbox

        _show(invocation, sandbox.reset())


def _faults(group: typer.Typer) -> None:
    @command(group, "fault")
    def fault(
        invocation: Invocation,
        file: ScenarioFile = None,
        on: Annotated[str, typer.Option("--on", help="What goes wrong: ec2:CreateCapacityReservation, ...")] = "",
        error: Annotated[str, typer.Option("--error", help="The error code it answers with.")] = "",
        outcome: Annotated[str, typer.Option("--outcome", help="rollback, timeout, never-scheduled, ...")] = "",
        zone: Annotated[str, typer.Option("--zone", help="Only in this availability zone.")] = "",
        times: Annotated[int | None, typer.Option("--times", help="How often; always when not said.")] = None,
        lose_response: Annotated[bool, typer.Option("--lose-response", help="Do the work, lose the answer.")] = False,
        crash_before: Annotated[str, typer.Option("--crash-before", help="With process:clusterctl: an effect.")] = "",
        crash_after: Annotated[str, typer.Option("--crash-after", help="With process:clusterctl: an effect.")] = "",
        clear: Annotated[bool, typer.Option("--clear", help="Remove all faults.")] = False,
    ) -> None:
        """Let something go wrong, by a scenario file or by options.

        Example: clusterctl sandbox fault --on ec2:CreateCapacityReservation --error RequestLimitExceeded --times 3
        """
        from clusterctl.wiring import sandbox

        if clear:
            sandbox.clear_faults()
        if file:
            sandbox.change_scenario(file)
        if on:
            one = {"on": on, "error": error, "outcome": outcome, "zone": zone, "times": times}
            one |= {"crash_before": crash_before, "crash_after": crash_after}
            sandbox.add_fault({**one, "lose_response": lose_response})
        if not (clear or file or on):
            raise typer.BadParameter("say --on WHAT, a scenario file, or --clear", param_hint="sandbox fault")
        _show(invocation, {"running": True})


def _show(invocation: Invocation, facts: dict[str, Any]) -> None:
    if invocation.json:
        write_json({"schema": schema("sandbox"), "ok": True, **facts})
        return
    world = facts.pop("world", {})
    lines = [f"{key.replace('_', ' ')}: {value}" for key, value in facts.items()]
    write_text("\n".join([*lines, *_world_lines(world)]))


def _world_lines(world: dict[str, Any]) -> list[str]:
    lines = []
    for region, kinds in sorted(world.get("regions", world).items()):
        if not isinstance(kinds, dict):
            continue
        counts = ", ".join(
            f"{len(things)} {kind.replace('_', ' ')}" for kind, things in sorted(kinds.items()) if things
        )
        if counts:
            lines.append(f"{region}: {counts}")
    return lines
