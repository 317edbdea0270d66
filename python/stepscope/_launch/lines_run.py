"""``stepscope run --lines``: lines of functions timed, and a table at the end."""

from __future__ import annotations

import builtins
import io
import os
from pathlib import Path
from types import CodeType, TracebackType

from .._exact.hot import LOOK_S, HotFunctions
from .._exact.line_text import FunctionLines, write_text
from .._exact.lines import lines
from .._exact.lprof_file import write_lprof
from .._exact.marked import take_over
from .._exact.patterns import named
from .exact_run import KEEP_EVERY_S, ExactRun
from .follow import Plan
from .joined_lines import add_lines

#: Given after ``--lines``: the busiest functions are found and timed.
AUTO = "auto"


class LinesRun(ExactRun):
    """``--lines``."""

    mode = "lines"
    ending = ".lprof"
    #: Of all processes, once those of children are there.
    _together: list[FunctionLines] | None = None
    question = "lines"

    def make(self) -> lines:
        names = self._arguments.lines or []
        self._hot = HotFunctions(self._time_these) if names == [AUTO] else None
        self._timed = lines.judged(named(names)) if names and self._hot is None else lines()
        self._timed.keep(self._path, KEEP_EVERY_S)
        return self._timed

    def plan(self) -> Plan:
        return Plan(self.mode, self._path, lines=list(self._arguments.lines or []))

    def timed_here(self) -> lines | None:
        return self._timed

    def _functions(self) -> list[FunctionLines]:
        return self._timed.timings if self._together is None else self._together

    def save(self) -> None:
        write_lprof(self._functions(), self._path)

    def join(self, paths: list[Path]) -> None:
        stem, ending = os.path.splitext(self._path)
        self._timed.save(f"{stem}.MainProcess-{self._process}{ending}")
        self._together = add_lines(self._timed.timings, paths)

    def _time_these(self, codes: list[CodeType]) -> None:
        for code in codes:
            self._timed.add_code(code, getattr(code, "co_qualname", code.co_name))
        names = ", ".join(getattr(code, "co_qualname", code.co_name) for code in codes)
        self.notes.append(f"busiest in the first {LOOK_S:g} s, and timed after that: {names or 'nothing of yours'}")

    def __enter__(self) -> None:
        if self._hot is not None:
            self._hot.start()
        take_over(self._timed)
        # As `kernprof -l` has it.
        vars(builtins)["profile"] = self._timed.add
        super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._hot is not None and os.getpid() == self._process:
            self._hot.stop()

    def theirs(self) -> str:
        return "a trace function"

    def is_empty(self) -> bool:
        return not any(one.lines for one in self._functions())

    def why_empty(self) -> str:
        names = self._arguments.lines
        if names == [AUTO]:
            return (
                f"no lines: the program ended within {LOOK_S:g} s or was busy elsewhere; name functions after --lines"
            )
        if names:
            return (
                f"no function called {' or '.join(names)} ran; quote * in a shell, and name files as file.py:function"
            )
        return "no function decorated with @profile ran; decorate one, or name functions after --lines"

    def how_much(self) -> str:
        hits = sum(hits for one in self._functions() for _, hits, _ in one.lines)
        return f"{hits:,} lines ran"

    def write_table(self, stream: io.StringIO) -> None:
        write_text(self._functions(), stream, 1e-6)
