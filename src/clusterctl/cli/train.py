# ruff: noqa: FBT002, PLR0913, PLR0917 - typer makes options of parameters
"""`clusterctl train`: run a workload, and judge the fabric that it ran over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterctl.cli.asking import Search, ask
from clusterctl.cli.command import Invocation, command
from clusterctl.cli.options import ClusterName, Events, PlanOnly, Region

if TYPE_CHECKING:
    from clusterctl.engine.events import EventSink
    from clusterctl.wiring.bench import Bench
    from clusterctl.wiring.training import Outcome, Training

REPEATS = 3
Name = Annotated[str, typer.Argument(help="The workload.", metavar="NAME")]
Nodes = Annotated[int | None, typer.Option("--nodes", "-n", min=1, help="GPU nodes to use; all that are there if not.")]
Status = Annotated[bool, typer.Option("--status", help="Show the job and its pods, and change nothing.")]
Delete = Annotated[bool, typer.Option("--delete", help="Remove the job and its pods.")]
Benchmark = Annotated[bool, typer.Option("--benchmark", help="Measure EFA against TCP on the same pods.")]
Repeats = Annotated[int, typer.Option("--repeats", min=2, max=50, help="Runs of each transport in a benchmark.")]


def register(app: typer.Typer) -> None:
    @command(app, "train")
    def train(
        invocation: Invocation,
        name: Name,
        nodes: Nodes = None,
        status: Status = False,
        delete: Delete = False,
        benchmark: Benchmark = False,
        repeats: Repeats = REPEATS,
        plan: PlanOnly = False,
        cluster_name: ClusterName = "",
        region: Region = "",
        events: Events = False,
    ) -> int:
        """Run a training workload on the GPU nodes, and say whether it ran, how fast, and over EFA or not.

        Example: clusterctl train ray-fsdp; clusterctl train mpi-allreduce --benchmark -o json
        """
        from clusterctl.wiring.bench import open_bench
        from clusterctl.wiring.training import TrainAsk, Training

        one_of(status=status, delete=delete, benchmark=benchmark, plan=plan)
        search = Search(cluster_name=cluster_name, region=region)
        with open_bench(ask(invocation, search, save=False, events=events)) as bench:
            training = Training(bench, TrainAsk(name, nodes, repeats if benchmark else 0))
            if status:
                return _status(invocation, training)
            if delete:
                return _delete(invocation, training)
            if plan:
                return _plan(invocation, training)
            return run_training(invocation, bench, training)


def one_of(**flags: bool) -> None:
    """Raise UsageError for two wishes that exclude each other."""
    from clusterctl.errors import UsageError

    given = [f"--{name}" for name, wanted in flags.items() if wanted]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot go together", hint="choose one of them")


def run_training(invocation: Invocation, bench: Bench, training: Training) -> int:
    """Check, run, judge. The document says all of it whatever the end."""
    outcome = run_outcome(invocation, bench, training)
    return _show(invocation, outcome.document, outcome.error)


def run_outcome(invocation: Invocation, bench: Bench, training: Training) -> Outcome:
    """Run it, drawn on the console, with no second run of the same workload beside it."""
    from clusterctl.cli.console import open_console

    with open_console(invocation, bench) as console, training.lock():
        return training.outcome(console, verbose=bool(invocation.verbose))


def _show(invocation: Invocation, document: dict[str, Any], error: Exception | None) -> int:
    from clusterctl.cli.result import as_error, error_document, schema, write_error, write_json, write_text

    problem = as_error(error) if error else None
    if invocation.json:
        failed = {"error": error_document(problem)} if problem else {}
        write_json({"schema": schema("train"), "ok": problem is None, **document, **failed})
    else:
        write_text(train_text(invocation, document))
    if problem is None:
        return 0
    write_error(problem, verbose=bool(invocation.verbose))
    return problem.exit_code


def train_text(invocation: Invocation, document: dict[str, Any]) -> str:
    """The result for people."""
    from clusterctl.cli.traintables import result_lines

    return "\n".join(result_lines(document, color=invocation.color))


def _plan(invocation: Invocation, training: Training) -> int:
    from clusterctl.cli.result import schema, write_json, write_text

    document = training.plan_document()
    if invocation.json:
        write_json({"schema": schema("train"), **document})
    else:
        write_text(document["manifests"] or "")
        _notes(document)
    return 0 if document["ok"] else 5


def _notes(document: dict[str, Any]) -> None:
    from clusterctl.cli.result import note
    from clusterctl.cli.tables import check_lines

    note("\n".join(check_lines(document)))


def _status(invocation: Invocation, training: Training) -> int:
    from clusterctl.cli.result import schema, write_json, write_text
    from clusterctl.cli.traintables import status_lines

    document = training.status_document()
    if invocation.json:
        write_json({"schema": schema("train"), "ok": True, **document})
    else:
        write_text("\n".join(status_lines(document, color=invocation.color)))
    return 0


def _delete(invocation: Invocation, training: Training) -> int:
    from clusterctl.cli.result import note, schema, write_json

    def tell(event: Any) -> None:
        note(getattr(event, "message", ""))

    sink: EventSink = tell
    removed = training.remove(sink)
    if invocation.json:
        deleted = [training.workload.name] if removed else []
        write_json({"schema": schema("train"), "ok": True, "deleted": deleted})
    elif not removed:
        note(f"there is no job {training.workload.name}")
    return 0
