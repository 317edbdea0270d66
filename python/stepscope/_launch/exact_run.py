"""``stepscope run --functions``, ``--lines`` and ``--calls``: calls counted, lines timed and a table at the end, or a
timeline of calls.

Nothing in here may disturb the script: what goes wrong becomes a note in the report.
"""

from __future__ import annotations

import atexit
import builtins
import io
import os
import shlex
import sys
import time
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Protocol

from .._current_run import CurrentRun
from .._exact.call_trace import calls
from .._exact.functions import functions
from .._exact.hot import LOOK_S, HotFunctions
from .._exact.line_text import FunctionLines, write_text
from .._exact.lines import lines
from .._exact.lprof_file import write_lprof
from .._exact.marked import take_over
from .._exact.patterns import named
from .._native import questions
from .._units import time_text
from ..errors import StepscopeError
from .arguments import RunArguments
from .child_run import follow
from .follow import Plan
from .joined import add_functions, add_lines, append_calls, child_files

#: Given after ``--lines``: the busiest functions are found and timed.
AUTO = "auto"
#: Whether calls and lines come from ``sys.monitoring``, beside other tools and from all threads.
_BESIDE_OTHERS = hasattr(sys, "monitoring")


class _Measured(Protocol):
    @property
    def displaced(self) -> bool: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def overhead_s(self) -> float: ...

class ExactRun(CurrentRun):
    """Goes around the script's own code; :meth:`report` then prints and writes."""

    ending = ""
    mode = ""
    #: The question that reads the file, and what reads it without us.
    question = ""
    other_reader = ""

    def __init__(self, arguments: RunArguments) -> None:
        self._arguments = arguments
        self._process = os.getpid()
        self._started_s = self._wall_s = 0.0
        self._runs = self._is_late = False
        self.notes: list[str] = []
        # The script may change the current folder; the file goes where the user stood.
        name = os.path.basename(os.path.abspath(arguments.program)) or "program"
        path = arguments.output or name + self.ending
        if os.path.isdir(path):
            path = os.path.join(path, name + self.ending)
        self._path = os.path.abspath(os.path.expanduser(path))
        self.measured = self.make()
        self._began_s = time.time()
        self._followed = follow(self.plan(), self.timed_here)

    def make(self) -> _Measured:
        """What counts, times or records."""
        raise NotImplementedError

    def plan(self) -> Plan:
        """What children do."""
        return Plan(self.mode, self._path)

    def timed_here(self) -> lines | None:
        """What times lines in this process."""
        return None

    def __enter__(self) -> None:
        self._started_s = time.perf_counter()
        self._runs = True
        if self._arguments.follow:
            # What is registered first is called last: when `multiprocessing` has ended its children.
            atexit.register(self._report_late)
            self._followed.following.start()
        try:
            self.measured.start()
        except StepscopeError as error:
            self._runs = False
            self.notes.append(f"nothing is recorded: {error}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # First of all: what follows is not the script's. A forked child has a recording of its own.
        if self._runs and os.getpid() == self._process:
            self.measured.stop()
            self._wall_s = time.perf_counter() - self._started_s
        if os.getpid() == self._process and not _children_run():
            self._followed.following.stop()

    def step_aside(self, reason: str) -> None:
        """The script does the same itself."""
        if self._runs:
            self._runs = False
            self.measured.stop()
            self.notes.append(reason)

    def report(self) -> None:
        """Print the table to stderr and write the file, unless this is a forked child; at the very end, if
        ``multiprocessing`` still has to end children."""
        if os.getpid() != self._process:
            return
        if self._arguments.follow and _children_run():
            self._is_late = True
        else:
            self._report()

    def _report_late(self) -> None:
        if self._is_late:
            self._report()

    def _report(self) -> None:
        if os.getpid() != self._process:
            return
        self._followed.following.stop()
        if self._runs:
            try:
                self._write()
            except StepscopeError as error:
                self.notes.append(str(error))
        for note in self.notes:
            print(f"stepscope: {note}", file=sys.stderr)

    def _join(self) -> None:
        """Add what children wrote."""
        if not self._arguments.follow:
            return
        # A file's time is coarser than the clock.
        paths = child_files(self._path, self._began_s - 0.05)
        if paths:
            self.join(paths)
            if self._arguments.quiet:
                return
            were = "1 child process" if len(paths) == 1 else f"{len(paths)} child processes"
            self.notes.append(f"{were} recorded too, {self.where_children_are()}")

    def join(self, paths: list[Path]) -> None:
        """Add these files of children."""
        raise NotImplementedError

    def where_children_are(self) -> str:
        """Where to find them, after "recorded too,"."""
        stem, ending = os.path.splitext(self.shown())
        return f"each in a file {stem}.NAME-PID{ending}; all are added up in {self.shown()}"

    def _write(self) -> None:
        arguments = self._arguments
        if self.measured.displaced:
            self.notes.append(f"the script installed {self.theirs()} of its own; what came after it is missing")
        self._join()
        if self.is_empty():
            self.notes.append(self.why_empty())
            return
        if not arguments.quiet:
            text = io.StringIO()
            self.write_table(text)
            sys.stderr.write(text.getvalue())
        self.save()
        if arguments.quiet:
            return
        self.notes.append(f"{self.how_much()} in {self.cost()}")
        known = any(name == self.question for name, _ in questions())
        reader = f"stepscope {self.question}" if known else self.other_reader
        self.notes.append(f"{self.shown()}  (look again: {reader} {self.shown()})")

    def cost(self) -> str:
        """How long the script took, and how much of it was for recording."""
        overhead_s = self.measured.overhead_s()
        # What is left is what the script would have taken; an estimate may say that nothing is.
        times = self._wall_s / max(self._wall_s - overhead_s, self._wall_s / 20) if self._wall_s else 1.0
        return (
            f"{time_text(self._wall_s * 1e9)}, about {time_text(overhead_s * 1e9)} of it for recording them "
            f"(estimated from the cost measured on this interpreter): recording cost about {times:.1f}x"
        )

    def shown(self) -> str:
        """The file by a short name that a shell takes."""
        shown = os.path.relpath(self._path)
        return shlex.quote(self._path if shown.startswith("..") else shown)

    def save(self) -> None:
        """Write the file."""
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

    mode = "functions"
    ending = ".prof"
    question = "functions"
    other_reader = "python -m pstats"

    def make(self) -> functions:
        self._calls = functions()
        return self._calls

    def save(self) -> None:
        self._calls.save(self._path)

    def join(self, paths: list[Path]) -> None:
        stem, ending = os.path.splitext(self._path)
        self._calls.save(f"{stem}.MainProcess-{self._process}{ending}")
        self._calls.replace(add_functions(self._calls.stats, paths))

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

    mode = "lines"
    ending = ".lprof"
    #: Of all processes, once those of children are there.
    _together: list[FunctionLines] | None = None
    question = "lines"
    other_reader = "python -m line_profiler"

    def make(self) -> lines:
        names = self._arguments.lines or []
        self._hot = HotFunctions(self._time_these) if names == [AUTO] else None
        self._timed = lines.judged(named(names)) if names and self._hot is None else lines()
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


class CallsRun(ExactRun):
    """``--calls``. The file is written while the script runs."""

    mode = "calls"
    ending = ".calls"

    def make(self) -> calls:
        name = os.path.basename(self._arguments.program)
        self._timeline = calls(self._path, name=name, **self._options())
        return self._timeline

    def _options(self) -> dict[str, Any]:
        options = self._arguments.call_options
        return {
            "min_duration": options.min_duration,
            "max_calls": options.max_calls,
            "max_depth": options.max_depth,
            "include": options.include,
            "exclude": options.exclude,
        }

    def plan(self) -> Plan:
        return Plan(self.mode, self._path, calls=self._options())

    def join(self, paths: list[Path]) -> None:
        append_calls(self._path, paths)

    def where_children_are(self) -> str:
        return "all in one timeline"

    def profile_starts(self, profile: object) -> None:
        if isinstance(profile, (calls, functions)) and profile is not self._timeline and not _BESIDE_OTHERS:
            self.step_aside("the script records calls itself, so nothing else was recorded")

    def theirs(self) -> str:
        return "a profile function"

    def _write(self) -> None:
        timeline = self._timeline
        if timeline.displaced:
            self.notes.append(f"the script installed {self.theirs()} of its own; what came after it is missing")
        if timeline.ended_early is not None:
            self.notes.append(f"recording ended early: {timeline.ended_early}")
        self._join()
        if self._arguments.quiet:
            return
        self.notes.append(f"{timeline.calls:,} calls ({timeline.bytes / 1e6:.1f} MB) in {self.cost()}")
        self.notes.append(f"{self.shown()}  (open: stepscope view {self.shown()})")


def _children_run() -> bool:
    """Whether ``multiprocessing`` will end or wait for children when the interpreter ends."""
    return bool(getattr(sys.modules.get("multiprocessing.process"), "_children", None))


def exact_run(arguments: RunArguments) -> ExactRun:
    """What the arguments ask for."""
    if arguments.calls:
        return CallsRun(arguments)
    return FunctionsRun(arguments) if arguments.functions else LinesRun(arguments)
