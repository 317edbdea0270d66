"""Who allocates memory while a block runs: the peak, the lines that hold it, and what is never freed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType
from typing import IO, Any, Callable

from .._native import LineTimer, MemoryTracker
from .._writing import whole_path, written_by
from ..errors import StepscopeError
from ..table import Table
from ..trace import Trace
from .block_profiler import BlockProfiler, Function
from .code_of import code_of
from .memory_text import LineOfMemory, write_lines

#: Bytes between two samples, on average, where not every allocation is looked at.
SAMPLE_BYTES = 32 * 1024

_PACKAGE = Path(__file__).resolve().parent.parent
#: Files whose lines are ours and not the program's; the first is what runs a program, which begins above it.
_OURS = [str(_PACKAGE / "_launch" / "script.py"), str(_PACKAGE) + os.sep]


class track(BlockProfiler):
    """Tracks who allocates memory while a block or a function runs, in Python and in native libraries.

    >>> with track() as memory:
    ...     kept = bytearray(10_000_000)
    ...     freed = bytearray(30_000_000)
    ...     del freed
    >>> round(memory.peak / 1e6), round(memory.live / 1e6)
    (40, 10)

    Afterwards ``memory.by_line()`` and ``memory.by_stack()`` say who held the peak, ``memory.leaked()`` what was not
    freed, ``print(memory)`` all of it, and ``memory.save(path)`` writes a file for ``stepscope memory path``. With
    ``memory = track()``, ``@memory`` decorates a function; what is kept is that of its last run.

    Lines of the given functions are measured: ``memory.print_lines()`` then prints what ``memory_profiler`` does.
    ``exact=False`` samples one allocation per 32 KiB on average and estimates the rest, with less overhead.
    """

    def __init__(self, *functions: Any, exact: bool = True, sample_bytes: int | None = None) -> None:
        super().__init__()
        if sample_bytes is None:
            sample_bytes = 0 if exact else SAMPLE_BYTES
        if sample_bytes < 0:
            raise StepscopeError("sample_bytes must be 0 or more", hint="0 records every allocation")
        self._tracker = MemoryTracker(sample_bytes)
        self._sample_bytes = sample_bytes
        self._codes: list[CodeType] = []
        self._judge: Callable[[CodeType], bool] | None = None
        self._lines: LineTimer | None = None
        self._rows: list[LineOfMemory] = []
        self._trace: Trace | None = None
        #: What it is called where it is shown.
        self.name = "memory"
        for function in functions:
            self.add(function)

    def judge_lines(self, judge: Callable[[CodeType], bool]) -> None:
        """Look at the lines of whatever functions ``judge`` accepts when they are first called."""
        self._judge = judge

    def add(self, function: Function) -> Function:
        """Look at the lines of this function too. Returns it, so that this is a decorator."""
        for code, _ in code_of(function):
            self._codes.append(code)
            if self._lines is None and self._depth:
                self._start_lines()
            elif self._lines is not None:
                self._lines.watch(code)
        return function

    def _start_lines(self) -> None:
        self._lines = LineTimer(self._judge, memory=True)
        for code in self._codes:
            self._lines.watch(code)
        self._lines.start()

    def _begin(self) -> None:
        self._trace = None
        self._rows = []
        try:
            if self._codes or self._judge is not None:
                self._start_lines()
            self._tracker.start()
        except BaseException:
            self._end_lines()
            raise

    def _end(self) -> None:
        self._tracker.stop()
        self._end_lines()
        # What someone asked for meanwhile is of then.
        self._trace = None

    def _end_lines(self) -> None:
        if self._lines is not None:
            self._lines.stop()
            self._rows = self._lines.memory_rows()
            self._lines = None

    @property
    def running(self) -> bool:
        """Whether memory is being tracked."""
        return self._tracker.running

    @property
    def displaced(self) -> bool:
        """Whether the program put back allocators from before, as ``tracemalloc.stop()`` does if it started earlier, so
        that memory is missing."""
        return self._tracker.displaced

    def trace(self) -> Trace:
        """All of it, as ``stepscope.open`` gives what was saved."""
        if self._trace is None or self._depth:
            self._trace = Trace(self._tracker.trace(_OURS, self._line_rows(), self.name))
        return self._trace

    def _line_rows(self) -> list[LineOfMemory]:
        return self._rows if self._lines is None else self._lines.memory_rows()

    def _facts(self) -> tuple[int, int, int]:
        return self.trace()._native.heap or (0, 0, 0)

    @property
    def peak(self) -> int:
        """The most bytes that were allocated at once."""
        return self._facts()[0]

    @property
    def peak_at_s(self) -> float:
        """When that was, in seconds since the start."""
        return self._facts()[1] / 1e9

    @property
    def live(self) -> int:
        """Bytes that were allocated and not freed at the end."""
        return self._facts()[2]

    def by_line(self) -> Table:
        """Lines by what they held at the peak: of each stack, the innermost line that is not a library's."""
        return self.trace().memory()

    def by_stack(self, frames: int = 20) -> Table:
        """Stacks by what they held at the peak."""
        return self.trace().memory(by="stack", frames=frames)

    def leaked(self) -> Table:
        """Lines by what they allocated that was not freed when the block ended."""
        return self.trace().memory(leaks=True)

    def line_memory(self) -> list[LineOfMemory]:
        """What lines of the chosen functions did: file, first line and name of the function, line, occurrences, the
        most of the process in memory after it, and what it added."""
        return list(self._line_rows())

    def print_lines(self, stream: IO[str] | None = None) -> None:
        """Print the table of ``memory_profiler`` for each function that was given."""
        write_lines(self.line_memory(), stream or sys.stdout)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for ``stepscope memory path``."""
        path = os.fspath(path)

        def write() -> None:
            with whole_path(path) as partial:
                self._tracker.write(partial, _OURS, self._line_rows())

        written_by("the memory", path, write)

    def __str__(self) -> str:
        return self.trace().summary(100)

    def __repr__(self) -> str:
        return f"<track: {'running' if self._depth else 'ended'}>"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"

    def turn_off_in_child(self) -> None:
        self._tracker.stop()
        if self._lines is not None:
            self._lines.stop()
            self._lines = None
        super().turn_off_in_child()
