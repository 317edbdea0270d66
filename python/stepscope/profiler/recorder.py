"""The monitor and the captures of one profiler: what it owns while it records."""

from __future__ import annotations

import contextlib
from typing import Callable, Union

from .._monitors import shared_monitor
from .._native import Monitor
from .._samples import COUNTER
from ..errors import StepscopeError
from .capture import Capture
from .warn import warn_user
from .xla_engine import XlaCollector

MonitorChoice = Union[bool, float, Monitor, None]


class Recorder:
    """Opens and closes captures. The machine is watched from the warm-up to the end of a capture."""

    def __init__(self, monitor: MonitorChoice, journal: str | None, samples_hz: float) -> None:
        self._choice = monitor
        self._journal = journal
        self.samples_hz = samples_hz
        self.with_stacks = False
        """Whether regions note where they are entered."""
        self.with_children = False
        """Whether stacks of child processes are sampled too."""
        self.make_collectors: Callable[[], list[XlaCollector]] = list
        """What records operators and kernels of JAX and TensorFlow in the next capture."""
        self.say: Callable[[str], None] = warn_user
        self.xla_joined: Callable[[], None] | None = None
        """Called when one of those begins to record."""
        self._monitor: Monitor | None = None
        self._watching = False
        self.open: Capture | None = None
        """The capture that records now."""
        self.finished: Capture | None = None
        """The last one that ended."""

    def prepare(self) -> None:
        """Starts to watch the machine, so that there are counters from a capture's first moment on."""
        if self._watching:
            return
        if self._monitor is None:
            self._monitor = _chosen_monitor(self._choice)
            if self._monitor is None:
                self._choice = False
        if self._monitor is not None:
            self._monitor.start()
            self._watching = True

    def warm_up(self) -> None:
        """What is only done once is done before the first capture."""
        for collector in self.make_collectors():
            # What fails here fails again when it is needed, and is reported then.
            with contextlib.suppress(Exception):
                collector.warm_up()

    def begin(self) -> None:
        """Opens a capture. What the last one holds can be large, and is let go."""
        self.finished = None
        self.prepare()
        capture = Capture(
            self._monitor,
            self._journal,
            self.samples_hz,
            self.with_stacks,
            self.with_children,
            self.make_collectors(),
            self.say,
            self.xla_joined,
        )
        capture.start()
        self.open = capture

    def end(self) -> None:
        """Closes the capture, if one is open."""
        capture, self.open = self.open, None
        if capture is not None:
            try:
                capture.stop()
            finally:
                self.finished = capture
                self.rest()

    def rest(self) -> None:
        """The machine need not be watched any more."""
        if self._watching and self._monitor is not None:
            self._watching = False
            self._monitor.stop()

    def forget(self) -> None:
        """Lets go of everything without stopping it: it belongs to a parent process."""
        for capture in (self.open, self.finished):
            if capture is not None:
                capture.forget_after_fork()
        if self._monitor is not None:
            self._monitor.forget_after_fork()
        self.open = self.finished = self._monitor = None
        self._watching = False

    def step_begins(self, number: int) -> None:
        """A step begins; of use only to JAX and TensorFlow."""
        if self.open is not None:
            self.open.xla.step_begins(number)

    def step(self, number: int, start_ns: int, end_ns: int) -> None:
        """A step took from here to there."""
        if self.open is not None:
            self.open.recording.step(number, start_ns, end_ns)

    def samples(self, samples: float | None, start_ns: int, end_ns: int) -> None:
        """The step between these moments worked through so many samples."""
        if self.open is not None and samples is not None:
            # In the middle: PyTorch's clock and ours may differ by a little at the ends.
            self.open.recording.counter(COUNTER, (start_ns + end_ns) // 2, samples)


def check_monitor(choice: MonitorChoice) -> None:
    """Raises an error that teaches if this is not a choice of a monitor."""
    if choice is None or isinstance(choice, (bool, Monitor)):
        return
    if isinstance(choice, (int, float)) and choice > 0:
        return
    raise StepscopeError(
        f"monitor cannot be {choice!r}",
        hint="use True, False, an interval in seconds such as 0.05, or a stepscope.Monitor",
    )


def _chosen_monitor(choice: MonitorChoice) -> Monitor | None:
    if choice is None or choice is False:
        return None
    if isinstance(choice, Monitor):
        return choice
    try:
        return shared_monitor() if choice is True else shared_monitor(float(choice))
    except Exception as error:
        warn_user(f"system counters are not recorded: {error}")
        return None
