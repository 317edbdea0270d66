"""The Python stacks that regions are entered from, where PyTorch does not record them.

While a capture asks for stacks, each region notes its callers as it is entered, and the trace holds them as PyTorch's
old traces do: as an argument ``Call stack``, the innermost frame first.
"""

from __future__ import annotations

import sys
from types import CodeType

from .._native import number_of_text, set_region_stacks
from .sampler import MAX_FRAMES, FrameNames, codes_of_stack

BETWEEN_FRAMES = ";"

_captures = 0
"""How many captures ask for stacks."""


class _Notes:
    """Stacks by their functions."""

    def __init__(self) -> None:
        self._names = FrameNames()
        # By identity, because hashing a code object walks all of it. The objects are kept, so that their identities
        # are not given to others.
        self._numbers: dict[tuple[int, ...], tuple[int, list[CodeType]]] = {}

    def here(self) -> int:
        """The number of the caller's stack."""
        codes = codes_of_stack(sys._getframe(1))
        key = tuple(map(id, codes))
        known = self._numbers.get(key)
        if known is None:
            names = (self._names.of_code(code) for code in self._names.of_program(codes)[:MAX_FRAMES])
            text = BETWEEN_FRAMES.join(name.replace(BETWEEN_FRAMES, ",") for name in names)
            known = self._numbers[key] = (number_of_text(text), codes)
        return known[0]


def ask_for_stacks() -> None:
    """One more capture wants to know where regions are entered."""
    _set_captures(_captures + 1)


def done_with_stacks() -> None:
    """One fewer does."""
    _set_captures(max(0, _captures - 1))


def forget_after_fork() -> None:
    """In a forked child: nothing is noted."""
    _set_captures(0)


def _set_captures(number: int) -> None:
    global _captures
    note: _Notes | None = _Notes() if number and not _captures else None
    if note is not None or not number:
        set_region_stacks(None if note is None else note.here)
    _captures = number
