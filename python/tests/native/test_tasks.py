"""Regions of tasks that take turns on one thread."""

from __future__ import annotations

import asyncio
import time

import pytest

import stepscope
from stepscope import record_function


async def task(name, first):
    with record_function(f"outer_{name}"):
        await asyncio.sleep(first)
        with record_function(f"inner_{name}"):
            await asyncio.sleep(0.04)


@pytest.fixture
def prof(monkeypatch):
    from stepscope.profiler import torch_engine

    monkeypatch.setattr(torch_engine, "torch_if_imported", lambda: None)
    return stepscope.profile(monitor=False)


def parents(prof):
    return {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}


@pytest.mark.clock
def test_a_region_lies_in_the_regions_of_its_own_task(prof):
    async def main():
        await asyncio.gather(task("a", 0.01), task("b", 0.02))

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
    own_ms = {event.key: event.self_cpu_time_total / 1e3 for event in prof.key_averages()}
    assert 9 < own_ms["outer_a"] < 30 and 19 < own_ms["outer_b"] < 40
    assert 39 < own_ms["inner_a"] < 60 and 39 < own_ms["inner_b"] < 60


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
