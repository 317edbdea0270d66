"""The ways the profiler is meant to be used, whole programs in small."""

from __future__ import annotations

import json
import mmap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stepscope import PerformanceProfiler


def test_peak_memory_and_time_of_a_loop() -> None:
    profiler = PerformanceProfiler()
    with profiler.profile("training_loop"):
        sum(n * n for n in range(100_000))
    metrics = profiler.get_metrics()
    assert float(f"{metrics.memory.peak_ram_mb:.1f}") > 1
    assert float(f"{metrics.timing.wall_time_s:.3f}") >= 0


def test_every_option_by_name() -> None:
    profiler = PerformanceProfiler(
        track_gpu=True,
        track_carbon=False,
        detailed_memory=True,
        memory_interval=0.1,
        track_cpu_temp=True,
        track_network=False,
    )
    with profiler.profile("x"):
        time.sleep(0.02)
    assert profiler.get_metrics().count == 1


def test_memory_snapshots_in_a_loop() -> None:
    profiler = PerformanceProfiler(detailed_memory=True)
    snapshots: list[float] = []
    kept = []
    with profiler.profile("potential_memory_leak"):
        for _ in range(10):
            # From the system itself: the heap may have room left from tests before.
            block = mmap.mmap(-1, 12 * 1_048_576)
            block.write(b"x" * len(block))
            kept.append(block)
            snapshots.append(profiler.get_current_memory())
    growth = snapshots[-1] - snapshots[0]
    assert growth > 100 and f"{growth:.1f}MB".endswith("MB")


def test_a_program_for_gpus_runs_on_a_machine_without_one() -> None:
    profiler = PerformanceProfiler(track_gpu=True)
    warned = False
    with profiler.profile("gpu_training"):
        for _ in range(3):
            used = profiler.get_current_gpu_memory()
            if used > 0.9:
                warned = True
    metrics = profiler.get_metrics()
    text = f"{metrics.memory.peak_gpu_mb:.1f} MB, {metrics.compute.gpu_utilization_percent:.1f}%"
    assert not warned
    assert text == "unknown MB, unknown%" or text[0].isdigit()


def test_shares_of_a_pipeline_add_up_to_one(plain: PerformanceProfiler, clock: Any) -> None:
    with plain.profile("complete_pipeline"):
        clock.sleep(0.02)
        for name, pause in (("data_loading", 0.02), ("preprocessing", 0.01), ("training", 0.04), ("evaluation", 0.01)):
            with plain.profile(name):
                clock.sleep(pause)
    timing = plain.get_timing_breakdown()
    shares = {name: spent / sum(timing.values()) * 100 for name, spent in timing.items()}
    assert sum(shares.values()) == pytest.approx(100)
    assert shares["training"] == pytest.approx(40)
    assert shares["complete_pipeline"] == pytest.approx(20)
    assert plain.get_metrics().name == "complete_pipeline"


def test_bottlenecks_by_line() -> None:
    profiler = PerformanceProfiler(enable_line_profiling=True)

    def slow_function() -> None:
        time.sleep(0.05)

    with profiler.profile("bottleneck_detection"):
        slow_function()
    lines = profiler.get_line_profile()
    assert lines, lines.reason
    (slow,) = [line for line in lines if line.line_number == slow_function.__code__.co_firstlineno + 1]
    assert slow.time_s >= 0.05
    assert slow.time_percent == pytest.approx(100 * slow.time_s / sum(line.time_s for line in lines))


def test_throughput_by_batch_size(plain: PerformanceProfiler, clock: Any) -> None:
    results = {}
    for _ in range(2):  # a cell of a notebook that is run again must give the same
        for batch_size, pause in ((16, 0.03), (32, 0.03), (64, 0.2)):
            with plain.profile(f"batch_size_{batch_size}"):
                clock.sleep(pause)
            metrics = plain.get_metrics()
            assert metrics.name == f"batch_size_{batch_size}"
            results[batch_size] = batch_size / metrics.timing.wall_time_s
    assert max(results, key=results.__getitem__) == 32
    assert results[16] == pytest.approx(16 / 0.03)


def test_a_table_of_architectures() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    profiler = PerformanceProfiler()
    results: dict[str, dict[str, float]] = {}
    for name in ("simple_mlp", "deep_mlp"):
        with profiler.profile(f"{name}_training"):
            time.sleep(0.01)
        metrics = profiler.get_metrics()
        results[name] = {
            "memory": metrics.memory.peak_ram_mb,
            "time": metrics.timing.wall_time_s,
            "flops": metrics.compute.estimated_flops,
        }
    frame = pandas.DataFrame(results).T
    assert "NaN" in str(frame) and frame["time"].min() >= 0.01


def test_hyperparameters() -> None:
    profiler = PerformanceProfiler()
    impact = {}
    for rate in (0.001, 0.01):
        with profiler.profile(f"lr_{rate}"):
            time.sleep(0.01)
        impact[rate] = 0.9 / profiler.get_metrics().timing.wall_time_s
    assert set(profiler.get_timing_breakdown()) == {"lr_0.001", "lr_0.01"}
    assert all(value < 90 for value in impact.values())


def test_watching_a_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # However long a sample takes on a busy machine: there is one at the end.
    monkeypatch.setattr("stepscope.performance.monitor_session.EDGE_SHARE", 0)
    profiler = PerformanceProfiler(track_system=True, system_interval=0.05)
    alerts = []
    with profiler.profile("resource_monitoring"):
        for _ in range(5):
            time.sleep(0.05)
            stats = profiler.get_current_system_stats()
            alerts += [stats.cpu_percent > 100, stats.memory_percent > 100, stats.disk_io_percent > 100]
    assert not any(alerts)
    report = profiler.get_system_report()
    assert 0 <= float(f"{report.avg_cpu_percent:.1f}") <= 100
    assert 0 < float(f"{report.peak_memory_percent:.1f}") <= 100


class RegressionDetector:
    def __init__(self, baseline: Path, profiler: PerformanceProfiler) -> None:
        self.baseline = json.loads(baseline.read_text())["regions"]
        self.profiler = profiler
        self.alerts: list[str] = []

    @contextmanager
    def check(self, name: str, threshold: float = 0.2) -> Iterator[None]:
        with self.profiler.profile(name):
            yield
        now = self.profiler.get_metrics().timing.wall_time_s
        if now > self.baseline[name]["timing"]["mean_s"] * (1 + threshold):
            self.alerts.append(name)


def test_a_regression_is_detected_again_and_again(tmp_path: Path, plain: PerformanceProfiler, clock: Any) -> None:
    for _ in range(3):
        with plain.profile("model_training"):
            clock.sleep(0.06)
    later = PerformanceProfiler(track_gpu=False, track_system=False)
    later._registry.clock = clock
    detector = RegressionDetector(Path(plain.export(tmp_path / "baseline.json")), later)
    for pause, alerts in ((0.06, 0), (0.07, 0), (0.08, 1), (0.06, 1)):
        with detector.check("model_training"):
            clock.sleep(pause)
        assert len(detector.alerts) == alerts
    with pytest.raises(KeyError):
        with detector.check("model_training"):
            raise KeyError
    assert detector.profiler.get_metrics("model_training").failed == 1


class Service:
    def __init__(self) -> None:
        self.profiler = PerformanceProfiler()
        self.log: list[dict[str, Any]] = []

    def profile_request(self, request: str) -> Any:
        return self.profiler.profile(f"request_{request}")

    def log_metrics(self, request: str, latency_s: float) -> None:
        metrics = self.profiler.get_metrics()
        self.log.append(
            {
                "timestamp": datetime.now().isoformat(),
                "request": request,
                "internal_s": metrics.timing.wall_time_s,
                "latency_s": latency_s,
                "memory_mb": metrics.memory.peak_ram_mb,
                "cpu_percent": metrics.system.cpu_percent if hasattr(metrics, "system") else None,
            }
        )


def test_a_service_that_logs_each_request() -> None:
    service = Service()
    for number in range(20):
        began = time.perf_counter()
        with service.profile_request(f"{number:08x}"):
            time.sleep(0.001 * (number % 3))
        service.log_metrics(str(number), time.perf_counter() - began)
    assert all(0 < entry["internal_s"] <= entry["latency_s"] for entry in service.log)
    assert all(entry["memory_mb"] > 1 for entry in service.log)


def test_training_and_inference() -> None:
    profiler = PerformanceProfiler()
    with profiler.profile("training_performance") as region:
        for _ in range(4):
            region.add_samples(32)
            time.sleep(0.002)
    with profiler.profile("inference_performance"):
        time.sleep(0.002)
    training, inference = (profiler.get_metrics(f"{kind}_performance") for kind in ("training", "inference"))
    assert training.throughput == pytest.approx(128 / training.timing.wall_time_s)
    assert f"{inference.throughput} samples/s" == "unknown samples/s"


def test_questions_asked_of_metrics_never_raise() -> None:
    profiler = PerformanceProfiler()
    with profiler.profile("x"):
        pass
    results = profiler.get_metrics()
    issues = []
    if results.memory.peak_ram_mb > 16000:
        issues.append("memory")
    if results.system.cpu_percent > 95:
        issues.append("processor")
    if results.compute.gpu_utilization_percent < 70:
        issues.append("GPU")
    if results.system.disk_io_wait_percent > 20:
        issues.append("disk")
    assert "memory" not in issues
    assert all(issue.title in str(issue) for issue in profiler.diagnose(results))
