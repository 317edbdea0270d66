"""The monitor and the windows of one profiler: what it owns while it records."""

from __future__ import annotations

from typing import Union

from .. import _native
from ..errors import StepscopeError
from .warn import warn_user
from .window import Window

MonitorChoice = Union[bool, float, "_native.Monitor", None]

_monitors: dict[float | None, _native.Monitor] = {}
"""Monitors by their interval. Finding a machine's sensors takes a while on one with GPUs, so that is done once."""


class Recorder:
    """Opens and closes windows. The machine is watched from the warm-up to the end of a window."""

    def __init__(self, monitor: MonitorChoice, journal: str | None, samples_hz: float) -> None:
        self._choice = monitor
        self._journal = journal
        self.samples_hz = samples_hz
        self.with_stacks = False
        """Whether regions note where they are entered."""
        self._monitor: _native.Monitor | None = None
        self._watching = False
        self.open: Window | None = None
        """The window that records now."""
        self.finished: Window | None = None
        """The last one that ended."""

    def prepare(self) -> None:
        """Starts to watch the machine, so that there are counters from a window's first moment on."""
        if self._watching:
            return
        if self._monitor is None:
            self._monitor = _chosen_monitor(self._choice)
            if self._monitor is None:
                self._choice = False
        if self._monitor is not None:
            self._monitor.start()
            self._watching = True

    def begin(self) -> None:
        """Opens a window. What the last one holds can be large, and is let go."""
        self.finished = None
        self.prepare()
        window = Window(self._monitor, self._journal, self.samples_hz, self.with_stacks)
        window.start()
        self.open = window

    def end(self) -> None:
        """Closes the window, if one is open."""
        window, self.open = self.open, None
        if window is not None:
            try:
                window.stop()
            finally:
                self.finished = window
                self.rest()

    def rest(self) -> None:
        """The machine need not be watched any more."""
        if self._watching and self._monitor is not None:
            self._watching = False
            self._monitor.stop()

    def forget(self) -> None:
        """Lets go of everything without stopping it: it belongs to a parent process."""
        for window in (self.open, self.finished):
            if window is not None:
                window.forget_after_fork()
        if self._monitor is not None:
            self._monitor.forget_after_fork()
        self.open = self.finished = self._monitor = None
        self._watching = False

    def step(self, number: int, start_ns: int, end_ns: int) -> None:
        """A step took from here to there."""
        if self.open is not None:
            self.open.recording.step(number, start_ns, end_ns)


def check_monitor(choice: MonitorChoice) -> None:
    """Raises an error that teaches if this is no choice of a monitor."""
    if choice is None or isinstance(choice, (bool, _native.Monitor)):
        return
    if isinstance(choice, (int, float)) and choice > 0:
        return
    raise StepscopeError(
        f"monitor={choice!r} is not known.",
        hint="Use True or False, an interval in seconds such as 0.05, or a stepscope Monitor.",
    )


def _chosen_monitor(choice: MonitorChoice) -> _native.Monitor | None:
    if choice is None or choice is False:
        return None
    if isinstance(choice, _native.Monitor):
        return choice
    interval_s = None if choice is True else float(choice)
    known = _monitors.get(interval_s)
    if known is not None:
        return known
    try:
        found = _native.Monitor() if interval_s is None else _native.Monitor(interval_s)
        _monitors[interval_s] = found
        return found
    except Exception as error:
        warn_user(f"The machine is not watched: {error}")
        return None


def forget_monitors() -> None:
    """In a forked child: their threads are the parent's."""
    for monitor in _monitors.values():
        monitor.forget_after_fork()
    _monitors.clear()
