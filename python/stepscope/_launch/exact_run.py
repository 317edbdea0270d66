"""``stepscope run --functions``, ``--lines`` and ``--calls``: calls counted, lines timed and a table at the end, or a
timeline of calls.

Nothing in here may disturb the script: what goes wrong becomes a note in the report.
"""

from __future__ import annotations

import atexit
import io
import os
import shlex
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from .._current_run import CurrentRun
from .._native import time_text
from ..errors import StepscopeError
from .arguments import RunArguments
from .child_run import follow
from .follow import Plan
from .joined import child_files

if TYPE_CHECKING:
    from .._exact.lines import lines

#: Whether calls and lines come from ``sys.monitoring``, beside other tools and from all threads.
BESIDE_OTHERS = hasattr(sys, "monitoring")

#: The file is written this often while the script runs, so that a crash leaves it.
KEEP_EVERY_S = 1.0


class _ExactProfiler(Protocol):
    @property
    def displaced(self) -> bool: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def overhead_s(self) -> float: ...


class ExactRun(CurrentRun):
    """Goes around the script's own code; :meth:`report` then prints and writes."""

    ending = ""
    mode = ""
    #: The question that reads the file.
    question = ""

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

    def make(self) -> _ExactProfiler:
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
        if self._runs and not self._followed.is_child:
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
        self.notes.append(self.cost_note())
        self.notes.append(f"{self.shown()}  (look again: stepscope {self.question} {self.shown()})")

    def cost_note(self) -> str:
        """What was recorded, how long the script took, and how much of that was for recording."""
        overhead_s = self.measured.overhead_s()
        # What is left is what the script would have taken; an estimate may say that nothing is.
        times = self._wall_s / max(self._wall_s - overhead_s, self._wall_s / 20) if self._wall_s else 1.0
        return (
            f"{self.how_much()} in {time_text(self._wall_s * 1e9)}, about {time_text(overhead_s * 1e9)} of it for "
            f"recording them (estimated from the cost measured on this interpreter): recording cost about {times:.1f}x"
        )

    def shown(self) -> str:
        """The file by a short name that a shell takes."""
        return self.shown_as(self._path)

    def shown_as(self, path: str | Path) -> str:
        """The same of any file."""
        shown = os.path.relpath(path)
        return shlex.quote(str(path) if shown.startswith("..") else shown)

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


def _children_run() -> bool:
    """Whether ``multiprocessing`` will end or wait for children when the interpreter ends."""
    return bool(getattr(sys.modules.get("multiprocessing.process"), "_children", None))
