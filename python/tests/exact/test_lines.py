"""Lines: hits worked out by hand, times by the clock; the peer's own numbers are compared where it is installed."""

from __future__ import annotations

import asyncio
import functools
import inspect
import io
import linecache
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import stepscope

sys.path.insert(0, str(Path(__file__).parent))
import corpus


@pytest.fixture(autouse=True)
def _no_other_tracer() -> None:
    if sys.gettrace() is not None:
        pytest.skip("a debugger or coverage has the tracer")


def hits_of(timed: stepscope.lines, function: Any) -> dict[str, int]:
    """Hits by the text of the line."""
    source, first = inspect.getsourcelines(function)
    for one in timed.timings:
        if (one.file, one.first_line) == (function.__code__.co_filename, function.__code__.co_firstlineno):
            return {source[line - first].strip(): hits for line, hits, _ in one.lines}
    raise AssertionError(f"{function} was not timed")


def test_hits_worked_out_by_hand() -> None:
    def work(n: int) -> int:
        total = 0
        for i in range(n):
            if i % 2:
                total += 1
            else:
                total -= 1
        return total

    with stepscope.lines(work) as timed:
        work(5)
        work(2)
    assert hits_of(timed, work) == {
        "total = 0": 2,
        "for i in range(n):": 6 + 3,
        "if i % 2:": 7,
        "total += 1": 3,
        "total -= 1": 4,
        "return total": 2,
    }
    work(3)
    assert hits_of(timed, work)["total = 0"] == 2


def test_a_function_on_one_line() -> None:
    """line_profiler 5.1 shows no hit here on Python 3.13."""
    scope: dict[str, Any] = {}
    exec(compile("def one(): return 5\n", "<made up>", "exec"), scope)
    with stepscope.lines(scope["one"]) as timed:
        scope["one"]()
        scope["one"]()
    assert [(line, hits) for line, hits, _ in timed.timings[0].lines] == [(1, 2)]


def test_generators_coroutines_exceptions_and_recursion() -> None:
    with stepscope.lines(*corpus.LINES) as timed:
        corpus.numbers(2)  # never begun
        assert list(corpus.numbers(3)) == [0, 1, 2]
        asyncio.run(corpus.tree())
        with pytest.raises(ValueError):
            corpus.fails(3)
        corpus.fib(4)
    assert hits_of(timed, corpus.numbers) == {"for i in range(n):": 4, "try:": 3, "yield i": 3}
    assert hits_of(timed, corpus.leaf) == {"await asyncio.sleep(0)": 5, "return x": 5}
    assert hits_of(timed, corpus.fails) == {"if n == 0:": 4, 'raise ValueError("x")': 1, "fails(n - 1)": 3}
    assert list(hits_of(timed, corpus.fib).values()) == [9]


def test_times_are_those_of_a_clock() -> None:
    """Each time lies between what was slept and what a clock around it leaves, however busy the machine is."""

    def called() -> None:
        time.sleep(0.05)

    def work() -> None:
        called()
        time.sleep(0.03)

    def down(n: int) -> None:
        time.sleep(0.02)
        if n:
            down(n - 1)

    def pauses() -> Any:
        time.sleep(0.02)
        yield
        time.sleep(0.02)

    with stepscope.lines(work, down, pauses) as timed:
        clock = [time.perf_counter()]
        work()
        clock.append(time.perf_counter())
        down(2)
        clock.append(time.perf_counter())
        elsewhere_s = 0.0
        for _ in pauses():
            began = time.perf_counter()
            time.sleep(0.1)  # not the generator's time
            elsewhere_s += time.perf_counter() - began
        clock.append(time.perf_counter())
    work_s, down_s, pauses_s = (after - before for before, after in zip(clock, clock[1:]))
    times = {one.name.rpartition(".")[2]: [ns / 1e9 for _, _, ns in one.lines] for one in timed.timings}
    assert 0.05 <= times["work"][0] <= work_s - 0.03 and 0.03 <= times["work"][1] <= work_s - 0.05
    # The lines of a recursive function add up to the time spent in it.
    assert 0.06 <= times["down"][0] and sum(times["down"]) <= down_s
    first, given, last = times["pauses"]
    assert min(first, last) >= 0.02 and first + given + last <= pauses_s - elsewhere_s


def test_all_threads_are_timed() -> None:
    def work() -> None:
        sum([1, 2])

    with stepscope.lines(work) as timed:
        for _ in range(30):
            threads = [threading.Thread(target=work) for _ in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        work()
    assert hits_of(timed, work) == {"sum([1, 2])": 301}


def test_what_is_inside_one_another_is_counted_for_both() -> None:
    def work() -> None:
        sum([1, 2])

    def other() -> None:
        sum([3])

    outer, inner = stepscope.lines(work, other), stepscope.lines(work)
    with outer:
        work()
        with inner:
            work()
            other()
        work()
    with inner:
        work()
    assert (hits_of(outer, work), hits_of(outer, other)) == ({"sum([1, 2])": 3}, {"sum([3])": 1})
    assert hits_of(inner, work) == {"sum([1, 2])": 2}
    assert len(inner.timings) == 1


def test_functions_in_every_shape() -> None:
    def decorator(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any) -> Any:
            return function(*args)

        return wrapped

    @decorator
    def decorated(x: int) -> int:
        return x

    thing = corpus.Thing()
    timed = stepscope.lines(decorated, thing.made, corpus.Thing.text, functools.partial(corpus.fib, 3), corpus.Stack)
    names = {one.name.rpartition(".<locals>.")[2] for one in timed.timings}
    assert names == {"decorated", "Thing.made", "Thing.text", "fib", "Stack.push"}
    for wrong in (len, 5, "text", corpus):
        with pytest.raises(stepscope.StepscopeError, match="has no lines of Python"):
            stepscope.lines(wrong)


def test_decorators() -> None:
    timed = stepscope.lines()

    @timed
    def one(x: int) -> int:
        return x + 1

    @timed
    def numbers(n: int) -> Any:
        yield from range(n)

    assert one(1) == 2 and one(2) == 3 and list(numbers(3)) == [0, 1, 2]
    found = {one.name.rpartition(".")[2]: sum(hits for _, hits, _ in one.lines) for one in timed.timings}
    assert found == {"one": 2, "numbers": 1}


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="sys.monitoring goes beside other tools")
def test_before_3_12_another_tracer_is_left_alone() -> None:
    def theirs(*_args: object) -> None:
        return None

    sys.settrace(theirs)
    try:
        with pytest.raises(stepscope.StepscopeError, match="another tool traces this thread"):
            stepscope.lines(corpus.fib).start()
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(None)
    with stepscope.lines(corpus.fib) as timed:
        corpus.fib(1)
        sys.settrace(theirs)
    assert sys.gettrace() is theirs
    sys.settrace(None)
    assert timed.displaced


def test_nothing_is_left_behind() -> None:
    before = threading._trace_hook  # type: ignore[attr-defined]
    with stepscope.lines(corpus.fib):
        pass
    assert sys.gettrace() is None and threading._trace_hook is before  # type: ignore[attr-defined]


def test_the_table(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text("def f(n):\n    a = n\n\n    return a\n")
    scope: dict[str, Any] = {}
    exec(compile((tmp_path / "made.py").read_text(), str(tmp_path / "made.py"), "exec"), scope)
    timed = stepscope.lines(scope["f"])
    with timed:
        scope["f"](1)
    function = timed.timings[0]
    function.lines[:] = [(2, 12, 30_000), (4, 1234567890, 10_000)]
    from stepscope._exact.line_text import write_text

    out = io.StringIO()
    write_text([function], out, 1e-6)
    assert out.getvalue() == (
        "Timer unit: 1e-06 s\n\n"
        "Total time: 4e-05 s\n"
        f"File: {tmp_path}/made.py\n"
        "Function: f at line 1\n\n"
        "Line #        Hits         Time  Per Hit   % Time  Line Contents\n"
        "================================================================\n"
        "     1                                             def f(n):\n"
        "     2          12         30.0      2.5     75.0      a = n\n"
        "     3                                             \n"
        "     4 1.23457e+09         10.0      0.0     25.0      return a\n\n"
    )
    # Without the file there is no text; however far away its lines are.
    (tmp_path / "made.py").unlink()
    linecache.clearcache()
    function.lines.append((4_000_000_000, 1, 1))
    out = io.StringIO()
    write_text([function], out, 1e-6)
    assert "no longer exists" in out.getvalue() and len(out.getvalue().splitlines()) == 13


def test_a_file_without_line_profiler(tmp_path: Path) -> None:
    with stepscope.lines(corpus.fib) as timed:
        corpus.fib(2)
    timed.save(tmp_path / "x.lprof")

    class Stats:
        timings: dict[Any, Any]
        unit: float

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            assert (module, name) == ("line_profiler.line_profiler", "LineStats")
            return Stats

    with open(tmp_path / "x.lprof", "rb") as file:
        read = Reader(file).load()
    key = (corpus.__file__, corpus.fib.__code__.co_firstlineno, "fib")
    assert read.timings == {key: timed.timings[0].lines} and read.unit == 1e-9
    with pytest.raises(stepscope.StepscopeError, match="cannot write the lines"):
        timed.save(tmp_path / "none" / "x.lprof")


def test_marked_functions_are_printed_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import stepscope\n"
        "@stepscope.profile_lines\n"
        "def f(n):\n"
        "    return n\n"
        "print(f(1) + f(2))\n"
    )  # fmt: skip
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "3\n" and done.returncode == 0
    assert [line.split()[:2] for line in done.stderr.splitlines() if "return n" in line] == [["4", "2"]]


def test_hits_are_those_of_line_profiler(tmp_path: Path) -> None:
    peer = pytest.importorskip("line_profiler", reason="line_profiler is not installed")
    corpus.run_lines()
    with stepscope.lines(*corpus.LINES) as timed:
        corpus.run_lines()
    theirs = peer.LineProfiler()
    for function in _functions():
        theirs.add_function(function)
    theirs.enable()
    corpus.run_lines()
    theirs.disable()
    other = {
        (file, first, line): hits
        for (file, first, _), rows in theirs.get_stats().timings.items()
        for line, hits, _ in rows
        if hits
    }
    mine = {(one.file, one.first_line, line): hits for one in timed.timings for line, hits, _ in one.lines}
    if sys.version_info >= (3, 13):
        # A generator that is closed while it waits for another one is told to be on its line again. line_profiler never
        # hears that this ends, so it does not count it.
        first = corpus.delegated.__code__.co_firstlineno
        assert mine[corpus.__file__, first, first + 1] == other[corpus.__file__, first, first + 1] + 1
        mine[corpus.__file__, first, first + 1] -= 1
    assert mine == other

    timed.save(tmp_path / "x.lprof")
    shown = subprocess.run(
        [sys.executable, "-m", "line_profiler", str(tmp_path / "x.lprof")], capture_output=True, text=True, check=True
    )
    out = io.StringIO()
    timed.print_stats(out)
    assert shown.stdout == out.getvalue()


def _functions() -> list[Any]:
    """The functions of ``corpus.LINES``, methods among them."""
    found = []
    for one in corpus.LINES:
        for value in vars(one).values() if inspect.isclass(one) else [one]:
            value = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            if inspect.isfunction(value):
                found.append(value)
    return found
