"""Calls: the counts of cProfile, on every Python; files and tables that pstats knows."""

from __future__ import annotations

import cProfile
import gc
import io
import pstats
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest

import stepscope

sys.path.insert(0, str(Path(__file__).parent))
import corpus
from counts import PARTS, check

MONITORING = hasattr(sys, "monitoring")


@pytest.fixture(autouse=True)
def _no_other_profiler() -> Any:
    if sys.getprofile() is not None:
        pytest.skip("another tool has the profile function")
    gc.collect()
    gc.disable()  # finalizers are calls too, and come when they like
    yield
    gc.enable()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_counts_are_those_of_cprofile(part: Callable[[], Any]) -> None:
    check(part)


def test_counts_worked_out_by_hand() -> None:
    with stepscope.functions() as calls:
        corpus.fib(5)
        corpus.even(4)
    found = {label[2]: (row[1], row[0]) for label, row in calls.stats.items()}
    # fib(n) makes 2 * fib(n + 1) - 1 calls: 2 * 8 - 1. even(4) calls odd(3), even(2), odd(1), even(0).
    assert found == {"fib": (15, 1), "even": (3, 1), "odd": (2, 1)}
    even = calls.stats[corpus.__file__, corpus.even.__code__.co_firstlineno, "even"]
    assert [row[:2] for row in even[4].values()] == [(2, 1)]


def test_a_c_method_of_a_wrong_object_is_the_programs_own_error() -> None:
    """cProfile of 3.12 and 3.13 turns this TypeError into a SystemError."""
    with stepscope.functions() as calls:
        with pytest.raises(TypeError, match="append"):
            list.append(5, 6)  # type: ignore[arg-type]
    assert calls.calls > 0


def test_builtins_can_be_left_out() -> None:
    with stepscope.functions(builtins=False) as calls:
        corpus.objects()
    assert calls.calls > 5
    assert all(file != "~" for file, _, _ in calls.stats)


def test_times_are_those_of_a_clock() -> None:
    """Each time lies between what was slept and what a clock around the call says, however busy the machine is."""
    took_s: dict[str, float] = {}

    def inner() -> None:
        time.sleep(0.05)

    def outer() -> None:
        began = time.perf_counter()
        inner()
        inner()
        middle = time.perf_counter()
        time.sleep(0.02)
        took_s.update(inner=middle - began, sleep=time.perf_counter() - middle)

    with stepscope.functions() as calls:
        began = time.perf_counter()
        outer()
        took_s["outer"] = time.perf_counter() - began
    rows = {label[2]: row for label, row in calls.stats.items()}
    assert 0.12 <= rows["outer"][3] <= took_s["outer"]
    assert 0.10 <= rows["inner"][3] <= took_s["inner"]
    sleep = rows["<built-in method time.sleep>"]
    assert 0.12 <= sleep[2] == sleep[3] <= took_s["inner"] + took_s["sleep"]
    by = {label[2]: row for label, row in sleep[4].items()}
    assert 0.02 <= by["outer"][2] <= took_s["sleep"]
    # A function's own time is without that of what it calls.
    assert rows["inner"][2] == pytest.approx(rows["inner"][3] - by["inner"][3], abs=1e-6)
    assert rows["outer"][2] <= rows["outer"][3] - rows["inner"][3] - by["outer"][3] + 1e-6


@pytest.mark.clock
def test_times_are_like_those_of_cprofile() -> None:
    def burn(n: int) -> int:
        return sum(i * i for i in range(n))

    def many() -> None:
        for _ in range(20):
            burn(20_000)

    with stepscope.functions(builtins=False) as calls:
        many()
    theirs = cProfile.Profile(builtins=False)
    theirs.enable()
    many()
    theirs.disable()
    mine = {label[2]: row for label, row in calls.stats.items()}
    other = {label[2]: row for label, row in pstats.Stats(theirs).stats.items()}  # type: ignore[attr-defined]
    # Both pay for 400,000 events of a generator; cProfile pays more.
    assert 0.2 < mine["many"][3] / other["many"][3] < 1.5
    assert mine["<genexpr>"][2] / mine["many"][3] == pytest.approx(other["<genexpr>"][2] / other["many"][3], abs=0.3)


def test_threads_have_stacks_of_their_own() -> None:
    barrier = threading.Barrier(8)

    def one() -> None:
        barrier.wait()
        for _ in range(50):
            corpus.fib(6)

    with stepscope.functions() as calls:
        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = {label[2]: row for label, row in calls.stats.items()}
    # 25 calls of fib(6), one of them primitive, 50 times in 8 threads. No thread is seen as the caller of another.
    assert rows["fib"][:2] == (50 * 8, 25 * 50 * 8)
    assert {label[2]: row[:2] for label, row in rows["fib"][4].items()} == {
        "one": (50 * 8, 50 * 8),
        # fib(6) calls itself twice, which is primitive as a call of fib by fib.
        "fib": (24 * 50 * 8, 2 * 50 * 8),
    }
    assert rows["one"][:2] == (8, 8)


def test_a_thousand_threads() -> None:
    def one() -> None:
        corpus.even(3)

    with stepscope.functions() as calls:
        for _ in range(20):
            threads = [threading.Thread(target=one) for _ in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    rows = {label[2]: row for label, row in calls.stats.items()}
    assert (rows["one"][1], rows["even"][1], rows["odd"][1]) == (1000, 2000, 2000)


def test_deep_recursion() -> None:
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    before = sys.getrecursionlimit()
    threading.stack_size(256 << 20)
    sys.setrecursionlimit(20_000)
    try:
        with stepscope.functions() as calls:
            thread = threading.Thread(target=down, args=(10_000,))
            thread.start()
            thread.join()
    finally:
        sys.setrecursionlimit(before)
        threading.stack_size(0)
    row = next(row for label, row in calls.stats.items() if label[2] == "down")
    assert row[:2] == (1, 10_001)


def test_recursion_that_is_too_deep_ends_as_without_us() -> None:
    def endless() -> None:
        endless()

    with stepscope.functions() as calls:
        with pytest.raises(RecursionError):
            endless()
    assert next(row for label, row in calls.stats.items() if label[2] == "endless")[1] > 100


def test_the_table_and_the_file_are_those_of_pstats(tmp_path: Path) -> None:
    with stepscope.functions() as calls:
        corpus.fib(10)
        corpus.exceptions()
    out = io.StringIO()
    calls.print_stats(sort="calls", top=3, stream=out)
    lines = out.getvalue().splitlines()
    assert lines[0].split()[1:3] == ["function", "calls"] and "Ordered by: call count" in out.getvalue()
    assert "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)" in lines
    assert any(line.strip().startswith("177/1 ") and line.endswith("(fib)") for line in lines)

    path = tmp_path / "out.prof"
    calls.save(path)
    read = pstats.Stats(str(path))
    assert read.stats == calls.stats  # type: ignore[attr-defined]
    again = io.StringIO()
    pstats.Stats(str(path), stream=again).strip_dirs().sort_stats("calls").print_stats(3)
    # A file's table is headed by its date and name.
    assert again.getvalue().split("\n\n", 1)[1].strip() == out.getvalue().strip()
    assert pstats.Stats(calls).total_calls == calls.calls  # type: ignore[attr-defined]
    read.print_callers()


def test_a_decorated_function_adds_up() -> None:
    calls = stepscope.functions()

    @calls
    def one(n: int) -> int:
        return corpus.fib(n)

    @calls
    async def later() -> int:
        return one(3)

    import asyncio

    assert (one(4), one(4), asyncio.run(later())) == (3, 3, 2)
    found = {label[2]: row[1] for label, row in calls.stats.items()}
    assert (found["one"], found["fib"], found["later"]) == (3, 9 + 9 + 5, 1)
    assert one.__name__ == "one"


def test_what_goes_wrong_is_said(tmp_path: Path) -> None:
    calls = stepscope.functions()
    with calls:
        with pytest.raises(stepscope.StepscopeError, match="still being counted"):
            calls.stats
    with pytest.raises(stepscope.StepscopeError, match="cannot be sorted by 'wrong'"):
        calls.print_stats("wrong")
    with pytest.raises(stepscope.StepscopeError, match="cannot write the calls"):
        calls.save(tmp_path / "none" / "x.prof")
    out = io.StringIO()
    stepscope.functions().print_stats(stream=out)
    assert out.getvalue() == "no calls were counted\n"


@pytest.mark.skipif(MONITORING, reason="sys.monitoring goes beside other tools")
def test_before_3_12_another_profile_function_is_left_alone() -> None:
    def theirs(*_args: object) -> None:
        return None

    sys.setprofile(theirs)
    try:
        with pytest.raises(stepscope.StepscopeError, match="another tool profiles this thread"):
            stepscope.functions().start()
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)
    with stepscope.functions() as calls:
        corpus.fib(3)
        sys.setprofile(theirs)
        corpus.fib(3)
    assert sys.getprofile() is theirs
    sys.setprofile(None)
    assert calls.displaced
    assert {label[2]: row[1] for label, row in calls.stats.items()}["fib"] == 5


@pytest.mark.skipif(not MONITORING, reason="needs sys.monitoring")
def test_from_3_12_on_other_profilers_go_beside_ours() -> None:
    seen = []
    theirs = cProfile.Profile()
    with stepscope.functions() as calls, stepscope.functions() as more:
        theirs.enable()
        sys.setprofile(lambda *args: seen.append(args[1]))
        corpus.fib(3)
        sys.setprofile(None)
        theirs.disable()
    for found in (calls, more):
        assert {label[2]: row[1] for label, row in found.stats.items()}["fib"] == 5
        assert not found.displaced
    assert "call" in seen
    assert pstats.Stats(theirs).stats[corpus.__file__, corpus.fib.__code__.co_firstlineno, "fib"][1] == 5  # type: ignore[attr-defined]


@pytest.mark.skipif(not MONITORING, reason="needs sys.monitoring")
def test_no_place_among_the_tools_is_kept() -> None:
    monitoring: Any = getattr(sys, "monitoring")
    before = [monitoring.get_tool(place) for place in range(6)]
    with stepscope.functions(), stepscope.lines(corpus.fib):
        corpus.fib(3)
        during = [monitoring.get_tool(place) for place in range(6)]
    assert during.count("stepscope") == 2 and monitoring.get_tool(monitoring.PROFILER_ID) is None
    assert [monitoring.get_tool(place) for place in range(6)] == before
    taken = [place for place in (2, 3, 4) if monitoring.get_tool(place) is None]
    for place in taken:
        monitoring.use_tool_id(place, "theirs")
    try:
        with pytest.raises(stepscope.StepscopeError, match="all places of sys.monitoring are taken"):
            stepscope.functions().start()
    finally:
        for place in taken:
            monitoring.free_tool_id(place)


def test_a_recorder_that_nobody_stops_is_let_go_of() -> None:
    for _ in range(5):
        calls = stepscope.functions()
        calls.start()
        corpus.fib(3)
        del calls
        gc.collect()
        if not MONITORING:
            sys.setprofile(None)
    with stepscope.functions() as calls:
        corpus.fib(3)
    assert {label[2]: row[1] for label, row in calls.stats.items()} == {"fib": 5}


def test_the_overhead_is_measured() -> None:
    with stepscope.functions() as calls:
        corpus.fib(18)
    # A busy machine makes it more, but never so much: that would be a mistake in the unit.
    assert 0 < calls.overhead_s() / calls.calls < 1e-3
