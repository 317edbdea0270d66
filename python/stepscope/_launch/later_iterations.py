"""Iterations after a window: the clock is read once in each, to notice that they have changed for long.

All numbers here are heuristics. Programs change: layers are unfrozen, images grow, sequences get longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Callable

from .._native import now_ns
from .window import without_pauses

#: Iterations that are judged together; fewer if they take long.
_BLOCK = 30
_MIN_BLOCK, _BLOCK_NS = 5, 20_000_000_000
#: They have changed if they take so many times as long, or as short a time, for so many blocks and so long.
_CHANGED_RATIO = 1.5
_CHANGED_BLOCKS = 2
_CHANGED_NS = 2_000_000_000


class LaterIterations:
    """Compares them with ``usual_ns``; ``add`` gets the times of all, block by block, but for those in which they
    changed for long: these are :attr:`changed_ns`."""

    def __init__(self, usual_ns: float, add: Callable[[Sequence[int]], None]) -> None:
        self.usual_ns = usual_ns
        self._add = add
        self._block: list[int] = []
        self._block_ns = 0
        self._changed_blocks = self._changed_time_ns = 0
        self._has_changed = False
        #: Times of the iterations since they may have changed; if no one minds that they have, of the latest block.
        self.changed_ns: list[int] = []
        #: When the latest one ended.
        self.last_ns = now_ns()

    def iteration_ended(self, at_ns: int) -> bool:
        """One more has ended; whether they have changed for long."""
        took_ns = at_ns - self.last_ns
        self.last_ns = at_ns
        self._block.append(took_ns)
        self._block_ns += took_ns
        count = len(self._block)
        if count < _BLOCK and (count < _MIN_BLOCK or self._block_ns < _BLOCK_NS):
            return False
        block, self._block, self._block_ns = self._block, [], 0
        usual, _ = without_pauses(block)
        usual_ns = fmean(usual) if usual else 0.0
        if max(usual_ns, self.usual_ns) <= _CHANGED_RATIO * min(usual_ns, self.usual_ns):
            self._add(self.changed_ns)
            self._add(block)
            self._changed_blocks = self._changed_time_ns = 0
            self._has_changed, self.changed_ns = False, []
            return False
        self._changed_blocks += 1
        self._changed_time_ns += sum(block)
        if self._has_changed:
            self._add(self.changed_ns)
            self.changed_ns = []
        self.changed_ns += block
        self._has_changed = self._changed_blocks >= _CHANGED_BLOCKS and self._changed_time_ns >= _CHANGED_NS
        return self._has_changed

    def close(self) -> None:
        """The program has ended before they changed for long."""
        self._add(self.changed_ns + self._block)
