"""``python -m stepscope._timed SCRIPT``: a program whose iterations are timed for ``stepscope check``.

A program that tells its steps itself is left alone; of others, iterations are found as ``stepscope run`` finds them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from . import _step_times
from ._current_run import CurrentRun, set_current_run
from ._launch.iterations import Iterations
from ._launch.late_import import ImportWatch
from ._launch.script import Program


class _TimedRun(CurrentRun):
    def __init__(self) -> None:
        self._process = os.getpid()
        self._ends_ns: list[int] = []
        self.iterations = Iterations(self._iteration_ended)

    def imported(self, torch: Any) -> None:
        self.iterations.watch(torch)

    def step(self, samples: float | None = None) -> None:
        _step_times.step_ended("configured", samples)

    def finish(self) -> None:
        """The program is over: unless it reported its steps itself, these are they."""
        if os.getpid() == self._process and self.iterations.kind is not None:
            _step_times.found(self.iterations.kind, self._ends_ns)

    def _iteration_ended(self, first: bool) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if first:
            self._ends_ns.clear()
        self._ends_ns.append(time.perf_counter_ns())


def main(words: list[str]) -> int:
    """Runs the program as Python would."""
    is_module = words[0] == "-m"
    name, *arguments = words[1:] if is_module else words
    program = Program(name, arguments, is_module=is_module)
    program.take_path()
    run = _TimedRun()
    run.root, run.launcher = Program._run.__code__, main.__code__
    set_current_run(run)
    ImportWatch("torch", run.imported).start()
    ending = program.run()
    run.finish()
    return ending.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
