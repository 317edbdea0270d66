"""Regions of tasks that take turns on one thread."""

from __future__ import annotations

import asyncio
import time

import pytest

import stepscope
from stepscope import record_function


async def task(name, first, took_ms=None):
    """Says how long its parts took by a clock inside each, if asked."""
    took_ms = {} if took_ms is None else took_ms
    with record_function(f"outer_{name}"):
        began = time.perf_counter()
        await asyncio.sleep(first)
        with record_function(f"inner_{name}"):
            inner_began = time.perf_counter()
            await asyncio.sleep(0.04)
            took_ms[f"inner_{name}"] = (time.perf_counter() - inner_began) * 1e3
        took_ms[f"outer_{name}"] = (time.perf_counter() - began) * 1e3


@pytest.fixture
def prof(monkeypatch):
    from stepscope.profiler import torch_engine

    monkeypatch.setattr(torch_engine, "torch_if_imported", lambda: None)
    return stepscope.profile(monitor=False)


def parents(prof):
    return {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}


def test_a_region_lies_in_the_regions_of_its_own_task(prof):
    took_ms = {}

    async def main():
        await asyncio.gather(task("a", 0.01, took_ms), task("b", 0.02, took_ms))

    with prof:
        with record_function("all"):
            asyncio.run(main())
    assert parents(prof) == {
        "all": None,
        "outer_a": "all",
        "inner_a": "outer_a",
        "outer_b": None,
        "inner_b": "outer_b",
    }
    rows = {event.key: event for event in prof.key_averages()}
    for name in "ab":
        outer, inner = rows[f"outer_{name}"], rows[f"inner_{name}"]
        # As long as the clock inside says, and no shorter for what the other task did meanwhile.
        assert outer.cpu_time_total / 1e3 >= took_ms[f"outer_{name}"] - 0.01
        assert inner.self_cpu_time_total / 1e3 >= took_ms[f"inner_{name}"] - 0.01
        # The inner region takes its time from its own task's outer one, and no one else does.
        assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total, abs=1)


def test_one_task_after_another_is_on_the_threads_own_lane(prof):
    async def main():
        for name in "abc":
            await task(name, 0)

    with prof:
        asyncio.run(main())
    assert {type(event.thread) for event in prof.events()} == {int}
    assert parents(prof)["inner_c"] == "outer_c"


def test_a_callback_is_not_part_of_the_task_that_waits(prof):
    async def main():
        asyncio.get_running_loop().call_later(0.01, callback)
        with record_function("waits"):
            await asyncio.sleep(0.03)

    def callback():
        with record_function("callback"):
            pass

    with prof:
        asyncio.run(main())
    assert parents(prof) == {"waits": None, "callback": None}


def test_a_value_given_in_the_middle_of_a_region(prof):
    async def values():
        with record_function("gives"):
            yield 1
            time.sleep(0.001)

    async def main():
        running = values()
        with record_function("takes"):
            await running.__anext__()
        with record_function("uses"):
            pass
        async for _ in running:
            pass

    with prof:
        asyncio.run(main())
    spans = {event.name: (event.thread, event.time_range) for event in prof.events()}
    gives, takes = spans["gives"], spans["takes"]
    assert gives[1].start < takes[1].end < gives[1].end, "they overlap, and neither lies in the other"
    assert gives[0] != takes[0]
    assert all(event.self_cpu_time_total >= 0 for event in prof.events())
