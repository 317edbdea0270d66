"""Regions that PyTorch's profiler loses or mixes up: those of other threads, and of tasks that take turns."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import stepscope as profiler  # noqa: E402
from stepscope import StepscopeWarning, record_function  # noqa: E402

CPU = profiler.ProfilerActivity.CPU


def in_threads(number):
    def work(place):
        with record_function(f"worker {place}"):
            with record_function("part"):
                time.sleep(0.01)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_regions_of_other_threads_are_there(tmp_path, slices):
    with profiler.profile(activities=[CPU], monitor=False) as prof:
        with record_function("main"):
            torch.ones(8) + 1
        in_threads(3)
    rows = {row.key: row for row in prof.key_averages()}
    assert {"main", "aten::add", "worker 0", "worker 1", "worker 2", "part"} <= set(rows)
    assert rows["part"].count == 3 and rows["part"].cpu_time_total >= 30_000
    assert rows["worker 1"].self_cpu_time_total == pytest.approx(
        rows["worker 1"].cpu_time_total
        - next(
            event for event in prof.events() if event.cpu_parent and event.cpu_parent.name == "worker 1"
        ).cpu_time_total
    )
    assert "worker 2" in prof.key_averages().table(sort_by="cpu_time_total")
    prof.export_chrome_trace(tmp_path / "t.json")
    found = slices(tmp_path / "t.json")
    threads = {event["name"]: event["tid"] for event in found}
    assert len({threads[f"worker {place}"] for place in range(3)} | {threads["main"]}) == 4
    assert [event["name"] for event in found].count("main") == 1


def test_times_of_both_kinds_count_from_the_same_moment():
    with profiler.profile(activities=[CPU], monitor=False) as prof:
        with record_function("before"):
            pass
        in_threads(1)
        with record_function("after"):
            pass
    at = {event.name: event.time_range.start for event in prof.events()}
    assert at["before"] < at["worker 0"] < at["after"]


async def task(name, first, took_us):
    with record_function(f"outer_{name}"):
        began = time.perf_counter()
        await asyncio.sleep(first)
        with record_function(f"inner_{name}"):
            await asyncio.sleep(0.03)
        took_us[name] = (time.perf_counter() - began) * 1e6


def test_tasks_that_take_turns_keep_their_own():
    took_us = {}

    async def main():
        await asyncio.gather(task("a", 0.01, took_us), task("b", 0.02, took_us))

    with profiler.profile(activities=[CPU], monitor=False) as prof:
        asyncio.run(main())
    parents = {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}
    assert {name: parents[name] for name in ("outer_a", "inner_a", "outer_b", "inner_b")} == {
        "outer_a": None,
        "inner_a": "outer_a",
        "outer_b": None,
        "inner_b": "outer_b",
    }
    rows = {row.key: row for row in prof.key_averages()}
    for name in "ab":
        outer, inner = rows[f"outer_{name}"], rows[f"inner_{name}"]
        # As long as the clock inside says; only its own task's inner region takes time from it.
        assert outer.cpu_time_total >= took_us[name] - 10
        assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total, abs=1)


def test_a_region_that_awaits_nothing_stands_above_its_operators(tmp_path, slices):
    async def handle():
        await asyncio.sleep(0)
        with record_function("infer"):
            torch.ones(8).exp()

    with profiler.profile(activities=[CPU], monitor=False) as prof:
        asyncio.run(handle())
    parents = {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}
    assert parents["aten::exp"] == "infer"


def test_an_async_generator_is_measured():
    took_us = []

    @record_function("stream")
    async def stream():
        for value in range(3):
            await asyncio.sleep(0.01)
            yield value

    async def main():
        began = time.perf_counter()
        async for _ in stream():
            paused = time.perf_counter()
            time.sleep(0.02)
            began += time.perf_counter() - paused
        took_us.append((time.perf_counter() - began) * 1e6)

    with profiler.profile(activities=[CPU], monitor=False) as prof:
        asyncio.run(main())
    (row,) = [row for row in prof.key_averages() if row.key == "stream"]
    # No more than a clock around it says, which stands still where the values are used.
    assert row.count == 4 and 30_000 <= row.cpu_time_total <= 1.01 * took_us[0]


def test_regions_that_cut_each_other_in_pytorchs_trace_are_told():
    @contextlib.contextmanager
    def region(name):
        with record_function(name):
            yield

    with pytest.warns(StepscopeWarning, match="2 regions ended while one was open"):
        with profiler.profile(activities=[CPU], monitor=False):
            first, second = region("first"), region("second")
            first.__enter__()
            second.__enter__()
            first.__exit__(None, None, None)
            second.__exit__(None, None, None)
    with profiler.profile(activities=[CPU], monitor=False) as prof:
        with region("in order"):
            torch.ones(8).exp()
    assert {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}[
        "aten::exp"
    ] == "in order"
