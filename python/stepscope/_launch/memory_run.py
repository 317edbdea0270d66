"""``stepscope run --memory``: who allocates, what is alive at the peak and at the end, and a file of it.

The file is written while the script runs too, so that a crash leaves what was known until then.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import sys
import threading
import time
from types import TracebackType
from typing import Any

from .._exact.memory import SAMPLE_BYTES, track
from .._exact.patterns import named
from .._units import time_text
from ..errors import StepscopeError
from .arguments import RunArguments
from .exact_run import ExactRun

#: The file is written this often at the most, …
SAVE_EVERY_S = 10.0
#: … and so rarely that it takes this share of the time at the most.
SAVE_SHARE = 0.01
#: Columns of the summary where there is no terminal.
WIDTH = 100


class MemoryRun(ExactRun):
    """``--memory``."""

    ending = ".mem"
    question = "memory"

    def __init__(self, arguments: RunArguments) -> None:
        # Children are not tracked.
        arguments.follow = False
        super().__init__(arguments)
        self._over = threading.Event()
        self._saver: threading.Thread | None = None
        self._exit = os._exit

    def make(self) -> Any:
        names = self._arguments.lines
        self._memory = track(sample_bytes=0 if self._arguments.memory == "exact" else SAMPLE_BYTES)
        self._memory.name = os.path.basename(self._arguments.program) + self.ending
        if names:
            self._memory.judge_lines(named(names))
        return self._memory

    def __enter__(self) -> None:
        if self._arguments.lines is not None:
            # As `python -m memory_profiler` has it.
            vars(builtins)["profile"] = self._memory.add
        # Before memory is tracked: what a thread takes is not the program's.
        self._saver = threading.Thread(target=self._save_now_and_then, name="stepscope memory", daemon=True)
        self._saver.start()
        super().__enter__()
        if not self._runs:
            self._over.set()
            return
        os._exit = self._leave  # type: ignore[assignment]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        os._exit = self._exit
        if os.getpid() == self._process:
            self._over.set()

    def _save_now_and_then(self) -> None:
        wait_s = SAVE_EVERY_S
        while not self._over.wait(wait_s):
            began_s = time.perf_counter()
            with contextlib.suppress(StepscopeError):
                self._memory.save(self._path)
            wait_s = max(SAVE_EVERY_S, (time.perf_counter() - began_s) / SAVE_SHARE)

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
        return f"{tracked}, one sample per {SAMPLE_BYTES >> 10} KiB (--memory=exact looks at every allocation)"

    def write_table(self, stream: io.StringIO) -> None:
        width = WIDTH
        with contextlib.suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.stderr.fileno()).columns
        if self._arguments.lines is not None:
            self._memory.print_lines(stream)
        stream.write(self._memory.trace().summary(width).rstrip("\n") + "\n")
