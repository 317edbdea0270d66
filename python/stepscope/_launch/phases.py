"""What a program goes through: start-up, iterations that warm up, steady ones, pauses, and its end.

Iterations are timed by the host's clock. What the start-up is made of comes from samples of the main thread's stack.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._native import now_ns
from .window import without_pauses

#: What a trace has it under.
KEY = "stepscope_phases"
#: Stretches of our own time that are kept: some happen in each iteration until a window opens.
_MAX_OWN = 10_000


@dataclass
class _Steady:
    """Iterations of about the same length; some of them ran without a profiler, and took so long together."""

    iterations: int = 0
    timed: int = 0
    timed_ns: int = 0


class Phases:
    """Gathers what is learned on the way; :meth:`text` is what is known by now."""

    def __init__(self) -> None:
        self.began_ns = now_ns()
        #: When the first iteration ended; None until one is found.
        self.first_ended_ns: int | None = None
        #: What the start-up was made of, as nanoseconds by name.
        self.start_up: dict[str, Any] | None = None
        #: Stretches in which the recorder was at work in the program's main thread.
        self.own: list[tuple[int, int]] = []
        self._warm_up = _Steady()
        self._steady = [_Steady()]
        self._pauses_ns: list[int] = []

    def begin(self) -> None:
        """The program begins now."""
        self.began_ns = now_ns()
        self.own.clear()

    def add_own(self, start_ns: int) -> None:
        """The recorder was at work from here to now."""
        if len(self.own) < _MAX_OWN:
            self.own.append((start_ns, now_ns()))

    def add_warm_up(self, iterations: int, until_ns: int) -> None:
        """So many iterations followed the first one until then, as the program's beginning."""
        if self.first_ended_ns is not None:
            self._warm_up.iterations += iterations
            self._warm_up.timed_ns += until_ns - self.first_ended_ns - self._own_ns(self.first_ended_ns, until_ns)

    def add_timed(self, times_ns: Sequence[int], warm_up: int = 0) -> None:
        """These iterations ran without a profiler; the first ones of them count as warm-up."""
        self._warm_up.iterations += len(times_ns[:warm_up])
        self._warm_up.timed_ns += sum(times_ns[:warm_up])
        usual, pauses = without_pauses(times_ns[warm_up:])
        self._pauses_ns += pauses
        steady = self._steady[-1]
        steady.iterations += len(usual)
        steady.timed += len(usual)
        steady.timed_ns += sum(usual)

    def add_recorded(self, iterations: int) -> None:
        """So many were recorded, which takes longer."""
        self._steady[-1].iterations += iterations

    def change(self) -> None:
        """Iterations take another time from here on."""
        self._steady.append(_Steady())

    def begin_anew(self, iterations: int) -> None:
        """What was taken for iterations was none; so many have ended by now, as the program's beginning."""
        self._warm_up, self._steady, self._pauses_ns = _Steady(), [_Steady()], []
        self.add_warm_up(iterations - 1, now_ns())

    def text(self, last_ended_ns: int | None = None, last_step_is_cut: bool = False) -> str | None:
        """All of it as JSON; None before the first iteration. Of a program that has ended, the last iteration has ended
        at ``last_ended_ns``."""
        if self.first_ended_ns is None:
            return None
        whole_ns = self.first_ended_ns - self.began_ns
        known: dict[str, Any] = {
            "start_up_ns": max(whole_ns - self._own_ns(self.began_ns, self.first_ended_ns), 0),
            "warm_up_iterations": self._warm_up.iterations,
            "warm_up_ns": max(self._warm_up.timed_ns, 0),
            "steady": [_as_json(steady) for steady in self._steady if steady.iterations],
            "pauses": len(self._pauses_ns),
            "pauses_ns": sum(self._pauses_ns),
        }
        if self.start_up is not None:
            known["start_up"] = self.start_up
        if last_ended_ns is not None:
            known["after_last_ns"] = max(now_ns() - last_ended_ns, 0)
        if last_step_is_cut:
            known["last_step_is_cut"] = True
        return json.dumps(known)

    def _own_ns(self, start_ns: int, end_ns: int) -> int:
        return sum(max(min(end, end_ns) - max(start, start_ns), 0) for start, end in self.own)


def _as_json(steady: _Steady) -> dict[str, int]:
    phase = {"iterations": steady.iterations}
    if steady.timed:
        phase["iteration_ns"] = round(steady.timed_ns / steady.timed)
    return phase
