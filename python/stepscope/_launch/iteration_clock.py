"""Times the iterations of a program that are not recorded, and says when some are to be recorded.

Before a window nothing is attached to the program; once its iterations are steady, the window opens. After it the clock
is read once per iteration: if they change for long, or turn out to come in rounds, they are timed as before, and a
second window opens.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Callable

from .._native import now_ns, time_text
from ..profiler.bare_steps import BareSteps
from ..profiler.xla_engine import wait_for_devices
from .later_iterations import LaterIterations
from .operator_memory import IterationMemory
from .phases import Phases
from .rounds import Rounds
from .window import Window, usual_length, warm_up

#: Windows of one program: it may change once.
_MAX_WINDOWS = 2
#: Each of them holds many iterations.
_MAX_RECORDED_ROUNDS = 3
#: An iteration in which the profiler starts is not recorded.
WARM_UP = 1
#: What PyTorch's operators of a window may take to be written, which stops the program: for seconds where iterations
#: are rounds of hundreds. So many iterations are recorded nevertheless.
WINDOW_BYTES, _MIN_RECORDED = 1 << 29, 2


class IterationClock:
    """Tells ``phases`` of all iterations from its start on. ``ended`` is the number of those that have ended. ``group``
    takes how many are one from then on, and says how many of those have ended; 0: the program says what one is."""

    def __init__(self, window: Window, phases: Phases, group: Callable[[int], int]) -> None:
        self._window = window
        self._phases = phases
        self._group = group
        self._bare: BareSteps | None = None
        self._later: LaterIterations | None = None
        self._rounds: Rounds | None = None
        self._before = (0, 0)
        self._opened_at = 0
        self._is_open = False
        self._memory: IterationMemory | None = None
        #: Whether they were ever timed.
        self.was_started = False
        #: Windows that were written.
        self.windows = 0
        #: What an iteration takes, before the first window and before the latest.
        self.usual_ns: list[float] = []
        #: Iterations that turned out to be one.
        self.round = 1

    @property
    def runs(self) -> bool:
        """Whether iterations are timed now."""
        return self._bare is not None or self._later is not None

    def start(self, ended: int) -> None:
        """Time them from here on; those before are the program's beginning."""
        self.was_started = True
        self._later = None
        self._bare = BareSteps(sys.modules.get("torch"), wait_for_devices)
        self._before = ended, now_ns()

    def iteration_ended(self, ended: int, at_ns: int) -> bool:
        """One has ended; whether to open a window."""
        if self._bare is not None:
            self._bare.step_ended()
            return self._window.begins(ended, self._bare.times_ns)
        if self._later is None:
            return False
        took_ns = at_ns - self._later.last_ns
        has_changed = self._later.iteration_ended(at_ns)
        if self.windows >= _MAX_WINDOWS or not self._window.follows_changes:
            return False
        if self._rounds is not None and self._rounds.iteration_ended(took_ns):
            length, self._rounds = self._rounds.length, None
            ended = self._group(length)
            if ended:
                self.round = length
                self._phases.begin_anew(ended)
                self.start(ended)
        elif has_changed and not (self._rounds is not None and self._rounds.are_likely):
            self._phases.change()
            self._phases.add_timed(self._later.changed_ns)
            self.start(ended)
        return False

    def open(self, ended: int) -> tuple[BareSteps | None, int]:
        """A window opens: the iterations that were timed, and how many to record."""
        bare = self._bare
        if bare is not None:
            bare.step_ended(was_bare=False, goes_on=False)
        times_ns = [] if bare is None else bare.paced_ns()
        self.usual_ns.append(usual_length(times_ns))
        self._rounds = Rounds(median(times_ns)) if times_ns and self.round == 1 else None
        self._add_bare()
        self._opened_at, self._is_open = ended, True
        self._memory = IterationMemory(WINDOW_BYTES) if "torch" in sys.modules else None
        length = self._window.length(times_ns)
        return bare, min(length, _MAX_RECORDED_ROUNDS) if self.round > 1 else length

    def is_full(self, ended: int) -> bool:
        """Whether the open window should be written, though it is shorter than it was meant to be."""
        return self._memory is not None and self.recorded(ended) >= _MIN_RECORDED and self._memory.is_full()

    @property
    def why_again(self) -> str:
        """Why a second window was opened."""
        if self.round > 1:
            return f"iterations come in rounds of {self.round:,}, each of which is one iteration now"
        before, now = (time_text(ns) for ns in self.usual_ns)
        return f"iterations changed from {before} to {now}"

    def recorded(self, ended: int) -> int:
        """How many whole iterations the open window holds."""
        return max(ended - self._opened_at - WARM_UP, 0)

    def close(self, ended: int) -> None:
        """The window is over."""
        self._phases.add_recorded(ended - self._opened_at)
        self._is_open = False
        self._later = LaterIterations(self.usual_ns[-1], self._phases.add_timed)

    def stop(self, ended: int) -> None:
        """The program has ended."""
        if self._is_open:
            self._phases.add_recorded(ended - self._opened_at)
        self._add_bare()
        if self._later is not None:
            self._later.close()

    def _add_bare(self) -> None:
        bare, self._bare = self._bare, None
        if bare is None:
            return
        first = 0
        if not self.windows:
            # The first of those before is start-up.
            self._phases.add_warm_up(max(self._before[0] - 1, 0), self._before[1])
            first = warm_up(bare.times_ns)
        self._phases.add_timed(bare.paced_ns(), first)
