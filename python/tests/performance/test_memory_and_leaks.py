"""Memory of a region, and whether it grows from one to the next."""

from __future__ import annotations

import gc
import mmap
import random
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from stepscope import PerformanceProfiler
from stepscope.performance import is_unknown
from stepscope.performance.leaks import LEAK, NO_LEAK, TOO_FEW, judge
from stepscope.performance.memory import peak_of

MB = 1_048_576


def test_the_peak_and_the_growth_of_a_region() -> None:
    """In a program of its own: a heap that tests before have filled shrinks by 64 MB and more at any moment."""
    program = """
import time
from stepscope import PerformanceProfiler
MB = 1_048_576
# The kernel's mark is above what follows: only samples can tell.
bytearray(120 * MB)
profiler = PerformanceProfiler(track_gpu=False)
with profiler.profile("allocate"):
    held_before = profiler.get_current_memory()
    block = bytearray(60 * MB)
    # The monitor's thread is due every 100 ms, and late on a busy machine.
    until = time.monotonic() + 60
    while (seen := profiler._watch.totals()["process.rss_bytes"].high / MB) < held_before + 57:
        assert time.monotonic() < until, f"{seen:.0f} MB seen, {profiler.get_current_memory():.0f} MB held now"
        time.sleep(0.05)
    del block
memory = profiler.get_metrics().memory
assert 57 <= memory.peak_ram_mb - memory.start_ram_mb <= 80, memory
assert abs(memory.end_ram_mb - memory.start_ram_mb) < 20, memory
assert memory.growth_mb == memory.end_ram_mb - memory.start_ram_mb, memory
assert not memory.peak_is_high_water_mark and "sample" in memory.peak_ram_source, memory
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_peak_that_raises_the_kernels_mark_is_never_missed() -> None:
    """In a program of its own, which has held less before; with samples too far apart to see it."""
    program = """
import mmap
from stepscope import PerformanceProfiler
profiler = PerformanceProfiler(track_gpu=False, memory_interval=60, system_interval=60)
def touch(size_mb):
    block = mmap.mmap(-1, size_mb << 20)
    block.write(b"x" * len(block))
    block.close()
with profiler.profile("large"):
    touch(60)
with profiler.profile("small"):
    touch(10)
for name in ("large", "small"):
    memory = profiler.get_metrics(name).memory
    print(memory.peak_is_high_water_mark, round(memory.peak_ram_mb - memory.start_ram_mb), memory.peak_ram_source)
print(profiler.get_metrics("small").memory.peak_ram_mb < profiler.get_metrics("large").memory.peak_ram_mb - 30)
"""
    # A larger process starts it, whose own mark must not be taken for the program's.
    held = mmap.mmap(-1, 250 * MB)
    held.write(b"x" * len(held))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    held.close()
    large, small, lower = done.stdout.splitlines()
    # The bytes that are written are held twice for a moment.
    assert large.startswith("True") and 57 <= int(large.split()[1]) <= 130 and "high-water mark" in large
    assert small.startswith("False") and "readings at both ends" in small and "may miss a short peak" in small
    assert lower == "True"


def test_a_region_below_an_earlier_peak_has_its_own() -> None:
    profiler = PerformanceProfiler(track_gpu=False, memory_interval=0.005, system_interval=0.005)
    with profiler.profile("large"):
        held_before = profiler.get_current_memory()
        block = bytearray(100 * MB)
        block[::4096] = b"x" * len(block[::4096])
        # Until a sample has it: the kernel's mark may be higher from before.
        give_up = time.monotonic() + 60
        while profiler._watch.totals()["process.rss_bytes"].high / MB < held_before + 90:
            assert time.monotonic() < give_up, "no sample was taken"
            time.sleep(0.005)
        del block
    with profiler.profile("small"):
        pass
    small = profiler.get_metrics().memory
    assert not small.peak_is_high_water_mark
    assert small.peak_ram_mb < profiler.get_metrics("large").memory.peak_ram_mb - 50


def test_what_was_read_before_a_region_is_not_its_peak() -> None:
    resources = SimpleNamespace(rss_peak=10, peak_is_high_water_mark=False)
    assert peak_of(resources, SimpleNamespace(samples=0, high=99.0)) == (10, 0)
    assert peak_of(resources, SimpleNamespace(samples=2, high=99.0)) == (99, 2)


def test_current_memory_is_near_what_the_system_says() -> None:
    profiler = PerformanceProfiler(track_gpu=False, track_system=False)
    with open("/proc/self/status", encoding="utf-8") as file:
        held_kb = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert profiler.get_current_memory() == pytest.approx(held_kb / 1024, rel=0.05)


def test_memory_is_unknown_where_it_is_not_watched(plain: PerformanceProfiler) -> None:
    with plain.profile("x"):
        pass
    metrics = plain.get_metrics()
    assert is_unknown(metrics.memory.peak_ram_mb) and metrics.memory.peak_ram_source == ""
    assert "track_system" in metrics.missing["memory.peak_ram_mb"]
    assert plain.get_leak_report("x").verdict == TOO_FEW
    assert "no memory was measured" in str(plain.get_leak_report("x"))


def test_a_leak_is_found() -> None:
    profiler = PerformanceProfiler(track_gpu=False)
    profiler.start()
    kept: list[Any] = []
    for _ in range(30):
        with profiler.profile("step"):
            # From the system itself: the heap may have room left from tests before.
            block = mmap.mmap(-1, 2 * MB)
            block.write(b"x" * len(block))
            kept.append(block)
    profiler.stop()
    report = profiler.get_leak_report("step")
    growth = report.growths[0]
    assert report.verdict == LEAK and report.leaks
    assert growth.slope == pytest.approx(2.0, rel=0.1)
    assert growth.low is not None and growth.low > 0
    assert "leak" in str(report)
    assert growth.place == "inside" and growth.inside == pytest.approx(2.0, rel=0.1)
    assert report.grows_in == "step" and "inside it" in report.reason
    assert [issue.kind for issue in profiler.diagnose("step")].count("memory-growth") == 1


def test_no_leak_where_nothing_is_kept() -> None:
    profiler = PerformanceProfiler(track_gpu=False)
    profiler.start()
    for _ in range(30):
        with profiler.profile("step"):
            block = bytearray(2 * MB)
            block[::4096] = b"x" * len(block[::4096])
            del block
    profiler.stop()
    assert profiler.get_leak_report().verdict == NO_LEAK


def test_objects_are_counted_with_detailed_memory() -> None:
    # What earlier tests left behind must not go away while these are counted.
    gc.collect()
    profiler = PerformanceProfiler(track_gpu=False, detailed_memory=True)
    kept: list[Any] = []
    for _ in range(14):
        with profiler.profile("step"):
            kept.append([[] for _ in range(3000)])
    growths = {growth.what: growth for growth in profiler.get_leak_report("step").growths}
    objects = growths["Python objects"]
    assert objects.verdict == LEAK
    assert objects.slope == pytest.approx(3001, rel=0.05)


def test_growth_that_stops_is_no_leak() -> None:
    filling = [min(n * 5.0, 100.0) for n in range(60)]
    assert judge("RSS", "MB", filling, 1.0).verdict == NO_LEAK


def test_noise_is_no_leak() -> None:
    chance = random.Random(2)

    def verdict() -> str:
        return judge("RSS", "MB", [500 + chance.gauss(0, 20) for _ in range(60)], 1.0).verdict

    wrong = sum(verdict() == LEAK for _ in range(200))
    assert wrong <= 4


def test_a_small_steady_growth_under_noise_is_a_leak() -> None:
    chance = random.Random(4)
    growth = judge("RSS", "MB", [500 + 0.5 * n + chance.gauss(0, 3) for n in range(100)], 1.0)
    assert growth.verdict == LEAK
    assert growth.slope == pytest.approx(0.5, rel=0.1)


def test_too_few_say_nothing() -> None:
    growth = judge("RSS", "MB", [1.0, 100.0, 200.0], 1.0)
    assert growth.verdict == TOO_FEW and growth.slope is None
    assert "8 are needed" in str(growth)
