"""A second of a program in which no iterations were found: it tells more of it than its beginning does."""

from __future__ import annotations

import time
from typing import Callable

from .main_thread import MainThreadTimer
from .operator_memory import OperatorMemory

#: It begins so long after the program's beginning, or so long after loops were looked for in vain, and lasts so long.
_PATIENCE_S, _LONGER_S, _LASTS_S = 2.0, 3.0, 1.0


class Stretch:
    """Says when it begins and ends; what is called then may be called between any two instructions."""

    def __init__(self) -> None:
        #: When it began.
        self.began_s: float | None = None
        self._expected_s = 0.0
        self._limits: list[MainThreadTimer | OperatorMemory] = []

    @property
    def where(self) -> str:
        """Which part of the program has its operators recorded."""
        if self.began_s is None:
            return "at the script's beginning only"
        return f"in a stretch of it only, {self.began_s - self._expected_s:.1f} s after its beginning"

    def expect(self, due: Callable[[], None]) -> None:
        """The program's beginning is over."""
        self._expected_s = time.monotonic()
        self._limit(MainThreadTimer(_PATIENCE_S, due))

    def wait(self, due: Callable[[], None]) -> None:
        """Iterations may still be found."""
        self._limit(MainThreadTimer(_LONGER_S, due))

    def begin(self, memory_bytes: int, over: Callable[[], None]) -> None:
        """It begins, and ends when it is over or when its operators fill so much memory."""
        self.began_s = time.monotonic()
        self._limit(OperatorMemory(memory_bytes, lambda _: over()))
        self._limit(MainThreadTimer(_LASTS_S, over))

    def stop(self) -> None:
        """Nothing is due any more."""
        for limit in self._limits:
            limit.stop()
        self._limits.clear()

    def _limit(self, limit: MainThreadTimer | OperatorMemory) -> None:
        self._limits.append(limit)
        limit.start()
