"""Counts every call while a block runs: how often, by whom, how long."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from .._current_run import current_run
from .._native import CallRecorder
from ..errors import StepscopeError
from . import lines  # noqa: F401  `with functions(), lines(f):` must not count how `lines` is imported
from .block_profiler import BlockProfiler
from .cost import call_costs_ns
from .pstats_file import Stats, stats_of, write_pstats

_PACKAGE = Path(__file__).resolve().parent.parent
#: Files whose functions are ours and not the program's.
OURS = [
    str(_PACKAGE / name) for name in ("_exact", "_decorate.py", "_writing.py", "_launch", "_run.py", "_current_run.py")
]


class functions(BlockProfiler):
    """Counts every call while a block or a function runs, as ``cProfile`` does and for less.

    >>> with functions() as calls:
    ...     words = ["a", "b"]
    ...     longest = max(words, key=lambda word: len(word))
    >>> calls.calls, calls.stats["~", 0, "<built-in method builtins.len>"][1]
    (5, 2)

    Afterwards ``calls.print_stats(sort="cumulative", top=10)`` prints the table of ``pstats``, ``calls.save(path)``
    writes a file that ``pstats.Stats(path)`` and its viewers read, and ``pstats.Stats(calls)`` works too. With
    ``calls = functions()``, ``@calls`` decorates a function, and all runs of it add up.

    Threads are counted each with a stack of its own: all threads from Python 3.12 on; before, the one that starts and
    those that are started later. ``builtins=False`` leaves out C functions, which costs less.
    """

    #: It does not disturb a trace that is being recorded.
    beside_a_trace = True

    def __init__(self, *, builtins: bool = True) -> None:
        super().__init__()
        self._recorder = CallRecorder(builtins)
        self._process = os.getpid()
        self._stats: Stats | None = None
        self._replaced: Stats | None = None

    def _begin(self) -> None:
        run = current_run()
        if run is not None:
            run.profile_starts(self)
        self._stats = None
        self._recorder.start()

    def _end(self) -> None:
        # Calls that still run count as ended now.
        self._recorder.stop()

    @property
    def stats(self) -> Stats:
        """What ``pstats`` works with: ``{(file, line, name): (primitive calls, calls, own s, total s, callers)}``."""
        if self._recorder.running:
            raise StepscopeError("calls are still being counted", hint="leave the `with` block or call stop() first")
        if self._stats is None:
            self._stats = stats_of(self._recorder.rows(OURS)) if self._replaced is None else dict(self._replaced)
        return self._stats

    @stats.setter
    def stats(self, taken: Stats) -> None:
        # `pstats.Stats(calls)` takes the dict for itself and leaves another one here.
        self._stats = None

    def replace(self, stats: Stats) -> None:
        """From now on these are the calls: those of several processes, added up."""
        self._stats = self._replaced = stats

    def create_stats(self) -> None:
        """Called by ``pstats.Stats(calls)``."""
        self.stop()

    @property
    def displaced(self) -> bool:
        """Whether the program put a profile function of its own in the place of ours, so that calls are missing."""
        return self._recorder.displaced

    @property
    def calls(self) -> int:
        """How many calls were counted."""
        return sum(row[1] for row in self.stats.values())

    def overhead_s(self) -> float:
        """About how long the counting took: calls times what one costs on this interpreter, measured now."""
        python_ns, c_ns = call_costs_ns()
        python_calls, c_calls = self._recorder.counts()
        return (python_calls * python_ns + c_calls * c_ns) / 1e9

    def print_stats(
        self, sort: str | int | tuple[str, ...] = "cumulative", top: int | None = None, stream: IO[str] | None = None
    ) -> None:
        """Print the table of ``pstats``, sorted by one of its keys: ``"cumulative"``, ``"time"``, ``"calls"``.

        File names are shown without folders, as ``python -m cProfile`` does.
        """
        import pstats

        keys = sort if isinstance(sort, tuple) else (sort,)
        if not self.stats:
            print("no calls were counted", file=stream or sys.stdout)
            return
        table = pstats.Stats(self, stream=stream or sys.stdout)  # type: ignore[arg-type]
        try:
            table.strip_dirs().sort_stats(*keys)
        except (AttributeError, KeyError):
            raise StepscopeError(
                f"calls cannot be sorted by {sort!r}",
                hint='use for example "cumulative", "time", "calls" or "name"',
            ) from None
        table.print_stats(*([] if top is None else [top]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for ``pstats.Stats(path)``, ``snakeviz`` and other readers of ``cProfile``'s files."""
        write_pstats(self.stats, os.fspath(path))

    def keep(self, path: str, every_s: float) -> None:
        """Between the next :meth:`start` and :meth:`stop`, write the file every so often, so that a crash leaves it."""
        self._recorder.keep(path, every_s, OURS)

    def turn_off_in_child(self) -> None:
        self._recorder.stop()
        self._recorder = CallRecorder(False)
        super().turn_off_in_child()
