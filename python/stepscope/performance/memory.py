"""Memory of this process, and its peak in a region.

The peak is exact if the region raised the operating system's own high-water mark. If it did not, the region stayed
below an earlier peak, and the highest sample is the best that is known. The mark is never reset: others may read it
too.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, Callable, Optional, Tuple

from .probe import Probe
from .resources import Resources
from .tracked import TrackedRegion

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_MARK_UNIT = 1 if sys.platform == "darwin" else 1024


def rss_bytes() -> Optional[int]:
    """The memory that this process holds now; ``None`` where the system does not say."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read(100).split()[1]) * _PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return None


def high_water_bytes() -> Optional[int]:
    """The most that this process ever held."""
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MARK_UNIT


class MemoryProbe(Probe):
    """RSS at both ends, and the peak in between."""

    what = "memory"

    def __init__(self, fallback_rss_bytes: Callable[[], Optional[int]]) -> None:
        self._fallback = fallback_rss_bytes

    def now_bytes(self) -> Optional[int]:
        """RSS now, from the system or from the monitor."""
        found = rss_bytes()
        return self._fallback() if found is None else found

    def enter(self, region: TrackedRegion) -> Any:
        return self.now_bytes(), high_water_bytes()

    def exit(self, region: TrackedRegion, token: Tuple[Optional[int], Optional[int]], resources: Resources) -> None:
        start, mark_before = token
        end, mark_after = self.now_bytes(), high_water_bytes()
        resources.rss_start, resources.rss_end = start, end
        held = [value for value in (start, end) if value is not None]
        if mark_before is not None and mark_after is not None and mark_after > mark_before:
            held.append(mark_after)
            resources.peak_is_exact = True
        # The kernel's figures lag behind one another by some pages.
        resources.rss_peak = max(held) if held else None


class ObjectProbe(Probe):
    """How many objects Python's collector knows when the region ends. It walks over all of them: for leaks."""

    what = "the number of Python objects"

    def enter(self, region: TrackedRegion) -> Any:
        return None

    def exit(self, region: TrackedRegion, token: Any, resources: Resources) -> None:
        resources.objects_end = len(gc.get_objects())
