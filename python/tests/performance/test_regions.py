"""Regions: nested, repeated, in threads and tasks, as decorators, with exceptions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stepscope import PerformanceProfiler, StepscopeError
from stepscope.performance import is_unknown


def test_a_region_is_timed(plain: PerformanceProfiler) -> None:
    began = time.perf_counter()
    with plain.profile("sleep"):
        time.sleep(0.05)
    took_s = time.perf_counter() - began
    timing = plain.get_metrics().timing
    assert 0.05 <= timing.wall_time_s <= took_s
    assert timing.wall_time_s == timing.total_s == timing.mean_s == timing.min_s == timing.max_s == timing.p50_s
    assert timing.cpu_time_s < timing.wall_time_s


def test_processor_time_is_that_of_all_threads(plain: PerformanceProfiler) -> None:
    def spin(until_s: float) -> None:
        while time.thread_time() < until_s:
            pass

    with plain.profile("spin"):
        threads = [threading.Thread(target=spin, args=(0.1,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert plain.get_metrics().timing.cpu_time_s >= 0.2


def test_own_times_add_up_to_the_whole(plain: PerformanceProfiler, clock: Any) -> None:
    with plain.profile("all"):
        clock.sleep(0.02)
        for _ in range(3):
            with plain.profile("part"):
                clock.sleep(0.01)
                with plain.profile("inner"):
                    clock.work(0.005)
    breakdown = plain.get_timing_breakdown()
    whole = breakdown.total("all")
    assert dict(breakdown) == pytest.approx({"all": 0.02, "part": 0.03, "inner": 0.015})
    assert whole == pytest.approx(0.065)
    assert breakdown["inner"] == breakdown.total("inner")
    assert breakdown.total("part") == pytest.approx(0.045)
    assert plain.get_metrics("all").timing.cpu_time_s == pytest.approx(0.015)
    assert plain.get_timing_breakdown(self_time=False)["all"] == whole
    assert plain.get_metrics("part").count == 3


def test_a_region_inside_one_of_its_name_is_not_counted_twice(plain: PerformanceProfiler, clock: Any) -> None:
    def recurse(depth: int) -> None:
        with plain.profile("recurse"):
            clock.sleep(0.01)
            if depth:
                recurse(depth - 1)

    recurse(3)
    breakdown = plain.get_timing_breakdown()
    assert plain.get_metrics("recurse").count == 4
    assert breakdown.total("recurse") == pytest.approx(0.04)
    assert breakdown["recurse"] == pytest.approx(0.04)


def test_an_exception_goes_through_and_the_region_counts(plain: PerformanceProfiler) -> None:
    with pytest.raises(ZeroDivisionError):
        with plain.profile("fails") as region:
            1 / 0
    with plain.profile("fails"):
        pass
    metrics = plain.get_metrics("fails")
    assert (metrics.count, metrics.failed) == (2, 1)
    assert region.failed


def test_the_last_region_is_the_outermost_that_ended(plain: PerformanceProfiler) -> None:
    with plain.profile("outer"):
        with plain.profile("first"):
            pass
        assert plain.get_metrics().name == "first"
        with plain.profile("second"):
            pass
        assert plain.get_metrics().name == "second"
    assert plain.get_metrics().name == "outer"
    with plain.profile("next"):
        pass
    assert plain.get_metrics().name == "next"


def test_the_metrics_are_of_the_last_occurrence_or_of_all(plain: PerformanceProfiler, clock: Any) -> None:
    for pause in (0.1, 0.01):
        with plain.profile("step", samples=10):
            clock.sleep(pause)
    last, both = plain.get_metrics("step"), plain.get_metrics("step", over="all")
    assert (last.timing.wall_time_s, last.timing.max_s) == pytest.approx((0.01, 0.1))
    assert both.timing.wall_time_s == last.timing.total_s == pytest.approx(0.11)
    assert (last.samples, both.samples) == (10, 20)
    assert both.throughput == pytest.approx(20 / 0.11)


def test_threads_do_not_see_each_other(plain: PerformanceProfiler) -> None:
    barrier = threading.Barrier(4)

    def work(number: int) -> str:
        with plain.profile(f"thread {number}"):
            barrier.wait()
            with plain.profile("inner"):
                barrier.wait()
        barrier.wait()
        return str(plain.get_metrics().name)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [f"thread {n}" for n in range(4)]
    assert plain.get_metrics("inner").count == 4


def test_nothing_is_lost_when_threads_share_a_name(plain: PerformanceProfiler) -> None:
    def work() -> None:
        for _ in range(3000):
            with plain.profile("shared", samples=1):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        plain.get_timing_breakdown()
    for thread in threads:
        thread.join()
    metrics = plain.get_metrics("shared", over="all")
    assert metrics.count == metrics.samples == 12_000


def test_tasks_have_their_own_parents(plain: PerformanceProfiler, clock: Any) -> None:
    async def child(number: int, first: asyncio.Event, second: asyncio.Event) -> str:
        with plain.profile(f"task {number}"):
            await first.wait()
            with plain.profile("inner"):
                await second.wait()
        return str(plain.get_metrics().name)

    async def main() -> list[str]:
        first, second = asyncio.Event(), asyncio.Event()
        with plain.profile("main"):
            clock.sleep(0.01)
            children = [asyncio.ensure_future(child(n, first, second)) for n in range(5)]
            for event in (first, second):
                # All of them wait by then, each inside its region.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                clock.sleep(0.02)
                event.set()
            return list(await asyncio.gather(*children))

    assert asyncio.run(main()) == [f"task {n}" for n in range(5)]
    # Five tasks at once cover the time of main once, not five times.
    breakdown = plain.get_timing_breakdown()
    assert breakdown.total("main") == pytest.approx(0.05) and breakdown["main"] == pytest.approx(0.01)
    assert breakdown.total("task 0") == pytest.approx(0.04) and breakdown["task 0"] == pytest.approx(0.02)


def test_a_task_that_outlives_its_parent(plain: PerformanceProfiler) -> None:
    async def late() -> None:
        await asyncio.sleep(0.02)
        with plain.profile("late"):
            pass

    async def main() -> None:
        with plain.profile("parent"):
            task = asyncio.ensure_future(late())
            await asyncio.sleep(0)
        await task

    asyncio.run(main())
    assert plain.get_metrics("late").count == plain.get_metrics("parent").count == 1


def test_decorators(plain: PerformanceProfiler) -> None:
    @plain.profile("add", samples=2)
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @plain.profile("wait")
    async def wait() -> str:
        await asyncio.sleep(0.01)
        return "done"

    @plain.profile("count")
    def count(most: int) -> Iterator[int]:
        yield from range(most)

    assert add(1, 2) == 3 and add(3, 4) == 7
    assert add.__doc__ == "Adds."
    assert asyncio.run(wait()) == "done"
    assert list(count(3)) == [0, 1, 2]
    assert plain.get_metrics("add", over="all").samples == 4
    assert plain.get_metrics("wait").timing.wall_time_s >= 0.01
    assert plain.get_metrics("count").count == 4


def test_a_generator_pays_for_itself_only(plain: PerformanceProfiler, clock: Any) -> None:
    @plain.profile("load")
    def load() -> Any:
        received = []
        for number in range(3):
            clock.sleep(0.01)
            received.append((yield number))
        return received

    generator = load()
    assert next(generator) == 0
    clock.sleep(0.05)
    assert generator.send("a") == 1
    with pytest.raises(KeyError):
        generator.throw(KeyError("stop"))
    metrics = plain.get_metrics("load")
    assert metrics.timing.total_s == pytest.approx(0.02)
    assert (metrics.count, metrics.failed) == (3, 1)


def test_an_async_generator(plain: PerformanceProfiler) -> None:
    @plain.profile("stream")
    async def stream() -> Any:
        for number in range(2):
            yield number

    async def main() -> list[int]:
        return [number async for number in stream()]

    assert asyncio.run(main()) == [0, 1]
    assert (plain.get_metrics("stream").count, plain.get_metrics("stream").failed) == (3, 0)


def test_a_function_without_a_name(plain: PerformanceProfiler) -> None:
    @plain.profile
    def square(n: int) -> int:
        return n * n

    assert square(3) == 9
    assert plain.get_metrics().name.endswith("square")


def test_samples_and_items(plain: PerformanceProfiler) -> None:
    with plain.profile("work", items=100) as region:
        region.add_samples(30)
        region.add_samples(2)
        region.add_items(28)
        region.add_flops(1e6)
        time.sleep(0.01)
    metrics = region.metrics()
    assert (metrics.samples, metrics.items, metrics.compute.estimated_flops) == (32, 128, 1_000_000)
    assert metrics.throughput == pytest.approx(32 / metrics.timing.wall_time_s)
    assert metrics.items_per_second == pytest.approx(128 / metrics.timing.wall_time_s)


def test_throughput_is_unknown_without_samples(plain: PerformanceProfiler) -> None:
    with plain.profile("work"):
        pass
    metrics = plain.get_metrics()
    assert is_unknown(metrics.throughput)
    assert "add_samples" in metrics.missing["throughput"]
    assert f"{metrics.throughput} samples/s" == "unknown samples/s"


def test_a_region_may_be_used_again_but_not_inside_itself(plain: PerformanceProfiler) -> None:
    region = plain.profile("again")
    for _ in range(2):
        with region:
            pass
    with region:
        with pytest.raises(StepscopeError, match="already open"):
            region.__enter__()
    assert plain.get_metrics("again").count == 3


def test_errors_say_what_to_do(plain: PerformanceProfiler) -> None:
    with pytest.raises(StepscopeError, match="hint: use: with"):
        plain.get_metrics()
    with plain.profile("a"):
        pass
    with pytest.raises(StepscopeError, match="these have: a"):
        plain.get_metrics("b")
    with pytest.raises(StepscopeError, match="memory_interval"):
        PerformanceProfiler(memory_interval=0)


def test_reset_forgets_and_goes_on(plain: PerformanceProfiler) -> None:
    with plain.profile("open"):
        with plain.profile("old"):
            pass
        plain.reset()
        with plain.profile("new"):
            pass
    assert set(plain.get_timing_breakdown()) == {"new", "open"}


class _Nothing:
    """The least that a context manager with a name can be."""

    __slots__ = ("name", "amount")

    def __init__(self, name: str, amount: object) -> None:
        self.name = name
        self.amount = amount

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_error: object) -> None:
        pass


class _Maker:
    def profile(self, name: str, *, samples: object = None) -> _Nothing:
        return _Nothing(name, samples)


def test_a_plain_region_is_cheap(plain: PerformanceProfiler) -> None:
    """About 2 µs, which is four times a region that does nothing, and thirteen times in a build for tests, which does
    not optimize what Python is spoken to with: a ratio that holds on a busy machine too."""

    def cost_ns(maker: Any) -> float:
        # The processor's time of this thread: what others take from it does not count.
        began_ns = time.thread_time_ns()
        for _ in range(500):
            with maker.profile("x"):
                pass
        return (time.thread_time_ns() - began_ns) / 500

    nothing = region = float("inf")
    for _ in range(100):
        nothing = min(nothing, cost_ns(_Maker()))
        region = min(region, cost_ns(plain))
    assert region < 25 * nothing
