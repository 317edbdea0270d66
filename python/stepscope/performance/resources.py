"""What one occurrence of a region used, beyond its times; and the same for all occurrences together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._native import CounterStats

LineKey = tuple[str, int, str]
"""File, line number, function."""

MAX_LINES = 20_000
"""Lines that are kept of one region."""

MAX_INNER_NAMES = 100
"""Names of regions within it that a region remembers."""

MEASURES = ("process memory (RSS)", "PyTorch tensors on GPUs", "Python objects")
"""What a leak would raise, in the order of :attr:`Resources.marks`."""
USED_MARK = len(MEASURES)
"""The place in :attr:`Resources.marks` of what replaces the first where it is known throughout: process memory
without what the C allocator holds free."""
MARK_COUNT = USED_MARK + 1


LOOK_AT = 32
"""Pairs of events from which on those that are over are summed up."""
MAX_WAITING = 512
"""Pairs of events that are held until the GPU has reached them."""

Pair = tuple[Any, Any]
"""CUDA events at the start and the end of a stretch."""


_DICTIONARIES = frozenset(("gpus", "uncounted", "lines", "reasons"))


class Mark(NamedTuple):
    """One measure of memory at the end of an occurrence, in bytes or objects."""

    level: int
    inside: int | None
    """How much it rose from the start to the end; ``None`` if the start is not known."""
    in_inner: int
    """How much of that inside regions within it."""


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

    def add(self, other: GpuTimes) -> None:
        """Adds a later one, and takes in those that are over by now."""
        self.milliseconds += other.milliseconds
        self.lost += other.lost
        self.waiting.extend(other.waiting)
        if len(self.waiting) < LOOK_AT:
            return
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
    """What was used. ``None`` and empty dictionaries: not measured, for the reason in ``reasons``.

    Most occurrences have few of these, and one is made for each: what is not there is the class's. Dictionaries are
    made when they are first asked for.
    """

    rss_start: int | None = None
    rss_end: int | None = None
    # The same without what the C allocator holds free, where it tells.
    used_start: int | None = None
    used_end: int | None = None
    rss_peak: int | None = None
    # None where the system keeps no such mark.
    peak_is_high_water_mark: bool | None = None
    # Of one occurrence: the monitor, and from when to when.
    window: tuple[Any, int, int] | None = None
    # Of several: their windows, summed up.
    counters: CounterStats | None = None
    watched_ns = 0
    flops: int | None = None
    parameters: int | None = None
    gpu_times: GpuTimes | None = None
    line_events = 0
    line_overhead_ns = 0
    torch_start: int | None = None
    torch_end: int | None = None
    objects_start: int | None = None
    objects_end: int | None = None
    in_inner: Sequence[int] = (0,) * MARK_COUNT
    inner_names: frozenset[str] | set[str] = frozenset()

    gpus: dict[int, GpuUse]
    uncounted: dict[str, int]
    lines: dict[LineKey, tuple[int, int]]
    reasons: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        if name not in _DICTIONARIES:
            raise AttributeError(name)
        made: dict[Any, Any] = {}
        setattr(self, name, made)
        return made

    @property
    def marks(self) -> tuple[Mark | None, Mark | None, Mark | None, Mark | None]:
        """What a leak would raise from one occurrence to the next: RSS, tensors, Python's objects; RSS in use."""
        inner = self.in_inner
        return (
            _mark(self.rss_start, self.rss_end, inner[0]),
            _mark(self.torch_start, self.torch_end, inner[1]),
            _mark(self.objects_start, self.objects_end, inner[2]),
            _mark(self.used_start, self.used_end, inner[USED_MARK]),
        )

    def counter_stats(self) -> CounterStats:
        """The machine's counters."""
        if self.counters is None:
            self.counters = CounterStats()
            if self.window is not None:
                monitor, start_ns, end_ns = self.window
                monitor.add_window(self.counters, start_ns, end_ns)
        return self.counters

    def merge(self, later: Resources) -> None:
        """Adds a later occurrence."""
        if self.rss_start is None:
            self.rss_start = later.rss_start
        if later.rss_end is not None:
            self.rss_end = later.rss_end
        if self.used_start is None:
            self.used_start = later.used_start
        self.used_end = later.used_end
        if later.rss_peak is not None and (self.rss_peak is None or later.rss_peak > self.rss_peak):
            self.rss_peak, self.peak_is_high_water_mark = later.rss_peak, later.peak_is_high_water_mark
        self._merge_counters(later)
        if later.flops is not None:
            self.flops = (self.flops or 0) + later.flops
        if later.parameters is not None:
            self.parameters = max(self.parameters or 0, later.parameters)
        if later.gpu_times is not None:
            if self.gpu_times is None:
                self.gpu_times = GpuTimes()
            self.gpu_times.add(later.gpu_times)
        self.torch_end, self.objects_end = later.torch_end, later.objects_end
        if later.inner_names and len(self.inner_names) < MAX_INNER_NAMES:
            self.inner_names = self.inner_names | later.inner_names
        made = later.__dict__
        if "gpus" in made:
            for device, use in later.gpus.items():
                self.gpus[device] = self.gpus[device].merged(use) if device in self.gpus else use
        if "uncounted" in made:
            for name, times in later.uncounted.items():
                self.uncounted[name] = self.uncounted.get(name, 0) + times
        if "reasons" in made:
            self.reasons.update(later.reasons)
        if later.line_events or "lines" in made:
            self._merge_lines(later)

    def _merge_counters(self, later: Resources) -> None:
        if later.window is not None:
            if self.counters is None:
                self.counters = CounterStats()
            monitor, start_ns, end_ns = later.window
            monitor.add_window(self.counters, start_ns, end_ns)
            self.watched_ns += end_ns - start_ns
        elif later.counters is not None:
            self.counter_stats().merge(later.counters)
            self.watched_ns += later.watched_ns

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
