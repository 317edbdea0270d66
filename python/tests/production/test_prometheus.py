"""What Prometheus and its own tools read: both texts, native histograms, and the rules."""

from __future__ import annotations

import json
import math
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest

from stepscope import ServiceMonitor

ROOT = pathlib.Path(__file__).resolve().parents[3]
ODD = 'odd "quoted" \\ back\\nslash\nline {x="y"} # é'


def latencies(count: int = 3_000) -> list[float]:
    """Latencies of which none is near a bound of a bucket."""
    chance = random.Random(3)
    bounds = [mantissa * 10.0**exponent for exponent in range(-4, 3) for mantissa in (1, 2.5, 5)]
    found: list[float] = []
    while len(found) < count:
        value = chance.lognormvariate(-4, 1.5)
        if all(abs(value / bound - 1) > 0.02 for bound in bounds):
            found.append(value)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A directory with requests of known latencies and a route with every odd character."""
    folder = tmp_path_factory.mktemp("prometheus")
    with ServiceMonitor(folder, sla={"/predict": "p95<100ms, error_rate<1%", "*": 2.0}) as monitor:
        for number, latency in enumerate(latencies()):
            regions = {"inference": latency / 2}
            monitor.record("/predict", latency, id=f"id-{number}", failed=number % 50 == 0, regions=regions)
        # Two quotes: the Python library takes one in an exemplar for the end of its label, escaped or not.
        monitor.record(ODD, 0.0, id='"\\\n"' + "x" * 300)
    return folder


def families(text: str, openmetrics: bool) -> dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]]:
    """Samples as Prometheus's own Python library reads them."""
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    if openmetrics:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
    else:
        from prometheus_client.parser import text_string_to_metric_families  # type: ignore[assignment]
    found: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation and family.type != "unknown", family
        found[family.name] = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in family.samples}
    return found


@pytest.mark.parametrize("openmetrics", [False, True])
def test_the_official_parser_reads_equal_values(folder: pathlib.Path, openmetrics: bool) -> None:
    found = families(ServiceMonitor(folder).metrics(openmetrics), openmetrics)
    route = (("route", "/predict"),)
    values = latencies()
    assert found["stepscope_requests"][("stepscope_requests_total", route)] == len(values)
    assert found["stepscope_requests"][("stepscope_requests_total", (("route", ODD),))] == 1
    assert found["stepscope_request_errors"][("stepscope_request_errors_total", route)] == len(values) / 50
    histogram = found["stepscope_request_duration_seconds"]
    name = "stepscope_request_duration_seconds"
    assert histogram[(f"{name}_count", route)] == len(values)
    assert histogram[(f"{name}_sum", route)] == pytest.approx(sum(values), rel=1e-9)
    buckets = {labels: value for (kind, labels), value in histogram.items() if kind == f"{name}_bucket"}
    checked = 0
    for labels, count in buckets.items():
        named = dict(labels)
        if named["route"] == "/predict":
            assert count == sum(value <= float(named["le"]) for value in values), named
            checked += 1
    assert checked == 20
    missed = found["stepscope_sla_missed"]
    of_target = (("route", "/predict"), ("target", "p95<100ms"))
    assert missed[("stepscope_sla_missed_total", of_target)] == sum(value >= 0.1 for value in values)


def test_exemplars_are_requests(folder: pathlib.Path) -> None:
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    text = ServiceMonitor(folder).metrics(openmetrics=True)
    values = {f"id-{number}": latency for number, latency in enumerate(latencies())}
    seen = 0
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.exemplar is not None and sample.labels["route"] == "/predict":
                latency = values[sample.exemplar.labels["request_id"]]
                assert sample.exemplar.value == pytest.approx(latency, abs=1e-9)
                assert latency <= float(sample.labels["le"])
                assert abs(float(sample.exemplar.timestamp) - time.time()) < 3_600
                seen += 1
    assert seen >= 2


def promtool(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: apt install prometheus)")
    return subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, timeout=60)


def test_promtool_finds_nothing_wrong_with_the_metrics(folder: pathlib.Path) -> None:
    done = promtool("check", "metrics", text=ServiceMonitor(folder).metrics())
    assert done.returncode == 0 and done.stdout + done.stderr == "", done.stdout + done.stderr


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    done = promtool("check", "rules", str(ROOT / "docs/prometheus-alerts.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


# A target of 5%: 90% of requests miss it from the second hour on, which burns 18 times as fast as is allowed.
RULES = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'stepscope_sla_requests_total{{job="j", route="/a", target="p95<100ms"}}'
        values: '0+100x600'
      - series: 'stepscope_sla_missed_total{{job="j", route="/a", target="p95<100ms"}}'
        values: '0x60 90+90x540'
      - series: 'stepscope_sla_allowed_ratio{{job="j", route="/a", target="p95<100ms"}}'
        values: '0.05x600'
      - series: 'stepscope_sla_requests_total{{job="j", route="/b", target="each<=2s"}}'
        values: '0+100x600'
      - series: 'stepscope_sla_missed_total{{job="j", route="/b", target="each<=2s"}}'
        values: '0x100 1x500'
    promql_expr_test:
      - expr: round(route_target:stepscope_sla_burn:rate5m, 0.001)
        eval_time: 3h
        exp_samples:
          - labels: '{{job="j", route="/a", target="p95<100ms"}}'
            value: 18
    alert_rule_test:
      - eval_time: 30m
        alertname: StepscopeBudgetBurnsFast
        exp_alerts: []
      - eval_time: 70m
        alertname: StepscopeBudgetBurnsFast
        exp_alerts: []
      - eval_time: 3h
        alertname: StepscopeBudgetBurnsFast
        exp_alerts:
          - exp_labels: {{job: j, route: /a, target: p95<100ms, severity: page}}
            exp_annotations:
              summary: /a uses up its error budget fast
              description: "p95<100ms is missed 18 times as often as is allowed: the budget of 30 days lasts two."
      - eval_time: 30m
        alertname: StepscopeTargetMissed
        exp_alerts: []
      - eval_time: 103m
        alertname: StepscopeTargetMissed
        exp_alerts:
          - exp_labels: {{job: j, route: /b, target: each<=2s, severity: ticket}}
            exp_annotations:
              summary: /b misses a target that no request may miss
              description: "each<=2s was missed in the last five minutes, by about 1 of the requests."
"""


def test_the_alerts_fire_when_they_should(tmp_path: pathlib.Path) -> None:
    test = tmp_path / "test.yml"
    test.write_text(RULES.format(rules=ROOT / "docs/prometheus-alerts.yml"))
    done = promtool("test", "rules", str(test))
    assert done.returncode == 0, done.stdout + done.stderr


class Prometheus:
    """A real one that scrapes an endpoint."""

    def __init__(self, folder: pathlib.Path, target: str, native: bool) -> None:
        if shutil.which("prometheus") is None:
            pytest.skip("prometheus is not installed (Debian: apt install prometheus)")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
            f"scrape_configs: [{{job_name: service, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        command = [
            "prometheus",
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--log.level=warn",
        ]
        if native:
            command.append("--enable-feature=native-histograms")
        self.process = subprocess.Popen(command)

    def ask(self, query: str) -> list[dict]:
        """What a query finds, once it finds anything."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        deadline = time.time() + 60
        while True:
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    found = json.load(answer)["data"]["result"]
                if found:
                    return found
            except OSError:
                pass
            assert time.time() < deadline, f"{query} finds nothing"
            time.sleep(0.1)

    def value(self, query: str) -> float:
        return float(self.ask(query)[0]["value"][1])

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("native", [False, True], ids=["classic", "native"])
def test_a_real_prometheus_reads_it(folder: pathlib.Path, tmp_path: pathlib.Path, native: bool) -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed (Debian: apt install prometheus)")
    command = [sys.executable, "-m", "stepscope", "production", "export", str(folder), "--to", "prometheus"]
    serving = subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    assert serving.stdout is not None
    target = serving.stdout.readline().strip().removeprefix("http://").removesuffix("/metrics")
    prometheus = Prometheus(tmp_path, target, native)
    values = sorted(latencies())
    name = "stepscope_request_duration_seconds"
    chosen = '{route="/predict"}'
    try:
        assert prometheus.value(f"stepscope_requests_total{chosen}") == len(values)
        if native:
            assert prometheus.value(f"histogram_count({name}{chosen})") == len(values)
            assert prometheus.value(f"histogram_sum({name}{chosen})") == pytest.approx(sum(values), rel=1e-9)
            for share in (0.05, 0.5, 0.9, 0.95, 0.99):
                exact = values[math.ceil(share * len(values)) - 1]
                found = prometheus.value(f"histogram_quantile({share}, {name}{chosen})")
                assert found == pytest.approx(exact, rel=0.014), share
            # The buckets, one by one: none is empty, and their bounds are near what they hold.
            buckets = prometheus.ask(f"{name}{chosen}")[0]["histogram"][1]["buckets"]
            rank = 0
            for _, low, high, count in buckets:
                inside = values[rank : rank + int(count)]
                rank += int(count)
                assert float(low) / 1.0137 < inside[0] and inside[-1] < float(high) * 1.0137
            assert rank == len(values)
        else:
            assert prometheus.value(f'{name}_bucket{{route="/predict",le="0.1"}}') == sum(v <= 0.1 for v in values)
            assert prometheus.value(f"{name}_count{chosen}") == len(values)
        assert prometheus.value("stepscope_requests_total{route=~'(?s:odd.*)'}") == 1
    finally:
        prometheus.end()
        serving.send_signal(signal.SIGINT)
        serving.wait(timeout=60)


def test_the_dashboard_asks_what_prometheus_understands(tmp_path: pathlib.Path) -> None:
    dashboard = json.loads((ROOT / "docs/grafana-dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) > 10
    # As rules, because promtool checks those; Grafana's variables become texts.
    rules = [
        {"record": f"q:{at}", "expr": query.replace("$__rate_interval", "5m").replace("$", "")}
        for at, query in enumerate(queries)
    ]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = promtool("check", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
