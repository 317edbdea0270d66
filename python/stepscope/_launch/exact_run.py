"""``stepscope run --functions`` and ``stepscope run --lines``: calls counted or lines timed, and a table at the end.

Nothing in here may disturb the script: what goes wrong becomes a note in the report.
"""

from __future__ import annotations

import builtins
import io
import os
import shlex
import sys
import time
from types import CodeType, TracebackType
from typing import Protocol

from .._current_run import CurrentRun
from .._exact.functions import functions
from .._exact.hot import LOOK_S, HotFunctions
from .._exact.lines import lines
from .._exact.marked import take_over
from .._exact.patterns import named
from .._native import questions
from .._units import time_text
from ..errors import StepscopeError
from .arguments import RunArguments

#: Given after ``--lines``: the busiest functions are found and timed.
AUTO = "auto"
#: Whether calls and lines come from ``sys.monitoring``, beside other tools and from all threads.
_BESIDE_OTHERS = hasattr(sys, "monitoring")


class _Measured(Protocol):
    @property
    def displaced(self) -> bool: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def save(self, path: str) -> None: ...


class ExactRun(CurrentRun):
    """Goes around the script's own code; :meth:`report` then prints and writes."""

    ending = ""
    #: The question that reads the file, and what reads it without us.
    question = ""
    other_reader = ""

    def __init__(self, arguments: RunArguments) -> None:
        self._arguments = arguments
        self._process = os.getpid()
        self._started_s = self._wall_s = 0.0
        self._runs = False
        self.notes: list[str] = []
        self.measured: _Measured = self.make()
        # The script may change the current folder; the file goes where the user stood.
        name = os.path.basename(os.path.abspath(arguments.program)) or "program"
        path = arguments.output or name + self.ending
        if os.path.isdir(path):
            path = os.path.join(path, name + self.ending)
        self._path = os.path.abspath(os.path.expanduser(path))

    def make(self) -> _Measured:
        """What counts or times."""
        raise NotImplementedError

    def __enter__(self) -> None:
        self._started_s = time.perf_counter()
        self._runs = True
        try:
            self.measured.start()
        except StepscopeError as error:
            self._runs = False
            self.notes.append(f"nothing is recorded: {error}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # First of all: what follows is not the script's. In a forked child it has been stopped.
        if self._runs:
            self.measured.stop()
            self._wall_s = time.perf_counter() - self._started_s

    def step_aside(self, reason: str) -> None:
        """The script does the same itself."""
        if self._runs:
            self._runs = False
            self.measured.stop()
            self.notes.append(reason)

    def report(self) -> None:
        """Print the table to stderr and write the file, unless this is a forked child."""
        if os.getpid() != self._process:
            return
        if self._runs:
            try:
                self._write()
            except StepscopeError as error:
                self.notes.append(str(error))
        for note in self.notes:
            print(f"stepscope: {note}", file=sys.stderr)

    def _write(self) -> None:
        arguments = self._arguments
        if self.measured.displaced:
            self.notes.append(f"the script installed {self.theirs()} of its own; what came after it is missing")
        if self.is_empty():
            self.notes.append(self.why_empty())
            return
        if not arguments.quiet:
            text = io.StringIO()
            self.write_table(text)
            sys.stderr.write(text.getvalue())
        self.measured.save(self._path)
        if arguments.quiet:
            return
        self.notes.append(self.cost_note())
        shown = os.path.relpath(self._path)
        shown = shlex.quote(self._path if shown.startswith("..") else shown)
        known = any(name == self.question for name, _ in questions())
        reader = f"stepscope {self.question}" if known else self.other_reader
        self.notes.append(f"{shown}  (look again: {reader} {shown})")

    def cost_note(self) -> str:
        """What was recorded, and what that cost."""
        took, overhead = time_text(self._wall_s * 1e9), time_text(self.overhead_s() * 1e9)
        return (
            f"{self.how_much()} in {took}, about {overhead} of it for "
            "recording them (estimated from the cost measured on this interpreter)"
        )

    def overhead_s(self) -> float:
        """About how long the recording took."""
        raise NotImplementedError

    def theirs(self) -> str:
        """What takes our place."""
        raise NotImplementedError

    def is_empty(self) -> bool:
        """Whether nothing was seen."""
        raise NotImplementedError

    def why_empty(self) -> str:
        """Why that may be."""
        raise NotImplementedError

    def how_much(self) -> str:
        """What was seen, in a few words."""
        raise NotImplementedError

    def write_table(self, stream: io.StringIO) -> None:
        """The table."""
        raise NotImplementedError


class FunctionsRun(ExactRun):
    """``--functions``."""

    ending = ".prof"
    question = "functions"
    other_reader = "python -m pstats"

    def make(self) -> functions:
        self._calls = functions()
        return self._calls

    def overhead_s(self) -> float:
        return self._calls.overhead_s()

    def profile_starts(self, profile: object) -> None:
        if isinstance(profile, functions) and profile is not self._calls and not _BESIDE_OTHERS:
            self.step_aside("the script counts calls itself, so nothing else was recorded")

    def theirs(self) -> str:
        return "a profile function"

    def is_empty(self) -> bool:
        return not self._calls.stats

    def why_empty(self) -> str:
        return "no calls were seen"

    def how_much(self) -> str:
        return f"{self._calls.calls:,} calls"

    def write_table(self, stream: io.StringIO) -> None:
        self._calls.print_stats(self._arguments.sort, self._arguments.top or None, stream)


class LinesRun(ExactRun):
    """``--lines``."""

    ending = ".lprof"
    question = "lines"
    other_reader = "python -m line_profiler"

    def make(self) -> lines:
        names = self._arguments.lines or []
        self._hot = HotFunctions(self._time_these) if names == [AUTO] else None
        self._timed = lines.judged(named(names)) if names and self._hot is None else lines()
        return self._timed

    def overhead_s(self) -> float:
        return self._timed.overhead_s()

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
        return not any(one.lines for one in self._timed.timings)

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
        hits = sum(hits for one in self._timed.timings for _, hits, _ in one.lines)
        return f"{hits:,} lines ran"

    def write_table(self, stream: io.StringIO) -> None:
        self._timed.print_stats(stream)
