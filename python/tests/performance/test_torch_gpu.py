"""PyTorch's peaks and events. The allocator is played here; with a real GPU the same is asked of the real one."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any, Callable

import pytest

from stepscope import PerformanceProfiler
from stepscope.performance import is_unknown, torch_peaks
from stepscope.performance.resources import LOOK_AT, MAX_WAITING, GpuTimes
from stepscope.performance.torch_peaks import PeakBook

# With stand-ins for PyTorch's GPU, in place of nothing and in place of the real one.
pytestmark = pytest.mark.either

MB = 1_048_576
SOME = 1_000_000
"""Nanoseconds in which a program may have allocated anything."""


class PlayedCuda(types.SimpleNamespace):
    """One device, whose allocator keeps a current value and a peak, as PyTorch's does."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.memory = types.SimpleNamespace(
            memory_stats=self._stats, reset_peak_memory_stats=self._reset, max_memory_allocated=self._max
        )
        self.memory_stats, self.reset_peak_memory_stats = self._stats, self._reset
        self._utils = types.SimpleNamespace(_get_device_index=lambda device, optional: device or 0)

    def use(self, megabytes: int) -> None:
        self.now = megabytes * MB
        self.peak = max(self.peak, self.now)

    def device_count(self) -> int:
        return 1

    def memory_stats_as_nested_dict(self, device: int) -> dict[str, Any]:
        return {
            "allocated_bytes": {"all": {"current": self.now, "peak": self.peak}},
            "reserved_bytes": {"all": {"current": self.now, "peak": self.peak}},
        }

    def _stats(self, device: Any = None) -> dict[str, int]:
        return {"allocated_bytes.all.peak": self.peak, "reserved_bytes.all.peak": self.peak}

    def _reset(self, device: Any = None) -> None:
        self.peak = self.now

    def _max(self) -> int:
        # As in PyTorch, by way of the module's own memory_stats.
        return int(self.memory.memory_stats()["allocated_bytes.all.peak"])


@pytest.fixture
def cuda() -> PlayedCuda:
    return PlayedCuda()


@pytest.fixture
def book(cuda: PlayedCuda) -> PeakBook:
    return PeakBook(types.SimpleNamespace(cuda=cuda))


def test_a_region_that_follows_at_once_needs_no_reading_of_its_own(
    book: PeakBook, cuda: PlayedCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_peaks, "MAX_AGE_NS", 10**15)
    read = cuda.memory_stats_as_nested_dict
    readings = []
    cuda.memory_stats_as_nested_dict = lambda device: readings.append(device) or read(device)
    cuda.use(100)
    outer = book.open(own_ns=SOME)
    inner = book.open(own_ns=1)
    cuda.use(300)
    cuda.use(200)
    assert book.close(inner, own_ns=1) == {0: 200 * MB}
    assert book.close(outer, own_ns=1) == {0: 200 * MB}
    # One at the start of both, one at the end of both: what a region itself allocates is read, however short it is.
    assert len(readings) == 2
    assert inner.peaks[0][0] == outer.peaks[0][0] == 300 * MB and inner.starts[0] == 100 * MB


def test_each_window_has_its_own_peak(book: PeakBook, cuda: PlayedCuda) -> None:
    cuda.use(900)
    cuda.use(100)
    outer = book.open(own_ns=SOME)
    cuda.use(300)
    inner = book.open(own_ns=SOME)
    cuda.use(200)
    book.close(inner, own_ns=SOME)
    later = book.open(own_ns=SOME)
    cuda.use(250)
    cuda.use(50)
    assert book.close(later, own_ns=SOME) == {0: 50 * MB}
    book.close(outer, own_ns=SOME)
    assert outer.starts[0] == 100 * MB
    assert outer.peaks[0][0] == 300 * MB
    assert inner.peaks[0][0] == 300 * MB  # what it found when it began
    assert later.peaks[0][0] == 250 * MB


def test_the_program_still_sees_its_own_peak(book: PeakBook, cuda: PlayedCuda) -> None:
    cuda.use(900)
    cuda.use(100)
    window = book.open(own_ns=SOME)
    cuda.use(200)
    book.close(window, own_ns=SOME)
    assert cuda.peak == 200 * MB
    assert cuda.memory.max_memory_allocated() == 900 * MB
    assert cuda.memory_stats()["reserved_bytes.all.peak"] == 900 * MB


def test_the_program_may_reset_inside_a_window(book: PeakBook, cuda: PlayedCuda) -> None:
    window = book.open(own_ns=SOME)
    cuda.use(500)
    cuda.use(10)
    cuda.reset_peak_memory_stats()
    assert cuda.memory.max_memory_allocated() == 10 * MB
    cuda.use(20)
    book.close(window, own_ns=SOME)
    assert window.peaks[0][0] == 500 * MB


class Event:
    def __init__(self, at_ms: float, reached: Callable[[], bool] = lambda: True) -> None:
        self.at_ms, self.query = at_ms, reached
        self.waited = 0

    def synchronize(self) -> None:
        self.waited += 1

    def elapsed_time(self, end: Event) -> float:
        if end.at_ms < 0:
            raise RuntimeError("both events must be of one device")
        return end.at_ms - self.at_ms


def test_times_on_the_gpu_are_waited_for_only_when_asked() -> None:
    reached = False
    end = Event(30.0, lambda: reached)
    times = GpuTimes((Event(10.0), end))
    whole = GpuTimes()
    whole.add(times)
    assert end.waited == 0 and len(whole.waiting) == 1
    assert whole.seconds() == pytest.approx(0.02) and end.waited == 1
    for _ in range(LOOK_AT):
        whole.add(GpuTimes((Event(0.0), Event(5.0))))
    assert not whole.waiting and whole.seconds() == pytest.approx(0.02 + LOOK_AT * 0.005)


def test_events_that_never_come_do_not_pile_up() -> None:
    whole = GpuTimes()
    for _ in range(MAX_WAITING + 10):
        whole.add(GpuTimes((Event(0.0), Event(1.0, lambda: False))))
    assert len(whole.waiting) == MAX_WAITING and whole.lost == 10


def test_events_of_two_devices_are_set_aside() -> None:
    times = GpuTimes((Event(0.0), Event(-1.0)))
    assert times.seconds() == 0.0 and times.lost == 1


@pytest.fixture
def gpu() -> Iterator[Any]:
    torch = sys.modules.get("torch") or pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no CUDA device")
    yield torch


@pytest.mark.frameworks
def test_a_real_gpu(gpu: Any) -> None:
    torch = gpu
    profiler = PerformanceProfiler(system_interval=0.02)
    with profiler.profile("first"):
        x = torch.ones(256, 1024, 1024, device="cuda")
    assert profiler.get_metrics().memory.peak_gpu_mb >= 1024
    del x
    before = torch.cuda.max_memory_allocated()
    with profiler.profile("small"):
        y = torch.ones(25, 1024, 1024, device="cuda")
    small = profiler.get_metrics().memory
    assert 100 <= small.peak_gpu_mb < 200
    assert small.gpus[0].source == "PyTorch's allocator"
    assert torch.cuda.max_memory_allocated() == before
    del y
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    with profiler.profile("products", samples=50):
        for _ in range(50):
            a @ a
    metrics = profiler.get_metrics()
    # Launching is quick; the products take more than a millisecond each.
    assert metrics.timing.gpu_time_s > 0.05
    assert metrics.timing.gpu_time_s > metrics.timing.wall_time_s
    assert 0 < profiler.get_current_gpu_memory() < 1
    assert is_unknown(metrics.compute.estimated_flops)
    with profiler.profile("busy"):
        for _ in range(400):
            a @ a
        torch.cuda.synchronize()
    busy = profiler.get_metrics()
    assert busy.compute.gpu_utilization_percent > 30
    assert busy.energy.gpu_j > 50


@pytest.mark.frameworks
def test_a_gpu_that_is_first_used_inside_the_region(tmp_path: Any) -> None:
    import subprocess

    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this machine has no CUDA device")
    code = (
        "import torch\nfrom stepscope import PerformanceProfiler\np = PerformanceProfiler()\n"
        "with p.profile('x'):\n    t = torch.ones(64, 1024, 1024, device='cuda')\n"
        "m = p.get_metrics()\nprint(m.memory.peak_gpu_mb, m.missing['timing.gpu_time_s'])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("256.0 the GPU was first used inside")
