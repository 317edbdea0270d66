"""Names that carry an id must not make the profiler grow."""

from __future__ import annotations

import tracemalloc
import uuid

from stepscope import PerformanceProfiler
from stepscope.performance.registry import MAX_NAMES, MAX_PATTERNS, OTHER_NAMES


def test_requests_become_one_name_and_none_is_lost(plain: PerformanceProfiler) -> None:
    for number in range(5000):
        with plain.profile(f"request_{number}"):
            pass
        if number % 1000 == 0:
            assert plain.get_metrics().name == f"request_{number}"
    breakdown = plain.get_timing_breakdown()
    assert len(breakdown) <= MAX_NAMES
    metrics = plain.get_metrics("request_*")
    assert metrics.count == 5000
    assert plain.get_metrics("request_4999").count == 5000
    assert any("kept as" in note for note in metrics.notes)
    assert any("name regions by their kind" in note for note in plain.notes)


def test_the_last_request_keeps_its_own_numbers(plain: PerformanceProfiler) -> None:
    for number in range(MAX_NAMES + 10):
        with plain.profile(f"request_{number}", samples=number):
            pass
    metrics = plain.get_metrics()
    assert (metrics.name, metrics.samples) == (f"request_{MAX_NAMES + 9}", MAX_NAMES + 9)


def test_names_that_are_few_of_a_kind_stay(plain: PerformanceProfiler) -> None:
    with plain.profile("train"):
        for number in range(MAX_NAMES + 1):
            with plain.profile(f"job {uuid.UUID(int=number)}"):
                pass
    assert plain.get_metrics("train").count == 1
    assert plain.get_metrics("job *").count == MAX_NAMES + 1


def test_a_region_that_is_open_while_its_name_is_folded_counts(plain: PerformanceProfiler) -> None:
    with plain.profile("request_0"):
        for number in range(1, MAX_NAMES + 50):
            with plain.profile(f"request_{number}"):
                pass
    assert plain.get_metrics("request_*").count == MAX_NAMES + 50


def test_names_without_numbers_are_bounded_too(plain: PerformanceProfiler) -> None:
    letters = "abcdefghijklmnop"
    for first in letters:
        for second in letters:
            for third in letters[:12]:
                with plain.profile("name " + first + second + third):
                    pass
    assert len(plain.get_timing_breakdown()) <= MAX_NAMES + MAX_PATTERNS + 1
    assert plain.get_metrics(OTHER_NAMES).count == 16 * 16 * 12 - MAX_NAMES - MAX_PATTERNS
    assert sum(plain.get_metrics(name).count for name in plain.get_timing_breakdown()) == 16 * 16 * 12


def test_memory_stays_bounded() -> None:
    profiler = PerformanceProfiler(track_gpu=False, track_system=False, keep=100)

    def run(first: int, last: int) -> None:
        for number in range(first, last):
            with profiler.profile(f"user {number} of {number * 7}"):
                pass

    run(0, 3000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(3000, 9_000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 200_000
