"""The Python stacks that regions are entered from, where PyTorch does not record them.

While a window asks for stacks, each region notes its callers as it is entered, and the trace holds them as PyTorch's
old traces do: as an argument ``Call stack``, the innermost frame first.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Optional

from .. import _native
from .sampler import MOST_FRAMES, FrameNames, codes_of_stack

BETWEEN_FRAMES = ";"

_windows = 0
"""How many windows ask for stacks."""


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
            names = (self._names.of_code(code) for code in self._names.of_program(codes)[:MOST_FRAMES])
            text = BETWEEN_FRAMES.join(name.replace(BETWEEN_FRAMES, ",") for name in names)
            known = self._numbers[key] = (_native.number_of_text(text), codes)
        return known[0]


def ask_for_stacks() -> None:
    """One more window wants to know where regions are entered."""
    _set_windows(_windows + 1)


def done_with_stacks() -> None:
    """One fewer does."""
    _set_windows(max(0, _windows - 1))


def forget_after_fork() -> None:
    """In a forked child: nothing is noted."""
    _set_windows(0)


def _set_windows(number: int) -> None:
    global _windows
    note: Optional[_Notes] = _Notes() if number and not _windows else None
    if note is not None or not number:
        _native.set_region_stacks(None if note is None else note.here)
    _windows = number
