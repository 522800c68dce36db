"""Where a run is told besides the terminal: a JUnit file, a trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from clusterctl.adapters.aws.session import is_loopback
from clusterctl.adapters.files import write_atomically
from clusterctl.adapters.tracing import collector, send_trace
from clusterctl.model.history import RunRecord
from clusterctl.rendering.junit import junit_xml


def publish(record: RunRecord, junit: Path | None, environ: Mapping[str, str], *, on_aws: bool) -> tuple[str, ...]:
    """Write and send a run where it is asked for. Returns what went wrong: the run itself is over, and stands."""
    problems = []
    if junit:
        try:
            write_atomically(junit, junit_xml(record))
        except OSError as problem:
            problems.append(f"cannot write {junit}: {problem.strerror}")
    if address := collector(environ):
        near = on_aws or is_loopback(urlsplit(address).hostname or "")
        problems.append(send_trace(record) if near else f"no trace was sent, {address} is not on this machine")
    return tuple(problem for problem in problems if problem)
