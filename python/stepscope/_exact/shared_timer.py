"""One timer of lines for all who ask: there is one place for it in the interpreter, and its cost is paid once.

Whoever asks remembers what the timer said at the start and takes it off at the end.
"""

from __future__ import annotations

import threading
from types import CodeType
from typing import Callable

from .. import _forks
from .._native import LineTimer

LineKey = tuple[str, int, str, int]
"""File, first line and name of the function; line."""

Sums = dict[LineKey, tuple[int, int]]
"""Hits and nanoseconds."""


class SharedTimer:
    """Runs while anyone wants it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._timer: LineTimer | None = None
        self._judges: list[Callable[[CodeType], bool]] = []
        self._users = 0
        self.displaced = False

    def begin(self, codes: list[CodeType], judge: Callable[[CodeType], bool] | None = None) -> tuple[Sums, int]:
        """Time these lines, and those of the code that ``judge`` accepts. Returns the sums and events up to now."""
        with self._lock:
            timer = self._timer
            if timer is None or judge is not None:
                timer = self._make(judge)
            for code in codes:
                timer.watch(code)
            if self._users == 0:
                try:
                    timer.start()
                except BaseException:
                    self._timer = None
                    raise
                _forks.watch(self)
            self._users += 1
            return self.sums(), timer.events()

    def _make(self, judge: Callable[[CodeType], bool] | None) -> LineTimer:
        if self._users:
            # The timer that runs asks this list too.
            assert judge is not None and self._timer is not None
            self._judges.append(judge)
            return self._timer
        self._judges = [] if judge is None else [judge]
        self._timer = LineTimer(self._accepts if judge is not None else None)
        self.displaced = False
        return self._timer

    def _accepts(self, code: CodeType) -> bool:
        return any(judge(code) for judge in self._judges)

    def add(self, codes: list[CodeType]) -> None:
        """Time these too."""
        with self._lock:
            if self._timer is not None:
                for code in codes:
                    self._timer.watch(code)

    def keep(self, path: str, every_s: float) -> None:
        """Write what is timed into a file every so often, until no one wants it any more."""
        with self._lock:
            if self._timer is not None:
                self._timer.keep(path, every_s)

    def end(self, codes: list[CodeType]) -> tuple[Sums, int]:
        """Time these no more. Returns the sums and events up to now."""
        with self._lock:
            timer = self._timer
            if timer is None:
                return {}, 0
            self._users -= 1
            if self._users == 0:
                self.displaced = not timer.stop()
                _forks.unwatch(self)
            found = self.sums(), timer.events()
            for code in codes:
                timer.unwatch(code)
            if self._users == 0:
                self._timer = None
            return found

    def sums(self) -> Sums:
        """What the timer says now."""
        rows = self._timer.rows() if self._timer is not None else []
        return {(file, first, name, line): (hits, ns) for file, first, name, line, hits, ns in rows}

    def turn_off_in_child(self) -> None:
        """In a forked child: what is timed is the parent's."""
        if self._timer is not None:
            self._timer.stop()
        self._lock = threading.RLock()
        self._timer = None
        self._users = 0


shared = SharedTimer()
