"""A run as an OpenTelemetry trace: a span for run, stage and change. Off unless the environment names a collector."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from clusterctl import __version__
from clusterctl.model.history import RunRecord, StageTime, Step

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

COLLECTORS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
LIMIT_S = 5.0
NOT_INSTALLED = "no trace was sent, OpenTelemetry is not installed: pip install 'clusterctl[otel]'"


def collector(environ: Mapping[str, str]) -> str:
    """The address that OpenTelemetry's own variables name for traces; empty for none."""
    return next((environ[name] for name in COLLECTORS if environ.get(name)), "")


def send_trace(record: RunRecord) -> str:
    """Send a run to the collector of the environment. Returns what went wrong, empty if nothing did."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    except ImportError:
        return NOT_INSTALLED
    kept = InMemorySpanExporter()
    resource = Resource.create({"service.name": "clusterctl", "service.version": __version__})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    _record_run(provider.get_tracer("clusterctl"), record)
    sent = OTLPSpanExporter(timeout=LIMIT_S).export(kept.get_finished_spans())
    return "" if sent is SpanExportResult.SUCCESS else "no trace was sent, the collector did not take it"


def _record_run(tracer: Tracer, record: RunRecord) -> None:
    from opentelemetry.trace import set_span_in_context

    about = {"clusterctl.run": record.run_id, "clusterctl.world": record.world}
    span = tracer.start_span(f"clusterctl {record.command}", start_time=_nanoseconds(record.started), attributes=about)
    for stage in record.stages:
        if stage.started:
            _record_stage(tracer, set_span_in_context(span), stage, stage.started)
    error = record.document.get("error") or {}
    _end(span, record.started, record.seconds, str(error.get("message", "")))


def _record_stage(tracer: Tracer, parent: Context, stage: StageTime, started: datetime) -> None:
    from opentelemetry.trace import set_span_in_context

    about = {"clusterctl.status": stage.status, "clusterctl.needs": list(stage.needs)}
    span = tracer.start_span(stage.name, parent, start_time=_nanoseconds(started), attributes=about)
    for step in stage.steps:
        _record_step(tracer, set_span_in_context(span), step)
    _end(span, started, stage.seconds, stage.message if stage.status == "failed" else "")


def _record_step(tracer: Tracer, parent: Context, step: Step) -> None:
    span = tracer.start_span(step.what, parent, start_time=_nanoseconds(step.started))
    _end(span, step.started, step.seconds or 0.0, "it never ended" if step.seconds is None else "")


def _end(span: Span, started: datetime, seconds: float, problem: str) -> None:
    from opentelemetry.trace import StatusCode

    if problem:
        span.set_status(StatusCode.ERROR, problem)
    span.end(_nanoseconds(started + timedelta(seconds=seconds)))


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1e9)
