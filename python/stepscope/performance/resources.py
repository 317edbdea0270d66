"""What one occurrence of a region used, beyond its times; and the same for all occurrences together."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

LineKey = tuple[str, int, str]
"""File, line number, function."""

MAX_LINES = 20_000
"""Lines that are kept of one region."""

MAX_INNER_NAMES = 100
"""Names of regions within it that a region remembers."""

MEASURES = ("process memory (RSS)", "PyTorch tensors on GPUs", "Python objects")
"""What a leak would raise, in the order of :attr:`Resources.marks`."""
USED = len(MEASURES)
"""The place in :attr:`Resources.marks` of what stands in for the first where it is known throughout: process memory
without what the C allocator holds free."""
MARKS = USED + 1


MAX_WAITING = 512
"""Pairs of events that are held until the GPU has reached them."""

Pair = tuple[Any, Any]
"""CUDA events at the start and the end of a stretch."""


class Mark(NamedTuple):
    """One measure of memory at the end of an occurrence, in bytes or objects."""

    level: int
    inside: int | None
    """How much it rose from the start to the end; ``None`` if the start is not known."""
    in_inner: int
    """How much of that inside regions within it."""


class CounterStat:
    """One counter of the machine while a region was open."""

    __slots__ = ("weighted", "seconds", "low", "high", "last", "samples")

    def __init__(self, mean: float, seconds: float, low: float, high: float, last: float, samples: int) -> None:
        self.weighted = mean * seconds
        self.seconds = seconds
        self.low = low
        self.high = high
        self.last = last
        self.samples = samples

    @property
    def mean(self) -> float:
        """The mean over time."""
        if self.seconds <= 0:
            return self.last
        # Sums are rounded: of equal values the mean would be off by the last digit.
        return min(max(self.weighted / self.seconds, self.low), self.high)

    def merged(self, later: CounterStat) -> CounterStat:
        """Both together."""
        both = CounterStat(0.0, 0.0, min(self.low, later.low), max(self.high, later.high), later.last, 0)
        both.weighted = self.weighted + later.weighted
        both.seconds = self.seconds + later.seconds
        both.samples = self.samples + later.samples
        return both


class GpuUse:
    """Memory of one GPU, in bytes."""

    __slots__ = ("peak", "peak_reserved", "start", "end", "source")

    def __init__(
        self, peak: float, peak_reserved: float | None, start: float | None, end: float | None, source: str
    ) -> None:
        self.peak = peak
        self.peak_reserved = peak_reserved
        self.start = start
        self.end = end
        self.source = source

    def merged(self, later: GpuUse) -> GpuUse:
        """Both together: the higher peaks, the first start, the last end."""
        reserved = [value for value in (self.peak_reserved, later.peak_reserved) if value is not None]
        highest = max(reserved) if reserved else None
        return GpuUse(max(self.peak, later.peak), highest, self.start, later.end, later.source)


class GpuTimes:
    """A sum of times on the GPU, some of which may not be over yet."""

    __slots__ = ("milliseconds", "waiting", "lost")

    def __init__(self, pair: Pair | None = None) -> None:
        self.milliseconds = 0.0
        self.waiting: deque[Pair] = deque([pair] if pair else [])
        self.lost = 0

    def emptied(self) -> GpuTimes:
        """A sum to start from."""
        return GpuTimes()

    def add(self, other: GpuTimes) -> None:
        """Adds a later one, and takes in those that are over by now."""
        self.milliseconds += other.milliseconds
        self.lost += other.lost
        self.waiting.extend(other.waiting)
        while self.waiting and self.waiting[0][1].query():
            self._take_in()
        while len(self.waiting) > MAX_WAITING:
            # Waiting here would slow the program down.
            self.waiting.popleft()
            self.lost += 1

    def seconds(self) -> float:
        """The sum; waits for the GPU if it is not there yet."""
        while self.waiting:
            self.waiting[0][1].synchronize()
            self._take_in()
        return self.milliseconds / 1e3

    def _take_in(self) -> None:
        start, end = self.waiting.popleft()
        try:
            self.milliseconds += start.elapsed_time(end)
        except RuntimeError:  # the program went on to another device in between
            self.lost += 1


class Resources:
    """What was used. ``None`` and empty dictionaries: not measured, for the reason in ``reasons``."""

    __slots__ = (
        "rss_start", "rss_end", "used_start", "used_end", "rss_peak", "peak_is_high_water_mark", "peak_samples", "gpus",
        "counters", "energy_j", "energy_s", "flops", "parameters", "uncounted", "gpu_times", "lines", "line_events",
        "line_overhead_ns", "torch_start", "torch_end", "objects_start", "objects_end", "in_inner", "inner_names",
        "reasons",
    )  # fmt: skip

    def __init__(self) -> None:
        self.rss_start: int | None = None
        self.rss_end: int | None = None
        # The same without what the C allocator holds free, where it tells.
        self.used_start: int | None = None
        self.used_end: int | None = None
        self.rss_peak: int | None = None
        # None where the system keeps no such mark.
        self.peak_is_high_water_mark: bool | None = None
        self.peak_samples = 0
        self.gpus: dict[int, GpuUse] = {}
        self.counters: dict[str, CounterStat] = {}
        self.energy_j: dict[str, float] = {}
        self.energy_s = 0.0
        self.flops: int | None = None
        self.parameters: int | None = None
        self.uncounted: dict[str, int] = {}
        self.gpu_times: GpuTimes | None = None
        self.lines: dict[LineKey, tuple[int, int]] = {}
        self.line_events = 0
        self.line_overhead_ns = 0
        self.torch_start: int | None = None
        self.torch_end: int | None = None
        self.objects_start: int | None = None
        self.objects_end: int | None = None
        self.in_inner: tuple[int, ...] = (0,) * MARKS
        self.inner_names: set[str] = set()
        self.reasons: dict[str, str] = {}

    @property
    def marks(self) -> tuple[Mark | None, Mark | None, Mark | None, Mark | None]:
        """What a leak would raise from one occurrence to the next: RSS, tensors, Python's objects; RSS in use."""
        return (
            _mark(self.rss_start, self.rss_end, self.in_inner[0]),
            _mark(self.torch_start, self.torch_end, self.in_inner[1]),
            _mark(self.objects_start, self.objects_end, self.in_inner[2]),
            _mark(self.used_start, self.used_end, self.in_inner[USED]),
        )

    def merge(self, later: Resources) -> None:
        """Adds a later occurrence."""
        if self.rss_start is None:
            self.rss_start = later.rss_start
        self.rss_end = later.rss_end if later.rss_end is not None else self.rss_end
        self.used_start = later.used_start if self.used_start is None else self.used_start
        self.used_end = later.used_end
        if later.rss_peak is not None and (self.rss_peak is None or later.rss_peak > self.rss_peak):
            self.rss_peak, self.peak_samples = later.rss_peak, later.peak_samples
            self.peak_is_high_water_mark = later.peak_is_high_water_mark
        for device, use in later.gpus.items():
            self.gpus[device] = self.gpus[device].merged(use) if device in self.gpus else use
        for name, stat in later.counters.items():
            self.counters[name] = self.counters[name].merged(stat) if name in self.counters else stat
        for name, joules in later.energy_j.items():
            self.energy_j[name] = self.energy_j.get(name, 0.0) + joules
        self.energy_s += later.energy_s
        if later.flops is not None:
            self.flops = (self.flops or 0) + later.flops
        if later.parameters is not None:
            self.parameters = max(self.parameters or 0, later.parameters)
        for name, times in later.uncounted.items():
            self.uncounted[name] = self.uncounted.get(name, 0) + times
        if later.gpu_times is not None:
            if self.gpu_times is None:
                self.gpu_times = later.gpu_times.emptied()
            self.gpu_times.add(later.gpu_times)
        self._merge_lines(later)
        self.torch_end, self.objects_end = later.torch_end, later.objects_end
        if len(self.inner_names) < MAX_INNER_NAMES:
            self.inner_names |= later.inner_names
        self.reasons.update(later.reasons)

    def _merge_lines(self, later: Resources) -> None:
        for key, (hits, spent_ns) in later.lines.items():
            if key in self.lines:
                known_hits, known_ns = self.lines[key]
                self.lines[key] = (known_hits + hits, known_ns + spent_ns)
            elif len(self.lines) < MAX_LINES:
                self.lines[key] = (hits, spent_ns)
            else:
                self.reasons["lines"] = f"more than {MAX_LINES:,} lines ran; those seen later are left out"
        self.line_events += later.line_events
        self.line_overhead_ns += later.line_overhead_ns


def _mark(start: int | None, end: int | None, in_inner: int) -> Mark | None:
    return None if end is None else Mark(end, None if start is None else end - start, in_inner)
