"""The next slow request is looked into: where its thread or task was, and a profile of it."""

from __future__ import annotations

import asyncio
import pathlib
import time

from stepscope import ServiceMonitor
from stepscope.production import read_report


def looked_into(folder: pathlib.Path) -> list[dict]:
    return [one for one in read_report(folder)["exemplars"] if one["stack"] or one["profile"]]


def loads_from_disk(seconds: float) -> None:
    time.sleep(seconds)


def handle(monitor: ServiceMonitor, seconds: float, name: str = "slow") -> None:
    with monitor.request("/predict", id=name) as request, request.region("inference"):
        loads_from_disk(seconds)


def test_the_second_slow_request_has_a_stack(tmp_path: pathlib.Path) -> None:
    # After a fifth of the first one's time others are looked into: 0.2 s, which no quick one takes on a busy machine.
    monitor = ServiceMonitor(tmp_path, sla={"/predict": 0.4})
    for number in range(20):
        handle(monitor, 0.0, f"quick {number}")
    handle(monitor, 1.0, "first")
    handle(monitor, 0.0, "between")
    # Fifty per second are looked into at most.
    time.sleep(0.05)
    handle(monitor, 0.5, "second")
    handle(monitor, 0.5, "third")
    monitor.flush()
    (found,) = looked_into(tmp_path)
    assert found["id"] == "second" and found["latency_ns"] > 500e6
    # Where it was, with the line; whoever called it comes before it.
    frames = [frame.split(" (")[0] for frame in found["stack"]]
    assert frames[-1] == "loads_from_disk" and frames[-2] == "handle"
    assert f"test_slow.py:{loads_from_disk.__code__.co_firstlineno + 1})" in found["stack"][-1]
    # No one looks any more.
    deadline = time.time() + 60
    while monitor._observer._sampler is not None and time.time() < deadline:
        time.sleep(0.05)
    assert monitor._observer._sampler is None


def test_a_task_that_waits_is_seen_where_it_waits(tmp_path: pathlib.Path) -> None:
    monitor = ServiceMonitor(tmp_path, sla={"/predict": 0.4})

    async def asks_the_database(seconds: float) -> None:
        await asyncio.sleep(seconds)

    @monitor.watch("/predict")
    async def answer(seconds: float) -> None:
        await asks_the_database(seconds)

    async def serve() -> None:
        await answer(1.0)
        await asyncio.gather(answer(0.5), *(answer(0.001) for _ in range(5)))

    asyncio.run(serve())
    monitor.flush()
    (found,) = looked_into(tmp_path)
    frames = [frame.split(" (")[0].rsplit(".", 1)[-1] for frame in found["stack"]]
    assert "asks_the_database" in frames and found["latency_ns"] > 500e6


def test_usual_requests_cost_no_look(tmp_path: pathlib.Path) -> None:
    monitor = ServiceMonitor(tmp_path, stacks=False)
    for number in range(20):
        handle(monitor, 0.0, f"quick {number}")
    handle(monitor, 0.1)
    handle(monitor, 0.1)
    monitor.flush()
    assert looked_into(tmp_path) == []
    assert monitor._observer._sampler is None
