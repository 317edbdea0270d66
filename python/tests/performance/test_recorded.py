"""Regions of ``PerformanceProfiler`` are in what is recorded meanwhile, like those of ``record_function``."""

from __future__ import annotations

import pathlib

import pytest

import stepscope
from stepscope import PerformanceProfiler
from stepscope.profiler import profile, record_function


@pytest.mark.parametrize("tracked", [False, True])
def test_a_region_is_in_the_trace(tracked: bool, tmp_path: pathlib.Path) -> None:
    profiler = PerformanceProfiler(track_gpu=False, track_system=tracked)
    with profiler.profile("before"):
        pass
    with profile() as recording:
        with record_function("epoch"):
            for _ in range(3):
                with profiler.profile("forward", samples=32):
                    with profiler.profile("attention"):
                        pass
    path = tmp_path / "trace.json"
    recording.export_chrome_trace(str(path))
    rows = stepscope.open(path).ops(kind="annotations")
    calls = {row["name"]: row["calls"] for row in rows}
    assert {name: calls.get(name) for name in ("before", "epoch", "forward", "attention")} == {
        "before": None,
        "epoch": 1,
        "forward": 3,
        "attention": 3,
    }
    assert profiler.get_metrics("forward").count == 3
