"""Timelines of calls: the calls of cProfile, each with its beginning and end."""

from __future__ import annotations

import asyncio
import cProfile
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

import pytest

import stepscope

sys.path.insert(0, str(Path(__file__).parent))
import corpus
from counts import PARTS, comparable, counts_of_cprofile

PACKAGE_PARENT = str(Path(stepscope.__file__).resolve().parent.parent)


@pytest.fixture(autouse=True)
def _no_other_profiler() -> Any:
    if sys.getprofile() is not None:
        pytest.skip("another tool has the profile function")
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def recorded(path: Path, work: Callable[[], Any], **options: Any) -> stepscope.Trace:
    with stepscope.calls(path / "x.calls", **options) as timeline:
        work()
    assert timeline.bytes == (path / "x.calls").stat().st_size
    return timeline.open()


def names(trace: stepscope.Trace) -> Counter[str]:
    return Counter({row["name"]: row["calls"] for row in trace.functions()})


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_calls_are_those_of_cprofile(part: Callable[[], Any], tmp_path: Path) -> None:
    part()
    part()
    trace = recorded(tmp_path, part)
    theirs = cProfile.Profile()
    theirs.enable()
    part()
    theirs.disable()
    mine: Counter[tuple[str, int]] = Counter()
    for row in trace.functions():
        place = (row["file"], row["line"]) if row["file"] else (row["name"].strip("<>"), 0)
        mine[place] += row["calls"]
    other: Counter[tuple[str, int]] = Counter()
    for (file, line, name), (calls, _, _) in comparable(counts_of_cprofile(theirs)).items():
        other[(file, line) if file != "~" else (name.strip("<>"), 0)] += calls
    python = {place: calls for place, calls in other.items() if place[1]}
    assert {place: calls for place, calls in mine.items() if place[1]} == python
    assert sum(mine.values()) == sum(other.values())


def test_calls_worked_out_by_hand(tmp_path: Path) -> None:
    def work() -> None:
        corpus.fib(5)
        corpus.even(4)

    trace = recorded(tmp_path, work)
    found = {row["name"]: (row["calls"], row["primitive_calls"]) for row in trace.functions()}
    where = test_calls_worked_out_by_hand.__qualname__
    outer = f"{where}.<locals>.work" if sys.version_info >= (3, 11) else "work"
    # fib(n) makes 2 * fib(n + 1) - 1 calls: 2 * 8 - 1. even(4) calls odd(3), even(2), odd(1), even(0).
    assert found == {outer: (1, 1), "fib": (15, 1), "even": (3, 1), "odd": (2, 1)}


def test_times_are_those_of_a_clock(tmp_path: Path) -> None:
    took_ns: list[int] = []

    def inner() -> None:
        time.sleep(0.05)

    def work() -> None:
        began = time.perf_counter_ns()
        for _ in range(3):
            inner()
        took_ns.append(time.perf_counter_ns() - began)

    trace = recorded(tmp_path, work)
    rows = {row["name"].split(".")[-1].strip("<>"): row for row in trace.functions()}
    # Between what was slept and what a clock around it says, however busy the machine is.
    assert 150e6 <= rows["inner"]["total_ns"] <= took_ns[0]
    assert rows["inner"]["self_ns"] == rows["inner"]["total_ns"] - rows["sleep"]["total_ns"]


def test_exceptions_end_calls(tmp_path: Path) -> None:
    def work() -> None:
        for _ in range(10):
            with pytest.raises(ValueError, match="x"):
                corpus.fails(3)
        corpus.fib(1)

    trace = recorded(tmp_path, work, include=["fails", "fib", "work"])
    found = {row["name"].split(".")[-1]: row for row in trace.functions()}
    assert found["fails"]["calls"] == 40
    # fib is called by work, not by something that was never left.
    assert [row["caller"].split(".")[-1] for row in trace.functions(callers="fib")] == ["work"]


def test_generators_and_tasks_run_in_pieces(tmp_path: Path) -> None:
    async def one(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*[one(number) for number in range(5)])

    trace = recorded(tmp_path, lambda: asyncio.run(main()), include=["one", "numbers"])
    # Each begins, waits, and goes on once.
    assert list(names(trace).values()) == [10]
    trace = recorded(tmp_path, lambda: list(corpus.numbers(4)), include=["numbers"])
    assert names(trace)["numbers"] == 5


def test_threads_are_lanes_with_names(tmp_path: Path) -> None:
    def one() -> None:
        for _ in range(50):
            corpus.fib(6)

    def work() -> None:
        threads = [threading.Thread(target=one, name=f"worker {number}") for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = recorded(tmp_path, work, include=["fib", "one"])
    assert names(trace)["fib"] == 25 * 50 * 8
    text = subprocess.run(
        [sys.executable, "-m", "stepscope", "stacks", "--top", "0", str(tmp_path / "x.calls")],
        env={**os.environ, "PYTHONPATH": PACKAGE_PARENT},
        capture_output=True,
        text=True,
    )
    assert text.returncode == 0
    data = (tmp_path / "x.calls").read_bytes()
    assert all(f"worker {number}".encode() in data for number in range(8))


def test_a_thousand_threads(tmp_path: Path) -> None:
    def work() -> None:
        for _ in range(20):
            threads = [threading.Thread(target=corpus.even, args=(3,)) for _ in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    assert names(recorded(tmp_path, work, include=["even", "odd"])) == {"even": 2000, "odd": 2000}


def test_deep_recursion(tmp_path: Path) -> None:
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    try:
        trace = recorded(tmp_path, lambda: down(5000), include=["down"])
    finally:
        sys.setrecursionlimit(limit)
    assert sum(names(trace).values()) == 5001


def test_short_calls_can_be_left_out(tmp_path: Path) -> None:
    def long() -> None:
        for _ in range(100):
            corpus.fib(1)
        time.sleep(0.02)

    trace = recorded(tmp_path, long, min_duration=0.005)
    assert {name.split(".")[-1].strip("<>") for name in names(trace)} == {"long", "sleep"}
    row = next(row for row in trace.functions() if row["name"].endswith("long"))
    assert row["total_ns"] >= 20e6


def test_deep_calls_can_be_left_out(tmp_path: Path) -> None:
    trace = recorded(tmp_path, lambda: corpus.fib(8), max_depth=3, builtins=False)
    # The lambda, fib(8), and fib(7) and fib(6).
    assert sum(names(trace).values()) == 4


def test_what_recording_costs_is_measured_and_no_advice(tmp_path: Path) -> None:
    trace = recorded(tmp_path, lambda: corpus.fib(20))
    # Every call was recorded on purpose; with the costs of PyTorch's recorder this would be nearly all of the time.
    assert "profiler_overhead" not in str(trace.ask("findings"))
    cost = (tmp_path / "x.calls").read_bytes()[24:32]
    assert 1 <= int.from_bytes(cost, "little") < 100_000


def test_functions_can_be_chosen(tmp_path: Path) -> None:
    def work() -> None:
        corpus.objects()
        corpus.fib(3)

    assert set(names(recorded(tmp_path, work, include=["corpus.py:fib"]))) == {"fib"}
    without = names(recorded(tmp_path, work, exclude=["*"]))
    assert not without
    appended: list[int] = []
    assert names(recorded(tmp_path, lambda: appended.append(1), include="list.append")).total() == 1
    assert not any("fib" in name for name in names(recorded(tmp_path, work, exclude="fib")))


def test_recording_ends_at_a_limit_and_the_program_goes_on(tmp_path: Path) -> None:
    timeline = stepscope.calls(tmp_path / "x.calls", max_calls=100)
    with timeline:
        assert corpus.fib(12) == 144
        corpus.fib(12)
    assert timeline.calls == 100
    assert timeline.ended_early == "100 calls were recorded (--max-calls)"
    trace = timeline.open()
    assert sum(names(trace).values()) == 100
    with stepscope.calls(tmp_path / "y.calls") as again:
        corpus.fib(3)
    assert again.ended_early is None and again.calls >= 5


def test_all_runs_of_a_decorated_function_are_in_the_file(tmp_path: Path) -> None:
    timeline = stepscope.calls(tmp_path / "x.calls", include=["fib"])
    decorated = timeline(lambda n: corpus.fib(n))
    decorated(3)
    corpus.fib(9)
    decorated(3)
    assert names(timeline.open()) == {"fib": 10}
    assert timeline.calls == 10


def test_a_path_that_cannot_be_written_is_an_error_that_teaches(tmp_path: Path) -> None:
    with pytest.raises(stepscope.StepscopeError, match="cannot write the calls") as caught:
        stepscope.calls(tmp_path / "none" / "x.calls").start()
    assert "does not exist" in str(caught.value)
    with pytest.raises(stepscope.StepscopeError, match="max_calls"):
        stepscope.calls(tmp_path / "x", max_calls=0)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring goes beside other tools")
def test_where_another_tool_is_there_links_and_devices_stay(tmp_path: Path) -> None:
    link = tmp_path / "link.calls"
    link.symlink_to(tmp_path / "elsewhere.calls")
    sys.setprofile(lambda *_args: None)
    try:
        with pytest.raises(stepscope.StepscopeError, match="another tool"):
            stepscope.calls(link).start()
    finally:
        sys.setprofile(None)
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_is_full_ends_the_recording(tmp_path: Path) -> None:
    with pytest.raises(stepscope.StepscopeError, match="No space left"):
        with stepscope.calls("/dev/full"):
            corpus.fib(5)
    assert corpus.fib(5) == 5


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_program_that_is_killed_leaves_its_calls(tmp_path: Path) -> None:
    program = (
        "import stepscope, sys, time\n"
        "def work(n): return n\n"
        "timeline = stepscope.calls(sys.argv[1])\ntimeline.start()\n"
        "for n in range(50_000): work(n)\n"
        "print('ready', flush=True)\n"
        "while True:\n    time.sleep(0.01)\n    work(1)\n"
    )
    path = tmp_path / "x.calls"
    environment = {**os.environ, "PYTHONPATH": PACKAGE_PARENT}
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    # No word waits longer than about a second, where the machine lets its writer run.
    deadline = time.monotonic() + 60
    while names(stepscope.open(path))["work"] < 50_000 and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert names(stepscope.open(path))["work"] >= 50_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_forked_child_does_not_write_into_the_file(tmp_path: Path) -> None:
    with stepscope.calls(tmp_path / "x.calls", include=["fib"]) as timeline:
        corpus.fib(4)
        child = os.fork()
        if child == 0:
            corpus.fib(20)
            os._exit(0)
        os.waitpid(child, 0)
        corpus.fib(4)
    assert names(timeline.open()) == {"fib": 18}
