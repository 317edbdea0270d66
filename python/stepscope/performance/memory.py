"""Memory of this process, and its peak in a region.

The kernel keeps a high-water mark: the most that the process has held since it began. If the mark rose while a region
was open, it is the peak of the region, however short that was. If it did not, the region stayed below an earlier peak,
and the highest of its samples and of the readings at both ends is the best that is known. The mark is never reset (the
kernel would do it through ``/proc/self/clear_refs``): others may read it too.
"""

from __future__ import annotations

import gc
from typing import Any, Callable, Optional

from .._native import CounterStat, TimedRegion, process_memory
from .probe import Probe
from .resources import Resources

Reading = tuple[Optional[int], Optional[int], Optional[int]]
"""Bytes that the process holds, the most it has held, and what its C allocator holds free."""


class MemoryProbe(Probe):
    """RSS at both ends, and the peak in between."""

    what = "memory"

    def __init__(self, fallback_rss_bytes: Callable[[], int | None]) -> None:
        self._fallback = fallback_rss_bytes

    def reading(self) -> tuple[int | None, int | None]:
        """RSS now, and the same without what the C allocator holds free, where it tells."""
        held, _, free = self.enter(None)
        return held, None if held is None or free is None else held - free

    def enter(self, region: TimedRegion | None) -> Reading:
        held, mark, free = process_memory()
        return self._fallback() if held is None else held, mark, free

    def exit(self, region: TimedRegion, token: Reading, resources: Resources) -> None:
        start, mark_before, free_before = token
        end, mark_after, free_after = self.enter(region)
        resources.rss_start, resources.rss_end = start, end
        if start is None or end is None:
            return
        # Both or none: what is free must not look like growth where it is known at one end alone.
        if free_before is not None and free_after is not None:
            resources.used_start, resources.used_end = start - free_before, end - free_after
        # The kernel's numbers lag behind one another by some pages.
        peak = start if start > end else end
        if mark_before is not None and mark_after is not None:
            resources.peak_is_high_water_mark = rose = mark_after > mark_before
            if rose and mark_after > peak:
                peak = mark_after
        resources.rss_peak = peak


def peak_of(resources: Resources, sampled: CounterStat | None) -> tuple[int | None, int]:
    """The peak with the samples of the monitor, and how many of these it is from. Without a sample in the region, what
    the monitor knows was read before it."""
    if resources.rss_peak is None or resources.peak_is_high_water_mark or sampled is None or not sampled.samples:
        return resources.rss_peak, 0
    return max(resources.rss_peak, int(sampled.high)), sampled.samples


class ObjectProbe(Probe):
    """How many objects Python's collector knows at both ends. It walks over all of them: for leaks."""

    what = "the number of Python objects"

    def enter(self, region: TimedRegion) -> Any:
        return len(gc.get_objects())

    def exit(self, region: TimedRegion, token: int, resources: Resources) -> None:
        resources.objects_start, resources.objects_end = token, len(gc.get_objects())


def where_the_peak_is_from(resources: Resources, samples: int) -> str:
    """In words, what the peak was read from, and what it may miss."""
    if resources.rss_peak is None:
        return ""
    if resources.peak_is_high_water_mark:
        return "the kernel's high-water mark of the process, which rose in the region"
    read = "the readings at both ends"
    if samples:
        read = f"{samples:,} sample{'s' if samples > 1 else ''} and {read}"
    if resources.peak_is_high_water_mark is None:
        why = "this system keeps no high-water mark of a process"
    else:
        why = "the process held as much before, so that the kernel's high-water mark did not rise"
    return f"the highest of {read}, which may miss a short peak: {why}"
