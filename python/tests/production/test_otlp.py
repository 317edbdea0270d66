"""Metrics and traces as OpenTelemetry's own definitions read them, behind a tiny collector."""

from __future__ import annotations

import email.message
import http.server
import os
import pathlib
import ssl
import subprocess
import sys
import threading
import time

import pytest

from stepscope import ServiceMonitor
from stepscope.production import region

pytest.importorskip("opentelemetry.proto", reason="OpenTelemetry's protocol is not installed")

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE}-b7ad6b7169203331-01"
CERTIFICATES = pathlib.Path(__file__).resolve().parents[3] / "crates/metrics/tests/certificates"


class Collector:
    """Takes what is sent, or answers with these statuses first."""

    def __init__(self, statuses: tuple[int, ...] = (), tls: bool = False) -> None:
        self.got: list[tuple[str, email.message.Message, bytes]] = []
        waiting = list(statuses)
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = waiting.pop(0) if waiting else 200
                if status == 200:
                    collector.got.append((self.path, self.headers, body))
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATES / "server.pem", CERTIFICATES / "server-key.pem")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server.server_port}"

    def bodies(self, path: str) -> list[bytes]:
        return [body for at, _, body in self.got if at == path]


@pytest.fixture
def collector():
    made = Collector()
    yield made
    made.server.shutdown()


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "shop"
    with ServiceMonitor(folder, sla={"/a": "p90<100ms", "*": 2.0}, slowest=50, sampled=50) as monitor:
        for number in range(40):
            monitor.record("/a", 0.01 + number / 1_000, id=number, failed=number == 3, batch=2)
        monitor.record("/zero", 0.0)
        with pytest.raises(KeyError):
            with monitor.request("/b", id=CALLER) as request:
                with request.region("outer"):
                    with region("inner"):
                        time.sleep(0.002)
                raise KeyError
    return folder


def export(folder: pathlib.Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-m", "stepscope", "production", "export", str(folder), "--to", "otlp", "--once", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**clean, **variables})


def attributes(of) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of}


def test_metrics_are_equal_to_what_was_recorded(folder: pathlib.Path, collector: Collector) -> None:
    done = export(folder, "--endpoint", collector.url, "--header", "x-tenant=7")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    [body] = collector.bodies("/v1/metrics")
    headers = next(headers for path, headers, _ in collector.got if path == "/v1/metrics")
    assert headers["x-tenant"] == "7" and headers["Content-Type"] == "application/x-protobuf"
    request = metrics_service.ExportMetricsServiceRequest.FromString(body)
    [resource] = request.resource_metrics
    assert attributes(resource.resource.attributes) == {"service.name": "shop"}
    [scope] = resource.scope_metrics
    assert scope.scope.name == "stepscope" and scope.scope.version
    metrics = {metric.name: metric for metric in scope.metrics}

    sums = metrics["stepscope.requests"]
    assert sums.unit == "{request}" and sums.sum.is_monotonic
    assert sums.sum.aggregation_temporality == metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
    counts = {attributes(point.attributes)["route"]: point.as_int for point in sums.sum.data_points}
    assert counts == {"/a": 40, "/b": 1, "/zero": 1}
    now = time.time_ns()
    for point in sums.sum.data_points:
        assert now - 3_600e9 < point.start_time_unix_nano <= point.time_unix_nano <= now
    errors = metrics["stepscope.request.errors"].sum.data_points
    assert {attributes(point.attributes)["route"]: point.as_int for point in errors} == {"/a": 1, "/b": 1, "/zero": 0}
    missed = metrics["stepscope.sla.missed"].sum.data_points
    assert {tuple(attributes(point.attributes).values()): point.as_int for point in missed} == {
        ("/a", "p90<100ms"): 0,
        ("/b", "each<=2s"): 0,
        ("/zero", "each<=2s"): 0,
    }
    [allowed] = metrics["stepscope.sla.allowed"].gauge.data_points
    assert allowed.as_double == 0.1
    assert metrics["stepscope.process.memory"].gauge.data_points[0].as_int > 1 << 20

    durations = metrics["stepscope.request.duration"]
    assert durations.unit == "s"
    points = {attributes(p.attributes)["route"]: p for p in durations.exponential_histogram.data_points}
    point = points["/a"]
    exact = [0.01 + number / 1_000 for number in range(40)]
    assert point.count == 40 and point.sum == pytest.approx(sum(exact), rel=1e-9)
    assert (point.min, point.max) == (pytest.approx(0.01), pytest.approx(0.049))
    base = 2 ** (2**-point.scale)
    rank = 0
    for at, count in enumerate(point.positive.bucket_counts):
        index = point.positive.offset + at
        for value in exact[rank : rank + count]:
            assert base**index / 1.0137 < value <= base ** (index + 1) * 1.0137
        rank += count
    assert rank == 40
    assert point.exemplars and {round(one.as_double, 9) for one in point.exemplars} <= {round(v, 9) for v in exact}
    assert points["/zero"].zero_count == points["/zero"].count == 1


def test_requests_are_traces(folder: pathlib.Path, collector: Collector) -> None:
    assert export(folder, "--endpoint", collector.url).returncode == 0
    [body] = collector.bodies("/v1/traces")
    request = trace_service.ExportTraceServiceRequest.FromString(body)
    spans = list(request.resource_spans[0].scope_spans[0].spans)
    roots = [span for span in spans if span.kind == trace_pb2.Span.SPAN_KIND_SERVER]
    by_id = {attributes(span.attributes)["stepscope.request.id"]: span for span in roots}
    # All of these were kept whole.
    assert len(by_id) == len(roots) == 42
    assert {len(span.trace_id) for span in spans} == {16} and {len(span.span_id) for span in spans} == {8}
    assert len({(span.trace_id, span.span_id) for span in spans}) == len(spans)
    first = by_id["7"]
    assert first.name == "/a" and not first.parent_span_id
    assert first.end_time_unix_nano - first.start_time_unix_nano == 17_000_000
    assert attributes(first.attributes)["stepscope.samples"] == 2
    assert attributes(first.attributes)["process.pid"] == os.getpid()
    failed = [id for id, span in by_id.items() if span.status.code == trace_pb2.Status.STATUS_CODE_ERROR]
    assert sorted(failed) == sorted(["3", CALLER])
    # The caller's trace goes on, with its span as the parent.
    called = by_id[CALLER]
    assert called.trace_id.hex() == TRACE and called.parent_span_id.hex() == "b7ad6b7169203331"
    inside = [span for span in spans if span.trace_id == called.trace_id and span is not called]
    named = {span.name: span for span in inside}
    assert set(named) == {"outer", "inner"}
    assert named["outer"].parent_span_id == called.span_id
    assert named["inner"].parent_span_id == named["outer"].span_id
    inner = named["inner"]
    assert called.start_time_unix_nano <= inner.start_time_unix_nano
    assert inner.end_time_unix_nano <= called.end_time_unix_nano
    assert inner.end_time_unix_nano - inner.start_time_unix_nano >= 2_000_000


def test_exemplars_of_metrics_lead_to_traces(folder: pathlib.Path, collector: Collector) -> None:
    assert export(folder, "--endpoint", collector.url).returncode == 0
    metrics = metrics_service.ExportMetricsServiceRequest.FromString(collector.bodies("/v1/metrics")[0])
    traces = trace_service.ExportTraceServiceRequest.FromString(collector.bodies("/v1/traces")[0])
    roots = {(span.trace_id, span.span_id) for span in traces.resource_spans[0].scope_spans[0].spans}
    found = 0
    for metric in metrics.resource_metrics[0].scope_metrics[0].metrics:
        for point in metric.exponential_histogram.data_points:
            for exemplar in point.exemplars:
                assert (exemplar.trace_id, exemplar.span_id) in roots
                found += 1
    assert found >= 12


def test_variables_are_obeyed(folder: pathlib.Path, collector: Collector) -> None:
    done = export(
        folder,
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url + "/base/",
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url + "/elsewhere",
        OTEL_EXPORTER_OTLP_HEADERS="x-key=two%20words",
        OTEL_SERVICE_NAME="named",
        OTEL_RESOURCE_ATTRIBUTES="deployment.environment=prod",
    )
    assert done.returncode == 0, done.stderr
    assert {path for path, _, _ in collector.got} == {"/base/v1/metrics", "/elsewhere"}
    assert {headers["x-key"] for _, headers, _ in collector.got} == {"two words"}
    request = metrics_service.ExportMetricsServiceRequest.FromString(collector.bodies("/base/v1/metrics")[0])
    resource = attributes(request.resource_metrics[0].resource.attributes)
    assert resource == {"service.name": "named", "deployment.environment": "prod"}


def test_a_busy_collector_is_tried_again_and_a_dead_one_is_said(folder: pathlib.Path) -> None:
    busy = Collector((503, 429))
    assert export(folder, "--endpoint", busy.url).returncode == 0
    assert {path for path, _, _ in busy.got} == {"/v1/metrics", "/v1/traces"}
    busy.server.shutdown()
    refusing = Collector((400,))
    done = export(folder, "--endpoint", refusing.url)
    assert done.returncode == 2 and "answers with status 400" in done.stderr and "hint:" in done.stderr
    refusing.server.shutdown()


def test_a_collector_may_ask_for_https(folder: pathlib.Path) -> None:
    secure = Collector(tls=True)
    authority = str(CERTIFICATES / "authority.pem")
    done = export(folder, "--endpoint", secure.url, OTEL_EXPORTER_OTLP_CERTIFICATE=authority)
    assert done.returncode == 0, done.stderr
    assert {path for path, _, _ in secure.got} == {"/v1/metrics", "/v1/traces"}
    done = export(folder, "--endpoint", secure.url)
    assert done.returncode == 2 and "is not trusted" in done.stderr, done.stderr
    assert "hint: set OTEL_EXPORTER_OTLP_CERTIFICATE" in done.stderr
    assert len(secure.got) == 2
    secure.server.shutdown()


def test_only_new_requests_are_sent_while_it_runs(tmp_path: pathlib.Path, collector: Collector) -> None:
    folder = tmp_path / "live"
    monitor = ServiceMonitor(folder)
    monitor.record("/old", 0.1, id="old")
    monitor.flush()
    command = [sys.executable, "-m", "stepscope", "production", "export", str(folder), "--to", "otlp"]
    process = subprocess.Popen([*command, "--endpoint", collector.url, "--interval", "300ms"])
    try:
        deadline = time.time() + 60
        while not collector.bodies("/v1/metrics"):
            assert time.time() < deadline and process.poll() is None
            time.sleep(0.05)
        for number in range(3):
            monitor.record("/new", 0.1, id=f"new {number}")
            monitor.flush()
            time.sleep(0.4)

        def ids() -> list[str]:
            found = []
            for body in collector.bodies("/v1/traces"):
                request = trace_service.ExportTraceServiceRequest.FromString(body)
                for span in request.resource_spans[0].scope_spans[0].spans:
                    found.append(str(attributes(span.attributes)["stepscope.request.id"]))
            return found

        deadline = time.time() + 60
        while len(ids()) < 3:
            assert time.time() < deadline
            time.sleep(0.05)
        # Metrics come first of what is sent at a time: what was sent after the last request is here too.
        times = len(collector.bodies("/v1/metrics"))
        while len(collector.bodies("/v1/metrics")) < times + 3:
            assert time.time() < deadline
            time.sleep(0.05)
        assert sorted(ids()) == ["new 0", "new 1", "new 2"]
        last = metrics_service.ExportMetricsServiceRequest.FromString(collector.bodies("/v1/metrics")[-1])
        sums = {metric.name: metric for metric in last.resource_metrics[0].scope_metrics[0].metrics}
        points = sums["stepscope.requests"].sum.data_points
        assert {attributes(point.attributes)["route"]: point.as_int for point in points} == {"/old": 1, "/new": 3}
    finally:
        process.kill()
        process.wait()
