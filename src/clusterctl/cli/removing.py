"""What teardown and `--destroy` share: plan, one question, run, and the proof of absence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.cli.flow import confirm, require_terminal
from clusterctl.cli.result import as_error, error_document, note, schema, write_error, write_json, write_text
from clusterctl.errors import ClusterctlError

if TYPE_CHECKING:
    from clusterctl.cli.command import Invocation
    from clusterctl.engine.pipeline import RunResult
    from clusterctl.wiring.bench import Bench


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to go: `everything`, `keep-cluster`, or what one stage made."""

    what: str
    plan_only: bool = False
    yes: bool = False
    purge: bool = False


def remove(invocation: Invocation, bench: Bench, removal: Removal) -> int:
    """Plan or run a removal. Returns the exit code."""
    if removal.plan_only:
        return _show_plan(invocation, bench, removal)
    if not (removal.yes or bench.settings.assume_yes):
        question = f"Delete it all from {bench.target.region}?"
        require_terminal(question)
        note("\n".join(_plan_text(bench, removal)))
        confirm(question)
    cost = _cost(bench) if removal.what == "everything" else None
    result = _run(invocation, bench, removal)
    document = _document(invocation.command, result) | ({"cost": cost} if cost else {})
    for line in bench.remember(document):
        note(f"note: {line}")
    if invocation.json:
        write_json(document)
    else:
        write_text("\n".join(_lines(document)))
    if result.error is None:
        return 0
    error = as_error(result.error)
    write_error(error, verbose=bool(invocation.verbose))
    return error.exit_code


def _run(invocation: Invocation, bench: Bench, removal: Removal) -> RunResult:
    from clusterctl.cli.console import open_console

    with open_console(invocation, bench) as watch, bench.lock(watch):
        return bench.remove(removal.what, watch, purge=removal.purge)


def _cost(bench: Bench) -> dict[str, Any] | None:
    """What the cluster has cost until now. Nothing that is wrong with prices stops a removal."""
    from clusterctl.wiring.status import spent_so_far

    try:
        return spent_so_far(bench)
    except ClusterctlError as problem:
        note(f"note: what it has cost is unknown: {problem.message}")
        return None


def _show_plan(invocation: Invocation, bench: Bench, removal: Removal) -> int:
    from clusterctl.cli.plan import plan_document

    if invocation.json:
        plans = bench.preview_removal(removal.what, purge=removal.purge)
        write_json({"schema": schema(invocation.command), "ok": True, "plan": plan_document(plans)})
    else:
        write_text("\n".join(_plan_text(bench, removal)))
    return 0


def _plan_text(bench: Bench, removal: Removal) -> list[str]:
    from clusterctl.cli.plan import plan_lines

    target = bench.target
    plans = bench.preview_removal(removal.what, purge=removal.purge)
    return [f"of cluster {target.cluster} in {target.region}, this would go:", *plan_lines(plans)]


def _document(command: str, result: RunResult) -> dict[str, Any]:
    from clusterctl.engine.documents import stage_document
    from clusterctl.model.documents import kept_documents, remains_document
    from clusterctl.model.target import OperatorLeft, Remains

    stages = [stage_document(stage) for stage in result.stages]
    deleted = [line for stage in stages for line in stage["actions"]]
    searched = Remains in result.outputs
    remains = remains_document(result.outputs[Remains] if searched else Remains())
    document = {"schema": schema(command), "ok": result.error is None, "deleted": deleted, **remains}
    if OperatorLeft in result.outputs:
        document["kept"] = [*document["kept"], *kept_documents(result.outputs[OperatorLeft])]
    document |= {"searched": searched, "stages": stages}
    if result.error is not None:
        error = as_error(result.error)
        document = {**document, **(error.document or {}), "error": error_document(error)}
    return document


def _lines(document: dict[str, Any]) -> list[str]:
    lines = [f"- {line}" for line in document["deleted"]] or ["nothing to delete"]
    lines += [f"kept {one['id']}: {one['why']}" for one in document["kept"]]
    for one in document["leftovers"]:
        lines.append(
            f"LEFT {one['kind']} {one['id']} in {one['region']}, {one['monthly_usd']} USD a month: {one['command']}"
        )
    if cost := document.get("cost"):
        spent = "unknown" if cost["spent_usd"] is None else f"{cost['spent_usd']:.2f}"
        lines.append(f"it has cost {spent} USD in {cost['hours']:g} h ({cost['price_source'] or 'nothing stood'})")
    if document["ok"] and document["searched"] and not document["kept"]:
        lines.append("nothing of the cluster is left")
    return lines
