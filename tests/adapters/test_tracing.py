"""Traces of runs, as a collector gets them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from clusterctl.adapters.tracing import collector, send_trace
from clusterctl.model.history import RunRecord, StageTime, Step

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
RUN = RunRecord(
    "deploy-all", "training", "run-1", "aws", START, 100.0,
    (
        StageTime("probe", (), "done", START, 10.0, (Step("reserve", START, 5.0),)),
        StageTime("cluster", ("probe",), "failed", START + timedelta(seconds=10), 90.0, message="refused"),
        StageTime("verify", ("cluster",)),
    ),
    (), {"ok": False, "error": {"message": "refused"}},
)  # fmt: skip


class Collector(BaseHTTPRequestHandler):
    """Takes traces, or refuses them."""

    status = 200
    bodies: list[bytes]

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Collector]]:
    handler = type("OneCollector", (Collector,), {"bodies": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        yield handler
        server.shutdown()
        thread.join()


def spans(collected: type[Collector]) -> dict[str, Any]:
    (body,) = collected.bodies
    request = ExportTraceServiceRequest.FromString(body)
    return {span.name: span for span in request.resource_spans[0].scope_spans[0].spans}


def test_a_run_is_one_trace_whose_spans_lie_in_each_other(listening: type[Collector]) -> None:
    assert send_trace(RUN) == ""
    found = spans(listening)
    assert sorted(found) == ["cluster", "clusterctl deploy-all", "probe", "reserve"]  # verify never began
    assert len({span.trace_id for span in found.values()}) == 1
    assert found["probe"].parent_span_id == found["clusterctl deploy-all"].span_id
    assert found["reserve"].parent_span_id == found["probe"].span_id


def test_spans_last_as_long_as_what_they_stand_for_and_failures_are_errors(listening: type[Collector]) -> None:
    send_trace(RUN)
    found = spans(listening)
    taken = {name: (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9 for name, span in found.items()}
    assert taken == {"probe": 10, "reserve": 5, "cluster": 90, "clusterctl deploy-all": 100}
    assert {name for name, span in found.items() if span.status.code == 2} == {"cluster", "clusterctl deploy-all"}
    assert found["cluster"].status.message == "refused"


def test_a_collector_that_refuses_is_told_and_stops_nothing(listening: type[Collector]) -> None:
    listening.status = 400
    assert "did not take it" in send_trace(RUN)


def test_nothing_is_sent_unless_the_environment_says_where_to() -> None:
    assert collector({}) == ""
    assert collector({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a"}) == "http://a"
    both = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b"}
    assert collector(both) == "http://b"
