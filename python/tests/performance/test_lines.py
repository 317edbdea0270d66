"""Lines: where the time goes, in the user's own code."""

from __future__ import annotations

import linecache
import sys
import time
import types
from collections.abc import Iterator
from typing import Any

import pytest

from stepscope import PerformanceProfiler

LIBRARY_FILE = linecache.__file__
"""A file of the standard library."""


def _busy(times: int) -> int:
    total = 0
    for number in range(times):
        total += number
    return total


def _slow() -> None:
    time.sleep(0.06)  # the slow line
    _busy(200)


def _numbers() -> Iterator[int]:
    for number in range(2):
        time.sleep(0.02)  # the generator's line
        yield number


@pytest.fixture
def profiler() -> PerformanceProfiler:
    return PerformanceProfiler(track_gpu=False, track_system=False, enable_line_profiling=True)


@pytest.fixture(autouse=True)
def _no_other_tracer() -> None:
    if sys.gettrace() is not None:
        pytest.skip("a debugger or coverage has the tracer")


def _line_of(function: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


def test_the_slow_line_is_found(profiler: PerformanceProfiler) -> None:
    with profiler.profile("work"):
        _slow()
    lines = profiler.get_line_profile()
    # The first one, unless the machine was so busy that another had to wait for longer.
    assert [line.time_s for line in lines] == sorted((line.time_s for line in lines), reverse=True)
    (slow,) = [line for line in lines if line.line_number == _line_of(_slow, "the slow line")]
    assert (slow.filename, slow.function, slow.hits) == (__file__, "_slow", 1)
    assert slow.source == "time.sleep(0.06)  # the slow line"
    assert slow.time_s >= 0.06
    assert slow.time_percent == pytest.approx(100 * slow.time_s / sum(line.time_s for line in lines))
    assert sum(line.time_percent for line in lines) == pytest.approx(100)
    assert lines.events > 400 and lines.overhead_s > 0
    assert "the slow line" in str(lines)


def test_hits_are_exact_and_the_lines_of_the_block_itself_are_timed(profiler: PerformanceProfiler) -> None:
    with profiler.profile("work"):
        _busy(500)
        time.sleep(0.03)  # a line of the block
    found = {(line.function, line.line_number): line for line in profiler.get_line_profile()}
    added = found["_busy", _line_of(_busy, "total += number")]
    assert added.hits == 500
    here = test_hits_are_exact_and_the_lines_of_the_block_itself_are_timed
    block = found[here.__name__, _line_of(here, "a line of the block")]
    assert block.time_s >= 0.03


def test_the_time_of_a_callers_line_goes_on_after_the_call(profiler: PerformanceProfiler) -> None:
    def sleeps() -> None:
        time.sleep(0.1)  # the callee's line

    def caller() -> None:
        [sleeps(), time.sleep(0.04)]  # both

    began = time.perf_counter()
    with profiler.profile("work"):
        caller()
    took_s = time.perf_counter() - began
    lines = profiler.get_line_profile()
    own = next(line for line in lines if "# both" in line.source and line.time_s > 0.01)
    callee = next(line for line in lines if "# the callee's line" in line.source)
    # Its own sleep, and nothing of the callee's.
    assert callee.time_s >= 0.1 and 0.04 <= own.time_s <= took_s - callee.time_s


def test_generators(profiler: PerformanceProfiler) -> None:
    began = time.perf_counter()
    with profiler.profile("work"):
        for _ in _numbers():
            time.sleep(0.03)
    took_s = time.perf_counter() - began
    found = {line.source: line for line in profiler.get_line_profile()}
    own, outside = found["time.sleep(0.02)  # the generator's line"], found["time.sleep(0.03)"]
    assert own.hits == outside.hits == 2
    # Each has what it slept, and no moment counts for both.
    assert own.time_s >= 0.04 and outside.time_s >= 0.06 and own.time_s + outside.time_s <= took_s


def test_regions_inside_one_another_and_repeated(profiler: PerformanceProfiler) -> None:
    with profiler.profile("outer"):
        _busy(10)
        for _ in range(2):
            with profiler.profile("inner"):
                _busy(20)
    added = "total += number"
    inner = {line.source: line for line in profiler.get_line_profile("inner")}
    outer = {line.source: line for line in profiler.get_line_profile("outer")}
    assert inner[added].hits == 40
    assert outer[added].hits == 50


def test_what_is_measured_at_the_edges_is_not_the_lines_time(profiler: PerformanceProfiler) -> None:
    # A probe that takes its time at both edges; by its file name it is not the user's code.
    scope: Any = {"time": time}
    source = "def enter(region): time.sleep(0.03)\ndef exit(region, token, resources): time.sleep(0.03)"
    exec(compile(source, LIBRARY_FILE, "exec"), scope)
    slow = types.SimpleNamespace(what="a test", enter=scope["enter"], exit=scope["exit"])
    profiler._registry.probes.insert(1, slow)  # type: ignore[arg-type]
    began = time.perf_counter()
    with profiler.profile("outer"):
        for _ in range(3):
            with profiler.profile("inner"):
                pass
    took_s = time.perf_counter() - began
    # Eight edges of 30 ms each.
    assert profiler.get_timing_breakdown().overhead_s >= 0.24
    assert sum(line.time_s for line in profiler.get_line_profile("outer")) <= took_s - 0.24


def test_library_code_is_the_callers_time(profiler: PerformanceProfiler) -> None:
    import json

    text = json.dumps(list(range(30_000)))
    with profiler.profile("work"):
        json.loads(text)
        sorted(range(1000), key=str)
    files = {line.filename for line in profiler.get_line_profile()}
    assert files == {__file__}


def test_an_exception_leaves_no_tracer_behind(profiler: PerformanceProfiler) -> None:
    with pytest.raises(KeyError):
        with profiler.profile("work"):
            raise KeyError("x")
    assert sys.gettrace() is None
    assert sys._getframe().f_trace is None
    if hasattr(sys, "monitoring"):
        assert all(sys.monitoring.get_tool(number) != "stepscope" for number in range(6))
    with profiler.profile("work"):
        _busy(5)
    assert {line.source: line.hits for line in profiler.get_line_profile()}["total += number"] == 5


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring goes beside other tools")
def test_another_tracer_is_left_alone(profiler: PerformanceProfiler) -> None:
    def theirs(*_args: object) -> None:
        return None

    sys.settrace(theirs)
    try:
        with profiler.profile("work"):
            _busy(5)
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(None)
    lines = profiler.get_line_profile()
    assert not lines and "another tool traces" in lines.reason


@pytest.mark.clock
def test_what_the_events_take_is_not_the_lines_time(profiler: PerformanceProfiler) -> None:
    for number in range(10):
        with profiler.profile(f"work {number}"):
            _busy(20_000)
    # Other programs may take the processor away in between: the quickest was disturbed least.
    wall_s, quickest = min((profiler.get_metrics(f"work {n}").timing.wall_time_s, f"work {n}") for n in range(10))
    lines = profiler.get_line_profile(quickest)
    timed_s = sum(line.time_s for line in lines)
    # Lines that do next to nothing: most of the time is that of the events, and is counted as such.
    assert lines.overhead_s > 0.2 * timed_s
    assert 0.3 < (lines.overhead_s + timed_s) / wall_s < 3


def test_switched_off(plain: PerformanceProfiler) -> None:
    with plain.profile("x"):
        pass
    assert plain.get_line_profile() == []
    assert "enable_line_profiling" in plain.get_line_profile().reason
