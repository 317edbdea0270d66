"""``stepscope run --memory``: who allocates, what is alive at the peak and at the end, and a file of it.

The file is written while the script runs too, so that a crash leaves what was known until then. Each child
process has a file of its own.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from .._exact.memory import SAMPLE_BYTES, track
from .._exact.patterns import named
from .._native import size_text, time_text
from ..errors import StepscopeError
from ..trace import open as open_trace
from .arguments import RunArguments
from .exact_run import ExactRun
from .follow import Plan
from .memory_saver import MemorySaver

#: Columns of the summary where there is no terminal.
DEFAULT_WIDTH = 100


class MemoryRun(ExactRun):
    """``--memory``."""

    ending = ".mem"
    mode = "memory"
    question = "memory"

    def __init__(self, arguments: RunArguments) -> None:
        super().__init__(arguments)
        self._saver = MemorySaver(self._memory, self._path)
        self._exit = os._exit
        #: The children's files and peaks, the highest first.
        self._peaks: list[tuple[int, Path]] = []

    def make(self) -> Any:
        names = self._arguments.lines
        self._memory = track(sample_bytes=self._sample_bytes())
        self._memory.name = os.path.basename(self._arguments.program) + self.ending
        if names:
            self._memory.judge_lines(named(names))
        return self._memory

    def _sample_bytes(self) -> int:
        return 0 if self._arguments.memory == "exact" else SAMPLE_BYTES

    def plan(self) -> Plan:
        return Plan(self.mode, self._path, memory={"sample_bytes": self._sample_bytes()})

    def __enter__(self) -> None:
        if self._arguments.lines is not None:
            # As `python -m memory_profiler` has it.
            vars(builtins)["profile"] = self._memory.add
        self._saver.start()
        super().__enter__()
        if not self._runs:
            self._saver.stop()
            return
        os._exit = self._leave  # type: ignore[assignment]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        os._exit = self._exit
        if os.getpid() == self._process:
            self._saver.stop()

    def _leave(self, status: int) -> None:
        """The script ends the process at once: what is known is written before."""
        if os.getpid() == self._process and self._runs:
            with contextlib.suppress(Exception):
                self.__exit__(None, None, None)
                self.report()
                sys.stderr.flush()
        self._exit(status)

    def save(self) -> None:
        self._memory.save(self._path)

    def join(self, paths: list[Path]) -> None:
        for path in paths:
            with contextlib.suppress(StepscopeError, OSError):
                self._peaks.append(((open_trace(path)._native.heap or (0,))[0], path))
        self._peaks.sort(key=lambda pair: (-pair[0], pair[1].name))

    def where_children_are(self) -> str:
        stem, ending = os.path.splitext(self.shown())
        where = f"each in a file {stem}.NAME-PID{ending}"
        if not self._peaks:
            return where
        peak, path = self._peaks[0]
        return f"{where}; the highest peak of a child is {size_text(peak)}, in {self.shown_as(path)}"

    def theirs(self) -> str:
        return "an allocator"

    def is_empty(self) -> bool:
        return False

    def why_empty(self) -> str:
        return "no memory was allocated"

    def cost_note(self) -> str:
        tracked = f"memory was tracked for {time_text(self._wall_s * 1e9)}"
        if self._arguments.memory == "exact":
            return f"{tracked}, every allocation"
        return f"{tracked}, one sample per {SAMPLE_BYTES >> 10} KiB (--memory=exact records every allocation)"

    def write_table(self, stream: io.StringIO) -> None:
        width = DEFAULT_WIDTH
        with contextlib.suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.stderr.fileno()).columns
        if self._arguments.lines is not None:
            self._memory.print_lines(stream)
        stream.write(self._memory.trace().summary(width).rstrip("\n") + "\n")
