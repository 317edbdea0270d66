"""Running counts of floating-point operations, one for each thread.

Counters add to the count of the thread they run in; a region takes the difference between its end and its start, so that
regions inside one another each get their own.
"""

from __future__ import annotations

import threading
from typing import Any, Dict, NamedTuple, Tuple


class Count(NamedTuple):
    """A count at some moment, or the difference of two."""

    flops: int
    operations: int
    """Operations that were counted."""
    uncounted: Dict[str, int]

    def since(self, earlier: Count) -> Count:
        """What was added since then."""
        uncounted = {name: times - earlier.uncounted.get(name, 0) for name, times in self.uncounted.items()}
        return Count(
            self.flops - earlier.flops,
            self.operations - earlier.operations,
            {name: times for name, times in uncounted.items() if times},
        )


class RunningCount(threading.local):
    """The count of the calling thread."""

    def __init__(self) -> None:
        self.flops = 0
        self.operations = 0
        self.uncounted: Dict[str, int] = {}

    def add(self, flops: int) -> None:
        """An operation was counted."""
        self.flops += flops
        self.operations += 1

    def add_uncounted(self, name: str) -> None:
        """An operation without a formula ran."""
        self.uncounted[name] = self.uncounted.get(name, 0) + 1

    def now(self) -> Count:
        """The count as it stands."""
        return Count(self.flops, self.operations, dict(self.uncounted))


Shape = Tuple[int, ...]


def elements(value: Any) -> int:
    """How many numbers an array holds; 1 for a number by itself."""
    size = getattr(value, "size", 1)
    return int(size) if isinstance(size, int) else 1
