"""``ProductionProfiler``, used as its document shows it."""

from __future__ import annotations

import logging
import pathlib
import threading
import time
from datetime import datetime

import pytest

from stepscope import ProductionProfiler
from stepscope.production import read_report


def test_the_pattern_of_the_document() -> None:
    prod_profiler = ProductionProfiler()
    entries = []

    def predict(request_id: str) -> None:
        start_time = time.time()
        with prod_profiler.profile_request(request_id):
            time.sleep(0.002)
            sum(range(20_000))
        end_time = time.time()
        entries.append(prod_profiler.log_metrics(request_id, end_time - start_time))

    threads = [threading.Thread(target=lambda n=n: [predict(f"{n}-{m}") for m in range(25)]) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(entries) == len(prod_profiler.metrics_log) == 100
    for entry in entries:
        assert list(entry) == [
            "timestamp",
            "request_id",
            "internal_latency",
            "user_facing_latency",
            "memory_mb",
            "cpu_percent",
        ]
        assert 0.002 <= entry["internal_latency"] <= entry["user_facing_latency"] + 0.001
        assert datetime.fromisoformat(entry["timestamp"]) and entry["memory_mb"] > 1
        assert 0 <= entry["cpu_percent"] <= 101
    report = prod_profiler.generate_hourly_report()
    latencies = sorted(entry["user_facing_latency"] for entry in entries)
    assert report is not None
    assert report["requests_processed"] == 100 and report["sla_violations"] == 0
    assert report["average_latency"] == pytest.approx(sum(latencies) / 100, rel=1e-6)
    assert report["p95_latency"] == pytest.approx(latencies[94], rel=0.011)


def test_violations_are_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    heard = []
    profiler = ProductionProfiler(on_violation=heard.append)
    for number, latency in enumerate((1.0, 2.0, 2.000001, 3.0)):
        profiler.log_metrics(number, latency)
    assert [entry["request_id"] for entry in heard] == [2, 3]
    assert profiler.generate_hourly_report()["sla_violations"] == 2  # type: ignore[index]

    class Loud(ProductionProfiler):
        def alert_sla_violation(self, log_entry: dict) -> None:
            heard.append("loud")

    Loud(sla=0.1).log_metrics("x", 0.2)
    assert heard[-1] == "loud"

    with caplog.at_level(logging.WARNING, logger="stepscope"):
        ProductionProfiler().log_metrics("slow one", 2.5)
    assert "request slow one took 2.500 s, above the SLA of 2.000 s" in caplog.text


def test_nothing_raises_into_the_service() -> None:
    def hook(_: object) -> None:
        raise RuntimeError

    profiler = ProductionProfiler(on_violation=hook)
    assert profiler.generate_hourly_report() is None
    profiler.log_metrics(["no", "hash"], 9.0)
    entry = profiler.log_metrics("never seen", "slow")  # type: ignore[arg-type]
    assert entry["internal_latency"] is None and entry["cpu_percent"] is None
    with pytest.raises(ValueError):
        with profiler.profile_request("x"):
            raise ValueError
    assert profiler.log_metrics("x", 0.1)["internal_latency"] > 0


def test_memory_is_bounded_and_old_minutes_go(monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = ProductionProfiler()
    now = time.time()
    for minute in range(200):
        monkeypatch.setattr(time, "time", lambda minute=minute: now + 60 * minute)
        profiler.log_metrics(minute, 0.1)
    assert len(profiler._minutes) == 61
    assert profiler.generate_hourly_report()["requests_processed"] == 61  # type: ignore[index]
    for number in range(10_500):
        with profiler.profile_request(number):
            pass
    assert len(profiler._ended) == 10_000


def test_with_a_directory_requests_are_kept(tmp_path: pathlib.Path) -> None:
    profiler = ProductionProfiler(tmp_path, route="/predict")
    with profiler.profile_request("a"):
        time.sleep(0.01)
    profiler.log_metrics("a", 2.5)
    assert profiler.monitor is not None
    profiler.monitor.flush()
    report = read_report(tmp_path)
    assert [(one["target"], one["missed"]) for one in report["targets"]] == [("each<=2s", 1)]
    assert {one["region"] for one in report.route("/predict")["regions"]} == {"internal", "(outside regions)"}
