"""Keeps the moments at which steps end, where ``stepscope check -- python train.py`` asks for them.

The command line names a folder in ``STEPSCOPE_STEP_TIMES``. Each process writes a file of its own: its rank, then a
line of nanoseconds for each step, with the number of its samples where the program says that. A line is one system call
(two microseconds), so that what a killed process leaves is whole. Without the variable nothing is opened or written.
"""

from __future__ import annotations

import os
import time
from typing import Final

FOLDER_VARIABLE: Final = "STEPSCOPE_STEP_TIMES"


class _Marks:
    """The file of this process."""

    def __init__(self, folder: str) -> None:
        self.process = os.getpid()
        # A step may be reported at two levels, by a profiler and by what drives it: who reports the first one reports
        # them all.
        self.teller: str | None = None
        self._file: int | None = None
        path = os.path.join(folder, f"steps-{self.process}")
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            return  # A folder that is gone: the program is not to suffer for it.
        self.write(f"rank {os.environ.get('RANK', '-')}")

    def write(self, line: str) -> None:
        if self._file is not None:
            try:
                os.write(self._file, f"{line}\n".encode())
            except OSError:
                self._file = None


_folder = os.environ.get(FOLDER_VARIABLE)
_marks: _Marks | None = None


def wanted() -> bool:
    """Whether this is a run without a profiler whose steps are timed."""
    return bool(_folder)


def _of_this_process() -> _Marks | None:
    global _marks
    if not _folder:
        return None
    if _marks is None or _marks.process != os.getpid():
        _marks = _Marks(_folder)
    return _marks


def step_ended(teller: str, samples: float | None = None) -> None:
    """A step has ended, as ``teller`` says; it worked through so many samples."""
    if not _folder:
        return
    now = time.perf_counter_ns()
    marks = _of_this_process()
    if marks is not None and marks.teller in (None, teller):
        marks.teller = teller
        marks.write(str(now) if samples is None else f"{now} {samples:.17g}")


def found(kind: str, ends_ns: list[int]) -> None:
    """Iterations of a program that has reported no steps itself."""
    marks = _of_this_process()
    if marks is not None and marks.teller is None:
        marks.teller = kind
        marks.write(f"found {kind}")
        marks.write("\n".join(map(str, ends_ns)))


def profiling_began() -> None:
    """The program records a profile of its own; its times are not those of a bare run."""
    marks = _of_this_process()
    if marks is not None:
        marks.write("profiled")
