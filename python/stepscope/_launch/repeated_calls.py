"""Finding the function that a program calls once per iteration, among all that it calls over and over.

A heuristic. It is the first one between whose calls the same others were made several times in a row; one that is
called alone, as most training steps are, has to be called more often, since it may also be one of many in an inner
loop."""

from __future__ import annotations

from collections.abc import Hashable

from .._native import now_ns

#: Equal stretches between calls in a row.
_MIN_STRETCHES = 4
_MIN_STRETCHES_ALONE = 10
#: Calls that take this long together are not an inner loop.
_SLOW_NS = 2_000_000_000
#: A program that calls more functions than that makes them as it goes.
_MAX_FUNCTIONS = 10_000


class _Function:
    """What is known of one of them."""

    __slots__ = ("between", "sum_after", "stretches", "since_ns", "calls", "times_ns")

    def __init__(self, sum_after: int, called_ns: int) -> None:
        self.between: int | None = None
        self.sum_after = sum_after
        self.stretches = 0
        self.since_ns = called_ns
        self.calls = 1
        self.times_ns = [called_ns]


class RepeatedCalls:
    """Gets the calls, and says which of them end an iteration.

    >>> calls = RepeatedCalls()
    >>> [name for name in "init" + "affb" * 6 if calls.called(name)]
    ['a', 'a']
    """

    def __init__(self) -> None:
        self._functions: dict[Hashable, _Function] = {}
        self._sum = 0
        self._found: Hashable | None = None
        #: Calls of the function before the one that showed which it is, and when the first two of them were.
        self.unseen = 0
        self.times_ns: list[int] = []

    def called(self, function: Hashable) -> bool:
        """Whether this is the function that was found."""
        if self._found is not None:
            return function == self._found
        # Sums tell stretches apart in which other functions, or more of them, were called.
        sum_before, self._sum = self._sum, self._sum + hash(function)
        called_ns = now_ns()
        known = self._functions.get(function)
        if known is None:
            if len(self._functions) >= _MAX_FUNCTIONS:
                self._functions.clear()
            self._functions[function] = _Function(self._sum, called_ns)
            return False
        known.calls += 1
        if known.calls == 2:
            known.times_ns.append(called_ns)
        between = sum_before - known.sum_after
        if between == known.between:
            known.stretches += 1
        else:
            known.between, known.stretches, known.since_ns = between, 1, called_ns
        known.sum_after = self._sum
        is_alone = between == 0 and called_ns - known.since_ns < _SLOW_NS
        if known.stretches < (_MIN_STRETCHES_ALONE if is_alone else _MIN_STRETCHES):
            return False
        self._found, self.unseen, self.times_ns = function, known.calls - 1, known.times_ns
        self._functions.clear()
        return True
