"""Which of several regions leaks: regions that take turns, lie inside one another, or hand memory on."""

from __future__ import annotations

import gc
import json
import mmap
import random
from collections.abc import Iterator
from typing import Any, Callable

import pytest

from stepscope import PerformanceProfiler
from stepscope.performance.leak_place import EITHER, INSIDE, OUTSIDE, MemorySeries, place_of
from stepscope.performance.leaks import LEAK, NO_LEAK

MB = 1_048_576


def block(megabytes: float) -> mmap.mmap:
    """From the system itself, and touched: the heap may have room left from tests before."""
    made = mmap.mmap(-1, int(megabytes * MB))
    made.write(b"x" * len(made))
    return made


@pytest.fixture
def profiler() -> Any:
    made = PerformanceProfiler(track_gpu=False)
    made.start()
    yield made
    made.stop()


def test_regions_that_take_turns_do_not_blame_each_other(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("leaks"):
            kept.append(block(2))
        with profiler.profile("clean"):
            block(3).close()
    leaks, clean = profiler.get_leak_report("leaks"), profiler.get_leak_report("clean")
    assert leaks.verdict == LEAK and leaks.grows_in == "leaks"
    # The level does rise from one occurrence of it to the next.
    assert clean.growths[0].slope == pytest.approx(2.0, rel=0.1)
    assert clean.verdict == NO_LEAK and clean.growths[0].verdict == NO_LEAK
    assert clean.growths[0].place == "outside" and clean.growths[0].outside == pytest.approx(2.0, rel=0.1)
    assert clean.grows_in == "leaks"
    assert "outside it: inside 'leaks'" in clean.reason and clean.reason in str(clean)
    assert "memory-growth" not in [issue.kind for issue in profiler.diagnose("clean")]
    assert "memory-growth" in [issue.kind for issue in profiler.diagnose("leaks")]
    assert json.loads(json.dumps(clean.to_dict()))["grows_in"] == "leaks"


def test_growth_between_regions_is_nobodys_leak(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("clean"):
            pass
        kept.append(block(2))
    report = profiler.get_leak_report("clean")
    assert report.verdict == NO_LEAK and report.grows_in == ""
    assert "outside it; no other region shows it" in report.reason


def test_the_innermost_region_is_named(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("epoch"):
            with profiler.profile("load"):
                block(1).close()
            with profiler.profile("step"):
                with profiler.profile("loss"):
                    kept.append(block(2))
    for name in ("epoch", "step", "loss"):
        report = profiler.get_leak_report(name)
        assert (report.verdict, report.grows_in) == (LEAK, "loss"), str(report)
    assert "inside it: in 'loss'" in profiler.get_leak_report("epoch").reason
    assert any("it grows inside 'loss'" in issue.evidence for issue in profiler.diagnose("epoch"))
    load = profiler.get_leak_report("load")
    assert (load.verdict, load.grows_in) == (NO_LEAK, "loss"), str(load)


def test_a_region_that_leaks_around_a_clean_one(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("outer"):
            kept.append(block(2))
            with profiler.profile("inner"):
                block(1).close()
    assert profiler.get_leak_report("outer").verdict == LEAK
    inner = profiler.get_leak_report("inner")
    assert (inner.verdict, inner.grows_in) == (NO_LEAK, "outer"), str(inner)
    assert profiler.get_leak_report("outer").grows_in == "outer"


def test_several_may_leak(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        for name, megabytes in (("a", 1), ("b", 1), ("c", 4)):
            with profiler.profile(name):
                kept.append(block(megabytes))
        with profiler.profile("clean"):
            pass
    for name in ("a", "b", "c"):
        assert (profiler.get_leak_report(name).verdict, profiler.get_leak_report(name).grows_in) == (LEAK, name)
    assert profiler.get_leak_report("clean").grows_in == "c"


def test_a_result_that_is_dropped_later_is_no_leak(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("forward"):
            result = block(6)
        with profiler.profile("log"):
            kept.append(block(2))
        result.close()
    forward, log = profiler.get_leak_report("forward"), profiler.get_leak_report("log")
    assert forward.growths[0].inside == pytest.approx(6.0, rel=0.1)
    assert (forward.verdict, forward.grows_in) == (NO_LEAK, "log"), str(forward)
    assert (log.verdict, log.grows_in) == (LEAK, "log"), str(log)


def test_what_is_kept_in_part_stays_a_leak_if_no_other_region_shows_it(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("forward"):
            kept.append(block(2))
            result = block(6)
        result.close()
    report = profiler.get_leak_report("forward")
    assert report.verdict == LEAK and report.growths[0].place == "inside or outside"
    assert "is unclear" in report.reason


def test_one_inside_another_of_the_same_name_counts_once(profiler: PerformanceProfiler) -> None:
    kept: list[Any] = []

    @profiler.profile("walk")
    def walk(depth: int) -> None:
        kept.append(block(1))
        if depth:
            walk(depth - 1)

    for _ in range(20):
        walk(2)
    growth = profiler.get_leak_report("walk").growths[0]
    assert growth.verdict == LEAK and growth.inside == pytest.approx(3.0, rel=0.1)
    assert growth.occurrences == 20 - 2


@pytest.fixture
def no_collection() -> Iterator[None]:
    """No collection of garbage that other tests left, in the middle of a region that counts objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_objects_are_told_apart_too() -> None:
    profiler = PerformanceProfiler(track_gpu=False, detailed_memory=True)
    kept: list[Any] = []
    for _ in range(14):
        with profiler.profile("leaks"):
            kept.append([[] for _ in range(3000)])
        with profiler.profile("clean"):
            sum(range(1000))
    found = {
        name: {growth.what: growth for growth in profiler.get_leak_report(name).growths}["Python objects"]
        for name in ("leaks", "clean")
    }
    assert found["leaks"].verdict == LEAK and found["leaks"].inside == pytest.approx(3001, rel=0.05)
    assert found["clean"].verdict == NO_LEAK and found["clean"].outside == pytest.approx(3001, rel=0.05)


def held(inside: Callable[[int], float], outside: Callable[[int], float], count: int = 40) -> MemorySeries:
    """What would be held if so much grew in each occurrence and after it."""
    now = 500.0
    levels, grown = [], []
    for at in range(count):
        grown.append(inside(at))
        now += grown[-1]
        levels.append(now)
        now += outside(at)
    return MemorySeries(levels, grown, grown)


def test_places_of_scripted_growth() -> None:
    assert place_of(held(lambda _: 2.0, lambda _: 0.0), 2.0, 1.0) == INSIDE
    assert place_of(held(lambda _: 0.0, lambda _: 2.0), 2.0, 1.0) == OUTSIDE
    assert place_of(held(lambda _: 1.0, lambda _: 3.0), 4.0, 1.0) == INSIDE
    # An allocator takes memory in large pieces, once in a while.
    assert place_of(held(lambda at: 4.0 * (at % 4 == 0), lambda _: 0.0), 1.0, 1.0) == INSIDE
    assert place_of(held(lambda _: 0.0, lambda at: 4.0 * (at % 4 == 0)), 1.0, 1.0) == OUTSIDE
    # A cache that is full after some time, beside a leak elsewhere; and one large array that is loaded once.
    assert place_of(held(lambda at: 5.0 * (at < 10), lambda _: 2.0), 2.0, 1.0) != INSIDE
    assert place_of(held(lambda at: 50.0 * (at == 30), lambda _: 2.0), 2.0, 1.0) != INSIDE
    # Taken inside and given back outside.
    assert place_of(held(lambda _: 6.0, lambda _: -4.0), 2.0, 1.0) == EITHER


def test_noise_neither_accuses_nor_clears() -> None:
    chance = random.Random(3)

    def place(inside: float, outside: float, noise: float) -> str:
        """Readings are off by chance, which moves growth from one side to the other."""
        found = held(lambda _: inside + chance.gauss(0, noise), lambda _: outside + chance.gauss(0, noise))
        return place_of(found, inside + outside, 1.0)

    clean = [place(0.0, 2.0, 0.5) for _ in range(200)]
    assert clean.count(INSIDE) <= 10 and clean.count(OUTSIDE) >= 180
    leaking = [place(2.0, 0.0, 0.5) for _ in range(200)]
    assert leaking.count(OUTSIDE) == 0 and leaking.count(INSIDE) >= 190
    # Where noise is far larger than the growth nothing is known.
    drowned = [place(0.5, 0.0, 20.0) for _ in range(200)]
    assert drowned.count(EITHER) >= 170
