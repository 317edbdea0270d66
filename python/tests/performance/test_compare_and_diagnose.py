"""Regions side by side, what they point to, the report and the file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from stepscope import PerformanceProfiler, StepscopeError
from stepscope.performance import Thresholds
from stepscope.performance.leaks import LEAK, judge


def test_the_best_of_several(plain: PerformanceProfiler, clock: Any) -> None:
    for name, pause, count in (("slow", 0.2, 8), ("quick", 0.01, 8), ("large", 0.2, 100_000)):
        with plain.profile(name, samples=count):
            clock.sleep(pause)
    table = plain.compare("slow", "quick", "large")
    assert table.best("throughput") == "large"
    assert table.best("mean_s") == "quick"
    assert [row["name"] for row in table] == ["slow", "quick", "large"]
    assert table["quick"]["throughput"] == pytest.approx(8 / table["quick"]["mean_s"])
    with pytest.raises(StepscopeError, match="not known of any region"):
        table.best("peak_gpu_mb")
    with pytest.raises(StepscopeError, match="no column"):
        table.best("beauty")


def test_samples_may_be_given_afterwards(plain: PerformanceProfiler, clock: Any) -> None:
    for _ in range(2):
        with plain.profile("a"):
            clock.sleep(0.01)
        with plain.profile("b"):
            clock.sleep(0.01)
    table = plain.compare(samples={"a": 100_000, "b": 50})
    assert table.best("throughput") == "a"
    assert table["a"]["throughput"] == pytest.approx(200_000 / 0.02)


def test_the_table_as_text_html_and_pandas(plain: PerformanceProfiler) -> None:
    for name in ("a", "<b>"):
        with plain.profile(name):
            pass
    table = plain.compare()
    lines = str(table).splitlines()
    assert lines[0].split()[:2] == ["name", "count"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert "peak_gpu_mb" not in lines[0]
    assert "&lt;b&gt;" in table._repr_html_() and "<b>" not in table._repr_html_()
    assert table.to_dict()["a"]["peak_gpu_mb"] is None
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pandas.DataFrame(table.rows)["count"].tolist() == [1, 1]
    assert table.to_pandas().loc["a", "count"] == 1


def _machine(**values: float) -> Any:
    names = {
        "cpu": "host.cpu_percent",
        "memory": "host.memory_percent",
        "wait": "host.io_wait_percent",
        "gpu": "gpu.0.utilization_percent",
        "throttled": "gpu.0.throttled",
        "heat": "host.cpu_temperature_c",
    }

    def script(sample: int) -> dict[str, float]:
        return {names[name]: value for name, value in values.items()}

    return script


@pytest.mark.parametrize(
    ("machine", "kinds"),
    [
        ({"cpu": 99.0, "gpu": 90.0}, {"cpu-bound"}),
        ({"cpu": 10.0, "gpu": 30.0}, {"gpu-under-used"}),
        ({"cpu": 10.0, "gpu": 95.0, "wait": 40.0}, {"io-bound"}),
        ({"cpu": 10.0, "memory": 97.0}, {"high-memory"}),
        ({"gpu": 95.0, "throttled": 1.0}, {"throttling"}),
        ({"heat": 99.0}, {"throttling"}),
        ({"cpu": 10.0, "gpu": 95.0, "memory": 20.0, "wait": 1.0}, set()),
        ({}, set()),
    ],
)
def test_what_the_numbers_point_to(scripted: Any, machine: dict[str, float], kinds: set[str]) -> None:
    profiler, _ = scripted(_machine(**machine), track_cpu_temp=True)
    with profiler.profile("work"):
        time.sleep(0.02)
    issues = profiler.diagnose()
    assert {issue.kind for issue in issues} == kinds
    for issue in issues:
        assert issue.threshold.split(" ")[0] in str(issue)
        assert any(character.isdigit() for character in issue.evidence)


def test_thresholds_can_be_changed(scripted: Any) -> None:
    profiler, _ = scripted(_machine(cpu=50.0, gpu=80.0))
    with profiler.profile("work"):
        time.sleep(0.02)
    assert profiler.diagnose() == []
    assert [issue.kind for issue in profiler.diagnose("work", cpu_percent=40)] == ["cpu-bound"]
    strict = Thresholds(gpu_utilization_percent=90)
    assert [issue.kind for issue in profiler.diagnose(profiler.get_metrics(), thresholds=strict)] == ["gpu-under-used"]
    with pytest.raises(StepscopeError, match="no threshold 'speed'"):
        profiler.diagnose(speed=1)


def test_thresholds_are_those_of_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Thresholds().gpu_utilization_percent == 50.0
    rising = [float(n) for n in range(10)]
    assert judge("RSS", "MB", rising, 1.0).verdict == LEAK
    text = '[findings.thresholds]\n"low_utilization.busy_share" = 0.75\n"leak.min_readings" = 12\n'
    (tmp_path / "stepscope.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert Thresholds().gpu_utilization_percent == 75.0
    assert "12 are needed" in str(judge("RSS", "MB", rising, 1.0))


def test_one_busy_core_beside_an_idle_gpu(scripted: Any) -> None:
    profiler, _ = scripted(_machine(cpu=50.0, gpu=20.0))
    with profiler.profile("work"):
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass
    cores = profiler.get_metrics().timing.cpu_time_s / profiler.get_metrics().timing.wall_time_s
    found = [issue.title for issue in profiler.diagnose(one_core_low=cores - 0.05, one_core_high=cores + 0.05)]
    assert found == ["One core is the bottleneck", "The GPU is underused"]


def test_the_report(plain: PerformanceProfiler, clock: Any) -> None:
    assert plain.report() == "no region has ended yet"
    with pytest.raises(RuntimeError):
        with plain.profile("outer"):
            with plain.profile("inner"):
                clock.sleep(0.01)
            raise RuntimeError
    text = plain.report()
    assert text.splitlines()[0].split() == ["region", "count", "total", "own", "share", "mean", "p95"]
    assert text.splitlines()[2].startswith("inner")
    assert "1 occurrences ended with an exception" in text
    assert "2 names, 2 regions" in repr(plain)


def test_the_file_holds_everything_and_is_plain_json(tmp_path: Path) -> None:
    profiler = PerformanceProfiler()
    for _ in range(3):
        with profiler.profile("step", samples=4):
            time.sleep(0.002)
    path = tmp_path / "metrics.json"
    assert profiler.export(path) == str(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.json"]

    def no_nan(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    content = json.loads(path.read_text(), parse_constant=no_nan)
    step = content["regions"]["step"]
    assert content["format"] == "stepscope-performance-2"
    assert step["count"] == 3 and step["samples"] == 4 and step["all"]["samples"] == 12
    # A region says what get_metrics() says: of its last occurrence.
    assert step["timing"]["wall_time_s"] == profiler.get_metrics("step").timing.wall_time_s
    assert step["all"]["timing"]["wall_time_s"] == pytest.approx(step["own_s"])
    assert step["carbon"]["grams"] is None and "track_carbon" in step["missing"]["carbon.grams"]
    assert content["system"]["duration_s"] > 0


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path, plain: PerformanceProfiler) -> None:
    with plain.profile("x"):
        pass
    folder = tmp_path / "a folder"
    folder.mkdir()
    with pytest.raises(StepscopeError, match="cannot write the metrics") as caught:
        plain.export(folder)
    assert "directory" in caught.value.hint
    assert list(tmp_path.iterdir()) == [folder]


def test_metrics_print_and_turn_into_dictionaries(plain: PerformanceProfiler) -> None:
    with plain.profile("x"):
        pass
    metrics = plain.get_metrics()
    assert "timing.wall_time_s" in str(metrics) and "unknown: " in str(metrics)
    plain_values = metrics.to_dict()
    assert plain_values["name"] == "x" and plain_values["memory"]["peak_ram_mb"] is None
    json.dumps(plain_values, allow_nan=False)
    with pytest.raises(AttributeError):
        metrics.count = 5  # type: ignore[misc]
