"""The page of the last run, from what is kept on this machine: no call leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clusterctl.adapters.files import write_atomically
from clusterctl.errors import UsageError
from clusterctl.model.history import record_document
from clusterctl.model.report import report_of
from clusterctl.rendering.report_page import report_page
from clusterctl.wiring.bench import Ask, open_bench


def write_report(ask: Ask, page: Path) -> dict[str, Any]:
    """Write the page; the run that it shows. Raises UsageError if there is none, or no folder for the page."""
    with open_bench(ask) as bench:
        runs, cluster = bench.history.runs(), bench.settings.cluster_name
    if not runs:
        raise UsageError(f"no run on cluster {cluster} is known here", hint="clusterctl deploy-all, or --cluster-name")
    run = record_document(runs[-1])
    try:
        write_atomically(page, report_page(report_of(run)))
    except OSError as problem:
        raise UsageError(f"cannot write {page}: {problem.strerror}") from problem
    return run
