"""Memory of this process, and its peak in a region.

The kernel keeps a high-water mark: the most that the process has held since it began. If the mark rose while a region
was open, it is the peak of the region, however short that was. If it did not, the region stayed below an earlier peak,
and the highest of its samples and of the readings at both ends is the best that is known. The mark is never reset (the
kernel would do it through ``/proc/self/clear_refs``): others may read it too.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
from typing import Any, Callable

from .._native import TimedRegion
from .._units import MB
from .malloc_free import MallocFree
from .probe import Probe
from .resources import Resources

if sys.platform != "win32":
    import resource

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_MARK_UNIT = 1 if sys.platform == "darwin" else 1024


def rss_bytes() -> int | None:
    """The memory that this process holds now; ``None`` where the system does not say."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read(100).split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return None


def _status_mark_bytes() -> int | None:
    """The high-water mark (``VmHWM``) by Linux's account of this very program."""
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            text = file.read(4096)
        return int(text.partition(b"VmHWM:")[2].split(maxsplit=1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        return None


def _usage_mark_bytes() -> int | None:
    """The same by ``getrusage``, which answers ten times faster."""
    if sys.platform != "win32":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MARK_UNIT
    return None


@functools.cache
def _mark_reader() -> Callable[[], int | None]:
    """The faster of the two, unless it is of another program.

    A program that a larger process started inherits that one's ``ru_maxrss``, which then says nothing for long. Such a
    mark is told by being above ``VmHWM``.
    """
    own, usage = _status_mark_bytes(), _usage_mark_bytes()
    # Two readings in a row lag behind one another by some pages.
    inherited = own is not None and usage is not None and usage > own + MB
    return _status_mark_bytes if inherited else _usage_mark_bytes


def high_water_bytes() -> int | None:
    """The most that this process has held since its program began; ``None`` where the system keeps no such mark."""
    return _mark_reader()()


class MemoryProbe(Probe):
    """RSS at both ends, and the peak in between."""

    what = "memory"

    def __init__(self, fallback_rss_bytes: Callable[[], int | None]) -> None:
        self._fallback = fallback_rss_bytes
        self._malloc = MallocFree()

    def now_bytes(self) -> int | None:
        """RSS now, from the system or from the monitor."""
        found = rss_bytes()
        return self._fallback() if found is None else found

    def reading(self) -> tuple[int | None, int | None]:
        """RSS now, and the same without what the C allocator holds free, where it tells."""
        free, held = self._malloc.free_bytes(), self.now_bytes()
        return held, None if held is None or free is None else held - free

    def enter(self, region: TimedRegion) -> Any:
        return self.now_bytes(), high_water_bytes(), self._malloc.free_bytes()

    def exit(self, region: TimedRegion, token: tuple[int | None, int | None, int | None], resources: Resources) -> None:
        start, mark_before, free_before = token
        free_after = self._malloc.free_bytes()
        end, mark_after = self.now_bytes(), high_water_bytes()
        resources.rss_start, resources.rss_end = start, end
        # Both or none: what is free must not look like growth where it is known at one end alone.
        if start is not None and end is not None and free_before is not None and free_after is not None:
            resources.used_start, resources.used_end = start - free_before, end - free_after
        held = [value for value in (start, end) if value is not None]
        if mark_before is not None and mark_after is not None:
            resources.peak_is_high_water_mark = mark_after > mark_before
            if mark_after > mark_before:
                held.append(mark_after)
        # The kernel's figures lag behind one another by some pages.
        resources.rss_peak = max(held) if held else None


class ObjectProbe(Probe):
    """How many objects Python's collector knows at both ends. It walks over all of them: for leaks."""

    what = "the number of Python objects"

    def enter(self, region: TimedRegion) -> Any:
        return len(gc.get_objects())

    def exit(self, region: TimedRegion, token: int, resources: Resources) -> None:
        resources.objects_start, resources.objects_end = token, len(gc.get_objects())


def where_the_peak_is_from(resources: Resources) -> str:
    """In words, what :attr:`Resources.rss_peak` was read from, and what it may miss."""
    if resources.rss_peak is None:
        return ""
    if resources.peak_is_high_water_mark:
        return "the kernel's high-water mark of the process, which rose in the region"
    read = "the readings at both ends"
    if resources.peak_samples:
        read = f"{resources.peak_samples:,} sample{'s' if resources.peak_samples > 1 else ''} and {read}"
    if resources.peak_is_high_water_mark is None:
        why = "this system keeps no high-water mark of a process"
    else:
        why = "the process held as much before, so that the kernel's high-water mark did not rise"
    return f"the highest of {read}, which may miss a short peak: {why}"
