"""What deploy-all and the single stages share: plan, one question, run, and say what came of it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.cli.result import as_error, error_document, note, schema, write_error, write_json, write_text
from clusterctl.errors import ClusterctlError, UsageError

if TYPE_CHECKING:
    from clusterctl.cli.command import Invocation
    from clusterctl.engine.pipeline import RunResult
    from clusterctl.wiring.bench import Bench
    from clusterctl.wiring.training import Outcome

MOST_PLACES = 12  # of a plan; a search of all regions finds fifty
QUESTION = "Go on?"


@dataclass(frozen=True, slots=True)
class Steps:
    """What the caller wants of a set of stages."""

    stages: tuple[str, ...]
    plan_only: bool = False
    yes: bool = False
    train: str = ""  # a workload to run at the end


def run_stages(invocation: Invocation, bench: Bench, steps: Steps) -> int:
    """Plan or run stages. Returns the exit code."""
    if steps.plan_only:
        _show_plan(invocation, bench, steps)
        return 0
    from clusterctl.wiring.programs import require_programs

    ask = not (steps.yes or bench.settings.assume_yes)
    if ask:
        require_terminal(QUESTION)
    require_programs(bench, steps.stages)
    if ask:
        _ask(invocation, bench, steps)
    result = _run(invocation, bench, steps)
    document = _document(invocation.command, bench, result)
    trained = _train(invocation, bench, steps) if steps.train and result.error is None else None
    if trained:
        document = _with_training(document, trained)
    untold = bench.remember(document)
    for line in (*untold, *bench.notices, *bench.cluster_notices(result)):
        note(f"note: {line}")
    if invocation.json:
        write_json(document)
    else:
        _show_result(invocation, document)
    problem = result.error or (trained.error if trained else None)
    if problem is None:
        return 0
    error = as_error(problem)
    write_error(error, verbose=bool(invocation.verbose))
    return error.exit_code


def _train(invocation: Invocation, bench: Bench, steps: Steps) -> Outcome:
    """The job on the cluster that has just been verified. What it raises is told as its end: the cluster stands."""
    from clusterctl.cli.train import run_outcome
    from clusterctl.wiring.training import TrainAsk, Training, not_run

    training = Training(bench, TrainAsk(steps.train))
    try:
        return run_outcome(invocation, bench, training)
    except ClusterctlError as problem:
        return not_run(problem)


def _with_training(document: dict[str, Any], trained: Outcome) -> dict[str, Any]:
    failed = {"ok": False, "error": error_document(trained.error)} if trained.error else {}
    return {**document, "train": trained.document, **failed}


def require_terminal(question: str) -> None:
    """Raise UsageError where nobody can answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"nobody is here to answer: {question}", hint="say --yes to go on without a question")


def confirm(question: str) -> None:
    """One question; anything but yes ends the run with nothing made."""
    require_terminal(question)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if _answer().strip().lower() not in ("y", "yes"):
        raise UsageError("not confirmed, nothing was changed")


def _answer() -> str:
    """One line. Nothing is in flight yet, so Ctrl-C ends the waiting at once."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)


def _ask(invocation: Invocation, bench: Bench, steps: Steps) -> None:
    note("\n".join(_plan_text(invocation, bench, steps)))
    confirm(QUESTION)


def _plan_text(invocation: Invocation, bench: Bench, steps: Steps) -> list[str]:
    from clusterctl.cli.plan import plan_lines, plan_summary
    from clusterctl.cli.tables import places_table

    plans = bench.preview(steps.stages)
    candidates = bench.decision_document()["candidates"]
    more = len(candidates) - MOST_PLACES
    training = [f"train      + run {steps.train}, and judge its fabric"] if steps.train else []
    return [
        *([places_table(candidates[:MOST_PLACES], color=invocation.color)] if candidates else []),
        *([f"and {more} more: clusterctl probe --no-probe"] if more > 0 else []),
        f"clusterctl {invocation.command} would, in this order:",
        *plan_lines(plans),
        *training,
        plan_summary(plans),
        *_price(bench),
    ]


def _price(bench: Bench) -> list[str]:
    from clusterctl.cli.tables import usd

    cost = bench.cost()
    lines = [f"  {line.count} x {line.what}: {usd(line.hourly_usd)} USD/h" for line in cost.lines]
    total = [f"  together {usd(cost.hourly_usd)} USD/h"]
    if bench.run.expires_at and bench.settings.lifetime:
        until = f"{bench.run.expires_at:%Y-%m-%d %H:%M} UTC"
        total = [f"{total[0]}, {usd(cost.over(bench.settings.lifetime))} USD until it expires at {until}"]
    return ["price:", *lines, *total]


def _show_plan(invocation: Invocation, bench: Bench, steps: Steps) -> None:
    from clusterctl.cli.plan import plan_document

    if not invocation.json:
        write_text("\n".join(_plan_text(invocation, bench, steps)))
        return
    plans = bench.preview(steps.stages)
    document = {"schema": schema(invocation.command), "ok": True, "plan": plan_document(plans)}
    write_json({**document, **bench.decision_document(), "hourly_usd": bench.cost().hourly_usd})


def _run(invocation: Invocation, bench: Bench, steps: Steps) -> RunResult:
    from clusterctl.cli.console import open_console

    with open_console(invocation, bench) as watch, bench.lock(watch):
        return bench.apply(steps.stages, watch)


def _document(command: str, bench: Bench, result: RunResult) -> dict[str, Any]:
    from clusterctl.engine.documents import run_document

    document = {"schema": schema(command), "ok": result.error is None, **run_document(result)}
    document["placement"] = bench.placement_document()
    document["hourly_usd"] = bench.cost().hourly_usd
    if result.error is not None:
        error = as_error(result.error)
        document = {**document, **error.document, "error": error_document(error)}
    return document


def _show_result(invocation: Invocation, document: Mapping[str, Any]) -> None:
    from clusterctl.cli.tables import ATTEMPT_COLUMNS, NODE_COLUMNS, attempt_rows, node_rows, table, usd

    for stage in document["stages"]:
        write_text(
            f"{stage['name']:<10} {stage['status']}"
            + (f" ({len(stage['actions'])} changes)" if stage["actions"] else "")
        )
    if any(one["outcome"] != "available" for one in document["attempts"]):
        rows = attempt_rows(document["attempts"])
        write_text("\n" + table("Places, in the order of trying", ATTEMPT_COLUMNS, rows, color=invocation.color))
    verification = document.get("verification")
    if verification:
        write_text(
            "\n" + table("Allocatable on every GPU node", NODE_COLUMNS, node_rows(verification), color=invocation.color)
        )
        totals = verification["totals"]
        price = usd(document["hourly_usd"])
        write_text(
            f"{totals['nodes']} nodes, {totals['gpus']} GPUs, {totals['efa']} EFA interfaces, {price} USD an hour"
        )
    if "train" in document and "verdict" in document["train"]:
        from clusterctl.cli.train import train_text

        write_text("\n" + train_text(invocation, document["train"]))
