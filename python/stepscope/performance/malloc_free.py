"""How much of this process's memory its C allocator holds without anybody using it.

What a program frees stays with the allocator as a rule, so that resident memory is the most that was ever needed at
once: it rises with every new record and hides what is kept meanwhile. Resident memory less what the allocator has free
is what the program holds. glibc tells (``mallinfo2``); it walks over its free pieces, so asking stops where that takes
long.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from time import perf_counter_ns
from typing import Any, Callable

MAX_NS = 200_000
"""Longer than this three times in a row, and it is not asked again (a heuristic): tens of thousands of free pieces take
milliseconds. Once may be a busy machine."""
_SLOW = 3
_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Info(ctypes.Structure):
    """``struct mallinfo2``."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


@functools.cache
def _find() -> Callable[[], Any] | None:
    if sys.platform != "linux":
        return None
    try:
        found = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):  # musl, or a glibc before 2.33
        return None
    found.argtypes, found.restype = [], _Info
    return found


class MallocFree:
    """Asks glibc as long as it answers quickly."""

    __slots__ = ("_ask", "_max_ns", "_slow")

    def __init__(self, ask: Callable[[], Any] | None = None, max_ns: int = MAX_NS) -> None:
        self._ask = ask or _find()
        self._max_ns = max_ns
        self._slow = 0

    def free_bytes(self) -> int | None:
        """What the allocator holds without use; ``None`` where nobody knows, or it would take long."""
        if self._ask is None:
            return None
        start = perf_counter_ns()
        free = int(self._ask().fordblks)
        self._slow = self._slow + 1 if perf_counter_ns() - start > self._max_ns else 0
        if self._slow >= _SLOW:
            self._ask = None
        return free
