# ruff: noqa: FBT002 - typer makes options of parameters
"""`clusterctl reap`: for cron. Removes what has expired, found by its marks alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import AllRegions, PlanOnly, Regions, Yes

if TYPE_CHECKING:
    from clusterctl.engine.events import EventSink
    from clusterctl.model.estate import Estate, Judgement, Sweep
    from clusterctl.wiring.reaping import Reaper

OlderThan = Annotated[
    str,
    typer.Option("--older-than", help="Also remove what has no expiry and is older than this: 6h, 2d.", metavar="6h"),
]


def register(app: typer.Typer) -> None:
    @command(app, "reap")
    def reap(
        invocation: Invocation,
        regions: Regions = "",
        all_regions: AllRegions = False,
        older_than: OlderThan = "",
        plan: PlanOnly = False,
        yes: Yes = False,
    ) -> int:
        """Tear down clusters that have expired and cancel stray reservations, found by tag, in every region asked.

        Needs no placement file. A second run, or one at the same time, changes nothing more.

        Example: clusterctl reap -a --plan; clusterctl reap -a -y
        """
        from clusterctl.model.settings import parse_duration
        from clusterctl.wiring.reaping import ReapAsk, open_reaper

        age = parse_duration(older_than) if older_than else None
        asked = ReapAsk(invocation.sandbox, invocation.scenario, {"REGIONS": regions}, all_regions, age)
        with open_reaper(asked) as reaper:
            return _reap(invocation, reaper, plan_only=plan, yes=yes or reaper.settings.assume_yes)


def _reap(invocation: Invocation, reaper: Reaper, *, plan_only: bool, yes: bool) -> int:
    from clusterctl.cli.flow import confirm, require_terminal
    from clusterctl.cli.result import note

    question = "Remove all of this?"
    if not (plan_only or yes):
        require_terminal(question)
    sweep = reaper.sweep()
    judged = [reaper.judge(one) for one in sweep.estates]
    over = [one for one in judged if one.acts]
    if plan_only:
        return _show_plan(invocation, reaper, sweep, judged)
    if over and not yes:
        note("\n".join(_plan_lines(reaper, over)))
        confirm(question)
    return _do(invocation, reaper, sweep, judged)


def _do(invocation: Invocation, reaper: Reaper, sweep: Sweep, judged: Sequence[Judgement]) -> int:
    from clusterctl.cli.result import error_document, schema, write_error, write_json, write_text
    from clusterctl.engine.reaping import reap_document, reap_error

    done = reaper.reap([one for one in judged if one.acts], _sink_for(reaper))
    error = reap_error(done, sweep)
    document = {
        "schema": schema("reap"),
        "ok": error is None,
        **reap_document(done, [one for one in judged if not one.acts], sweep),
        "regions": list(reaper.regions),
    }
    if error is not None:
        document["error"] = error_document(error)
    if invocation.json:
        write_json(document)
    else:
        write_text("\n".join(_lines(document)))
    if error is None:
        return 0
    write_error(error, verbose=bool(invocation.verbose))
    return error.exit_code


def _sink_for(reaper: Reaper) -> Callable[[Estate], EventSink]:
    """Progress lines that say which cluster they are about."""
    from clusterctl.cli.console import LineConsole
    from clusterctl.cli.result import note

    start = reaper.clock.now()
    return lambda estate: LineConsole(start, lambda line: note(f"{estate.name:<24} {line}"))


def _show_plan(invocation: Invocation, reaper: Reaper, sweep: Sweep, judged: Sequence[Judgement]) -> int:
    from clusterctl.cli.plan import plan_document
    from clusterctl.cli.result import schema, write_error, write_json, write_text
    from clusterctl.engine.reaping import reap_document, reap_error

    over = [one for one in judged if one.acts]
    error = reap_error((), sweep)
    if invocation.json:
        rest = reap_document((), [one for one in judged if not one.acts], sweep)
        plan = [
            {"cluster": one.estate.cluster, "region": one.estate.region, "why": one.why, "strays": one.strays,
             "stages": plan_document(reaper.preview(one))}
            for one in over
        ]  # fmt: skip
        write_json(
            {"schema": schema("reap"), "ok": error is None, "plan": plan, **rest, "regions": list(reaper.regions)}
        )
    else:
        write_text("\n".join(_plan_lines(reaper, over)))
    if error is None:
        return 0
    write_error(error, verbose=bool(invocation.verbose))
    return error.exit_code


def _plan_lines(reaper: Reaper, over: Sequence[Judgement]) -> list[str]:
    from clusterctl.cli.plan import plan_lines

    lines = []
    for one in over:
        why = one.why if one.goes else "stays; its stray reservations go"
        lines += [f"{one.estate.name}: {why}", *plan_lines([plan for plan in reaper.preview(one) if plan.plan])]
    return lines or [f"nothing to reap in {', '.join(reaper.regions)}"]


def _lines(document: dict[str, Any]) -> list[str]:
    lines = [f"- {line}" for line in document["deleted"]] or ["nothing to reap"]
    lines += [f"kept {one['id']}: {one['why']}" for one in document["kept"]]
    for one in document["leftovers"]:
        lines.append(f"LEFT {one['kind']} {one['id']} in {one['region']}: {one['command']}")
    lines += [f"FAILED {one['region']}/{one['cluster']}: {one['error']['message']}" for one in document["failed"]]
    lines += [f"NOT SEARCHED {one['region']}: {one['why']}" for one in document["unsearched"]]
    return lines
