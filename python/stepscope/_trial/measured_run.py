"""Times some iterations of a program in a row, and ends it when they are over.

Nothing waits for the device but the beginning and the end of these iterations: the time between the two, divided by
their number, is what one takes, however far the host runs ahead.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import resource
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from .._current_run import CurrentRun
from .._launch.iterations import Iterations
from .._launch.late_import import ImportWatch
from .._launch.window import Window
from .._native import now_ns
from .._writing import whole_file
from .fixes.base import Fix
from .results import Results

#: How long the iterations that count should take in sum, and how many they are at least and at most. A heuristic.
_MEASURED_NS = 2_000_000_000
_MIN_MEASURED, _MAX_MEASURED = 10, 200
#: Of iterations that take seconds, so many.
_MIN_LONG_MEASURED = 3
_LONG_NS = 10_000_000_000


@dataclass(frozen=True)
class Order:
    """What is to be run. ``warmup`` and ``iterations`` are None in the first run, which chooses them for all."""

    program: str
    arguments: list[str]
    is_module: bool
    result: str
    fixes: list[str] = field(default_factory=list)
    #: Python files with fixes of the user's own.
    files: list[str] = field(default_factory=list)
    warmup: int | None = None
    iterations: int | None = None
    seed: int = 0


def measured_length(times_ns: Sequence[int]) -> int:
    """How many iterations to time, by those before them.

    >>> [measured_length([ms * 1_000_000]) for ms in (1, 40, 150, 900, 8_000)]
    [200, 50, 13, 10, 3]
    """
    usual_ns = max(int(median(times_ns)), 1)
    wanted = min(max(round(_MEASURED_NS / usual_ns), _MIN_MEASURED), _MAX_MEASURED)
    return max(min(wanted, _LONG_NS // usual_ns), _MIN_LONG_MEASURED)


class MeasuredRun(CurrentRun):
    """Counts and times the iterations of this process."""

    def __init__(self, order: Order, fixes: Sequence[Fix]) -> None:
        self._order = order
        self._fixes = fixes
        self._process = os.getpid()
        self._started_ns = now_ns()
        self._torch: Any = None
        self._results = Results()
        self._iterations = Iterations(self._iteration_found, self._results.output)
        self._explicit_steps = False
        self._ends_ns: list[int] = []
        self._warmup = order.warmup
        self._length = order.iterations
        #: When what counts began, and what one of them took.
        self._began_ns: int | None = None
        self._iteration_ns: float | None = None

    def start(self) -> None:
        """The program is about to run."""
        ImportWatch("torch", self._torch_imported).start()

    def step(self, samples: float | None = None) -> None:
        if not self._explicit_steps:
            self._explicit_steps = True
            self._ends_ns.clear()
        self._advance()

    def finish(self) -> None:
        """The program has ended by itself: what it did is all there is."""
        if os.getpid() == self._process:
            self._write(ended_itself=True)

    def _torch_imported(self, torch: Any) -> None:
        self._torch = torch
        self._results.watch(torch)
        self._iterations.watch(torch)

    def _iteration_found(self, first: bool) -> None:
        if self._explicit_steps or threading.current_thread() is not threading.main_thread():
            return
        if first and self._began_ns is None:
            self._ends_ns.clear()
        self._advance()

    def _advance(self) -> None:
        if os.getpid() != self._process or self._iteration_ns is not None:
            return
        if self._began_ns is not None and self._length is not None and self._warmup is not None:
            if len(self._ends_ns) + 1 == self._warmup + self._length:
                self._wait_for_device()
                self._iteration_ns = (now_ns() - self._began_ns) / self._length
                self._ends_ns.append(now_ns())
                self._write(ended_itself=False)
                self._leave()
            self._ends_ns.append(now_ns())
            return
        self._ends_ns.append(now_ns())
        if self._is_warm():
            self._iterations.settle()
            self._results.settle()
            self._wait_for_device()
            self._began_ns = now_ns()

    def _is_warm(self) -> bool:
        """Whether what counts begins here; in the first run, chooses how long it is."""
        ended = len(self._ends_ns)
        if self._warmup is not None:
            return ended >= self._warmup
        times_ns = [after - before for before, after in zip(self._ends_ns, self._ends_ns[1:])]
        if not times_ns or not Window().begins(ended, times_ns):
            return False
        self._warmup = ended
        if self._length is None:
            self._length = measured_length(times_ns[-(len(times_ns) // 2 or 1) :])
        return True

    def _wait_for_device(self) -> None:
        with contextlib.suppress(Exception):  # a device that failed: the program will say so
            if self._torch is not None and self._torch.cuda.is_initialized():
                self._torch.cuda.synchronize()

    def _leave(self) -> None:
        """End at once: what the program would do next (train for hours, write checkpoints) is of no use here."""
        for child in multiprocessing.active_children():
            child.kill()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(0)

    def _write(self, ended_itself: bool) -> None:
        ended_ns = now_ns()
        first_ns = self._ends_ns[0] if self._ends_ns else None
        measured = {
            "found_by": "the program" if self._explicit_steps else self._iterations.kind,
            "ended_itself": ended_itself,
            "warmup": self._warmup,
            "iterations": self._length,
            "counted": len(self._ends_ns),
            "iteration_ns": self._iteration_ns,
            "whole_ns": ended_ns - self._started_ns,
            # The first iteration has compiled and tuned what it needs.
            "startup_ns": None if first_ns is None else first_ns - self._started_ns,
            "losses": self._results.losses(),
            "outputs": self._results.outputs(),
            "peak_device_bytes": self._peak_device_bytes(),
            "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "fixes": [self._effect(fix) for fix in self._fixes],
        }
        with whole_file(self._order.result) as file:
            file.write(json.dumps(measured).encode())

    def _effect(self, fix: Fix) -> dict[str, Any]:
        try:
            effect = fix.effect()
        except Exception as error:  # a fix that cannot tell has proven nothing
            return {"name": fix.name, "took": False, "evidence": f"{type(error).__name__}: {error}"}
        return {"name": fix.name, "took": effect.took, "evidence": effect.evidence}

    def _peak_device_bytes(self) -> int | None:
        with contextlib.suppress(Exception):
            if self._torch is not None and self._torch.cuda.is_initialized():
                # What was reserved counts: less of it is left to others.
                return int(self._torch.cuda.max_memory_reserved())
        return None
