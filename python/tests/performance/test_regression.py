"""Operations that are held to a baseline."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from stepscope import PerformanceProfiler, PerformanceRegressionDetector, StepscopeError, StepscopeWarning
from stepscope.performance import PerformanceRegression


class Noting(PerformanceRegressionDetector):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.alerts: list[tuple[str, float, float]] = []

    def alert_regression(self, name: str, baseline: float, current: float) -> None:
        self.alerts.append((name, baseline, current))


def baseline(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "baseline_metrics.json"
    path.write_text(json.dumps(content))
    return path


def test_only_what_is_slower_than_allowed_alerts(tmp_path: Path) -> None:
    detector = Noting(baseline(tmp_path, {"wait": {"wall_time_s": 0.05}, "quick": {"wall_time_s": 5.0}}))
    with detector.check_regression("wait"):
        time.sleep(0.2)
    with detector.check_regression("quick"):
        pass
    with detector.check_regression("wait", threshold=100):
        time.sleep(0.06)
    assert [(name, before) for name, before, _ in detector.alerts] == [("wait", 0.05)]
    assert detector.alerts == detector.regressions and detector.alerts[0][2] >= 0.2


def test_an_alert_raises_unless_told_otherwise(tmp_path: Path) -> None:
    detector = PerformanceRegressionDetector(baseline(tmp_path, {"wait": {"wall_time_s": 0.001}}))
    with pytest.raises(PerformanceRegression, match=r"wait took 0\.\d+ s, \+\d+") as caught:
        with detector.check_regression("wait"):
            time.sleep(0.02)
    assert caught.value.baseline_s == 0.001 and caught.value.current_s >= 0.02


def test_what_fails_inside_goes_through_and_is_not_compared() -> None:
    detector = Noting({"wait": {"wall_time_s": 0.0}})
    with pytest.raises(KeyError):
        with detector.check_regression("wait"):
            raise KeyError
    assert detector.alerts == []


@pytest.mark.parametrize("times", [1, 3])
def test_a_baseline_means_the_same_as_get_metrics(tmp_path: Path, times: int) -> None:
    """However often an operation ran before: one occurrence is compared with one occurrence."""
    first = PerformanceRegressionDetector({})
    with pytest.warns(StepscopeWarning, match="measured but not compared"):
        for _ in range(times):
            with first.check_regression("wait"):
                time.sleep(0.02)
    exported = first.profiler.export(tmp_path / "exported.json")
    saved = first.save(tmp_path / "saved.json")
    expected = first.profiler.get_metrics("wait").timing.wall_time_s
    for path in (exported, saved):
        assert PerformanceRegressionDetector(path).baseline["wait"]["wall_time_s"] == expected
    assert json.loads(Path(saved).read_text()) == {"wait": {"wall_time_s": expected}}


def test_saving_keeps_what_was_not_measured(tmp_path: Path) -> None:
    detector = Noting({"old": {"wall_time_s": 1.5}})
    assert json.loads(Path(detector.save(tmp_path / "b.json")).read_text()) == {"old": {"wall_time_s": 1.5}}


def test_wrong_baselines_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StepscopeError, match="no baseline file") as caught:
        PerformanceRegressionDetector(tmp_path / "none.json")
    assert "detector.save" in caught.value.hint
    broken = tmp_path / "broken.json"
    broken.write_text('{"a": ')
    with pytest.raises(StepscopeError, match="cannot be read"):
        PerformanceRegressionDetector(broken)
    for content in (
        [],
        {"a": 3},
        {"a": {"wall_time_s": "fast"}},
        {"a": {"wall_time_s": True}},
        {"a": {"wall_time_s": -1}},
    ):
        with pytest.raises(StepscopeError, match="baseline"):
            PerformanceRegressionDetector(baseline(tmp_path, content))
    with pytest.raises(StepscopeError, match="threshold"):
        PerformanceRegressionDetector(PerformanceRegressionDetector({}).baseline).check_regression("a", threshold=-1)


def test_a_profiler_of_ones_own_is_used() -> None:
    profiler = PerformanceProfiler(track_gpu=False, track_system=False)
    detector = PerformanceRegressionDetector({"a": {"wall_time_s": 9.0}}, profiler)
    with detector.check_regression("a"):
        pass
    assert profiler.get_metrics("a").count == 1
