"""Times the lines of functions while a block runs: how often each ran, how long it took."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import IO, Any, Callable

from ..errors import StepscopeError
from .block_profiler import BlockProfiler, Function
from .code_of import code_of
from .cost import line_event_cost_ns
from .line_text import FunctionLines, write_text
from .lprof_file import write_lprof
from .shared_timer import Sums, shared


class lines(BlockProfiler):
    """Times the lines of functions while a block or a function runs, as ``line_profiler`` does and for much less.

    >>> def work(times):
    ...     total = 0
    ...     for number in range(times):
    ...         total += number
    ...     return total
    >>> with lines(work) as timed:
    ...     _ = work(10)
    >>> [hits for _, hits, _ in timed.timings[0].lines]
    [1, 11, 10, 1]

    Afterwards ``timed.print_stats()`` prints the table of ``line_profiler``, and ``timed.save(path)`` writes a file
    that ``python -m line_profiler path`` reads. Functions can be given as functions, methods, or classes (all methods).
    With ``timed = lines()``, ``@timed`` decorates a function whose lines are timed whenever it runs.

    The time of a line holds what the line calls, except other calls of the same function: the lines of a function add
    up to the time spent in it.
    """

    def __init__(self, *functions: Any) -> None:
        super().__init__()
        self._codes: list[CodeType] = []
        self._names: dict[tuple[str, int, str], str] = {}
        self._judge: Callable[[CodeType], bool] | None = None
        self._earlier: tuple[Sums, int] = ({}, 0)
        self._sums: Sums = {}
        self._events = 0
        self._kept: tuple[str, float] | None = None
        #: Whether the program put a trace function of its own in the place of ours, so that lines are missing.
        self.displaced = False
        for function in functions:
            self.add(function)

    @classmethod
    def judged(cls, judge: Callable[[CodeType], bool]) -> lines:
        """Times whatever functions ``judge`` accepts when they are first called."""
        made = cls()
        made._judge = judge
        return made

    def anew(self) -> lines:
        """The same functions, with nothing timed: for a child of this process."""
        made = lines()
        made._codes, made._names, made._judge = list(self._codes), dict(self._names), self._judge
        return made

    def add(self, function: Function) -> Function:
        """Time the lines of this function too. Returns it, so that this is a decorator."""
        for code, name in code_of(function):
            self.add_code(code, name)
        return function

    def add_code(self, code: CodeType, name: str) -> None:
        """Time the lines of this code too, under this name."""
        if any(code is known for known in self._codes):
            return
        self._codes.append(code)
        self._names[code.co_filename, code.co_firstlineno, code.co_name] = name
        if self._depth:
            shared.add([code])

    def start(self) -> None:
        """Begin to time, on top of what was timed before."""
        with self._lock:
            if self._depth == 0:
                self._earlier = shared.begin(self._codes, self._judge)
                if self._kept is not None:
                    shared.keep(*self._kept)
            self._depth += 1

    def stop(self) -> None:
        """Stop timing."""
        with self._lock:
            if self._depth == 1:
                sums, events = shared.end(self._codes)
                self.displaced = shared.displaced
                self._events += events - self._earlier[1]
                for key, (hits, ns) in sums.items():
                    old_hits, old_ns = self._earlier[0].get(key, (0, 0))
                    known_hits, known_ns = self._sums.get(key, (0, 0))
                    if hits > old_hits or ns > old_ns:
                        self._sums[key] = (known_hits + hits - old_hits, known_ns + ns - old_ns)
            self._depth = max(0, self._depth - 1)

    def __call__(self, function: Function) -> Function:
        """The function, its lines timed whenever it runs."""
        return super().__call__(self.add(function))

    @property
    def timings(self) -> list[FunctionLines]:
        """The functions, each with (line, hits, nanoseconds) of the lines that ran."""
        if self._depth:
            raise StepscopeError("lines are still being timed", hint="leave the `with` block or call stop() first")
        found: dict[tuple[str, int, str], FunctionLines] = {}
        for code in self._codes:
            place = (code.co_filename, code.co_firstlineno, self._name(code))
            found[place] = FunctionLines(*place)
        for (file, first, name, line), (hits, ns) in sorted(self._sums.items()):
            name = self._names.get((file, first, name.rpartition(".")[2]), name)
            place = (file, first, name)
            if place not in found:
                if self._judge is None:
                    continue  # Someone else's.
                found[place] = FunctionLines(*place)
            found[place].lines.append((line, hits, ns))
        return sorted(found.values(), key=lambda one: (one.file, one.first_line, one.name))

    def _name(self, code: CodeType) -> str:
        return self._names[code.co_filename, code.co_firstlineno, code.co_name]

    def overhead_s(self) -> float:
        """About how long the timing took: events times what one costs on this interpreter, measured now."""
        return self._events * line_event_cost_ns(own=False) / 1e9

    def print_stats(self, stream: IO[str] | None = None, unit_s: float = 1e-6) -> None:
        """Print the table of ``line_profiler``, with times in units of ``unit_s`` seconds."""
        write_text(self.timings, stream or sys.stdout, unit_s)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for ``python -m line_profiler path``."""
        write_lprof(self.timings, os.fspath(path))

    def keep(self, path: str, every_s: float) -> None:
        """Between the next :meth:`start` and :meth:`stop`, write the file every so often, so that a crash leaves it."""
        self._kept = (path, every_s)
