"""Running counts of floating-point operations, one for each thread.

Counters add to the count of the thread they run in; a region takes the difference between its end and its start, so
that regions inside one another each get their own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple


class Count(NamedTuple):
    """A count at some moment, or the difference of two."""

    flops: int
    operations: int
    """Operations that were counted."""
    uncounted: dict[str, int]

    def since(self, earlier: Count) -> Count:
        """What was added since then."""
        uncounted = {name: times - earlier.uncounted.get(name, 0) for name, times in self.uncounted.items()}
        return Count(
            self.flops - earlier.flops,
            self.operations - earlier.operations,
            {name: times for name, times in uncounted.items() if times},
        )


class Parameters:
    """The parameters that operations worked on: each once, however often it was used."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.seen: dict[int, tuple[Any, int]] = {}

    def add(self, parameter: Any) -> None:
        """An operation had it as an argument."""
        known = self.seen.get(id(parameter))
        # A number may be used again once its parameter is gone.
        if known is None or known[0]() is not parameter:
            self.seen[id(parameter)] = (weakref.ref(parameter), int(parameter.numel()))

    def total(self) -> int:
        """How many numbers they hold."""
        return sum(size for _, size in self.seen.values())


class RunningCount(threading.local):
    """The count of the calling thread."""

    def __init__(self) -> None:
        self.flops = 0
        self.operations = 0
        self.uncounted: dict[str, int] = {}
        self.collecting: list[Parameters] = []

    def add_parameter(self, parameter: Any) -> None:
        """An operation worked on a parameter: each open region of this thread takes note."""
        for parameters in self.collecting:
            parameters.add(parameter)

    def add(self, flops: int) -> None:
        """An operation was counted."""
        self.flops += flops
        self.operations += 1

    def add_many(self, flops: int, operations: int, uncounted: Mapping[str, int]) -> None:
        """Several operations were counted at once."""
        self.flops += flops
        self.operations += operations
        for name, times in uncounted.items():
            self.add_uncounted(name, times)

    def add_uncounted(self, name: str, times: int = 1) -> None:
        """An operation without a formula ran."""
        self.uncounted[name] = self.uncounted.get(name, 0) + times

    def now(self) -> Count:
        """The count so far."""
        return Count(self.flops, self.operations, dict(self.uncounted))


class _OpenCounts(threading.local):
    """The counts that have a region open in the calling thread, by how many."""

    def __init__(self) -> None:
        self.regions: dict[RunningCount, int] = {}


_open = _OpenCounts()


def counts_open_here() -> tuple[RunningCount, ...]:
    """The counts of all profilers that have a region open in this thread, each once however many it has."""
    return tuple(_open.regions)


def open_here(count: RunningCount) -> None:
    """A region of this count opens in this thread."""
    _open.regions[count] = _open.regions.get(count, 0) + 1


def close_here(count: RunningCount) -> None:
    """A region of this count, opened in this thread, has ended."""
    left = _open.regions.get(count, 1) - 1
    if left > 0:
        _open.regions[count] = left
    else:
        _open.regions.pop(count, None)


def elements(value: Any) -> int:
    """How many numbers an array holds; 1 for a number by itself."""
    size = getattr(value, "size", 1)
    return int(size) if isinstance(size, int) else 1
