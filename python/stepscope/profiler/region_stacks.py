"""The Python stacks that regions are entered from, where PyTorch does not record them.

While a window asks for stacks, each region notes its callers as it is entered and is then recorded as ever. A region
is found again by its thread and its start, which lies between two readings of the clock.
"""

from __future__ import annotations

import operator
import sys
import threading
from array import array
from bisect import bisect_left
from functools import partial
from itertools import count
from types import CodeType, FrameType
from typing import Any, Callable, Optional

from .. import _native
from .sampler import MOST_FRAMES, FrameNames, codes_of_stack

_torch_region: Optional[Callable[[str], Any]] = None
"""What makes PyTorch's regions, while it records: then regions are its own."""
_noting: tuple[RegionStacks, ...] = ()
"""Who wants to know where regions are entered."""


class _Entries:
    """What one thread entered, in the order of time."""

    def __init__(self) -> None:
        self.before_ns = array("q")
        self.after_ns = array("q")
        self.stacks = array("l")


class RegionStacks:
    """Notes the stacks of regions between :meth:`start` and :meth:`stop`, and tells them afterwards."""

    def __init__(self) -> None:
        self._names = FrameNames()
        self._threads: dict[int, _Entries] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._next = count()
        # The objects are kept, so that their identities are not given to others.
        self._stacks: dict[int, list[CodeType]] = {}
        self._texts: dict[int, list[str]] = {}

    def start(self) -> None:
        """Begins to note."""
        global _noting
        _noting = (*_noting, self)
        _apply()

    def stop(self) -> None:
        """Ends."""
        global _noting
        _noting = tuple(other for other in _noting if other is not self)
        _apply()

    def of(self, thread: int, start_ns: int) -> list[str]:
        """The stack that the region was entered from, innermost frame first; none if it is not known."""
        entries = self._threads.get(thread)
        if entries is None:
            return []
        place = bisect_left(entries.after_ns, start_ns)
        if place == len(entries.stacks) or entries.before_ns[place] > start_ns:
            return []
        return self._told(entries.stacks[place])

    def _told(self, number: int) -> list[str]:
        told = self._texts.get(number)
        if told is None:
            codes = self._names.of_program(self._stacks[number])
            told = self._texts[number] = [self._names.of_code(code) for code in codes[:MOST_FRAMES]]
        return list(told)

    def number_of(self, innermost: FrameType | None) -> int:
        """The number of a stack. Equal ones have one number."""
        codes = codes_of_stack(innermost)
        key = tuple(map(id, codes))
        number = self._numbers.get(key)
        if number is None:
            # Two threads may meet the same stack at once: then it has two numbers, which are told alike.
            number = next(self._next)
            self._stacks[number] = codes
            self._numbers[key] = number
        return number

    def note(self, thread: int, before_ns: int, after_ns: int, stack: int) -> None:
        """A region was entered between two readings of the clock."""
        entries = self._threads.get(thread)
        if entries is None:
            entries = self._threads[thread] = _Entries()
        entries.before_ns.append(before_ns)
        entries.after_ns.append(after_ns)
        entries.stacks.append(stack)


_call = operator.methodcaller("__call__")


class _NotedRegion:
    """A region that notes its callers as it is entered."""

    __slots__ = ("_region",)

    def __init__(self, name: str) -> None:
        self._region = _native.record_function(name)

    def __enter__(self) -> None:
        noting, numbers = _noting, []
        try:
            numbers = [stacks.number_of(sys._getframe(1)) for stacks in noting]
        except (MemoryError, RecursionError):
            pass  # the program is at its limits: the region goes without a stack
        # The region is one of ours, and must not come here again; those of other threads must. Nothing in this list
        # is Python, so the interpreter goes to no other thread in between.
        restore, now_ns = _restore, _native.now_ns
        _, before_ns, _, after_ns, _ = map(_call, (_send_nowhere, now_ns, self._region, now_ns, restore))
        if restore is not _restore:
            _restore()
        thread = threading.get_native_id()
        for stacks, number in zip(noting, numbers):
            stacks.note(thread, before_ns, after_ns, number)

    def __exit__(self, *exception: object) -> None:
        self._region.__exit__(*exception)


def send_to_torch(make: Callable[[str], Any] | None) -> None:
    """Regions are made by this from now on, or are ours again."""
    global _torch_region
    _torch_region = make
    _apply()


def forget_after_fork() -> None:
    """In a forked child: nothing is noted."""
    global _noting, _torch_region
    _noting, _torch_region = (), None
    _apply()


_send_nowhere = partial(_native.set_torch_regions, None)
_restore = _send_nowhere
"""Sends regions where they go now."""


def _apply() -> None:
    global _restore
    _restore = partial(_native.set_torch_regions, _torch_region or (_NotedRegion if _noting else None))
    _restore()
