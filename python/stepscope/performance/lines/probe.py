"""Times lines while a region is open, in the thread that opened it."""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any, NamedTuple

from ..._native import TimedRegion
from ..probe import Probe
from ..resources import Resources
from .calibration import event_cost_ns
from .events import line_events
from .stopwatch import Stopwatch


class _Opened(NamedTuple):
    stopwatch: Stopwatch | None
    outermost: bool
    lines: dict[tuple[CodeType, int], tuple[int, int]]
    events: int
    overhead_ns: int
    why_not: str
    thread: int


class LineProbe(Probe):
    """Starts with the outermost region of a thread; the regions inside it get their share."""

    what = "lines"

    def __init__(self) -> None:
        self._events = line_events()
        self._here = threading.local()
        self._event_cost_ns: int | None = None

    def running(self) -> Stopwatch | None:
        """The stopwatch of this thread, if one runs."""
        found: Stopwatch | None = getattr(self._here, "stopwatch", None)
        return found

    def enter(self, region: TimedRegion) -> _Opened:
        thread = threading.get_ident()
        running = self.running()
        if running is not None:
            running.resume()
            return _Opened(running, False, running.snapshot(), running.events, running.overhead_ns, "", thread)
        if self._event_cost_ns is None:
            self._event_cost_ns = event_cost_ns(self._events)
        stopwatch = Stopwatch(self._event_cost_ns)
        why_not = self._events.start(stopwatch)
        if why_not:
            return _Opened(None, False, {}, 0, 0, why_not, thread)
        self._here.stopwatch = stopwatch
        return _Opened(stopwatch, True, {}, 0, 0, "", thread)

    def exit(self, region: TimedRegion, token: Any, resources: Resources) -> None:
        opened: _Opened = token
        if opened.stopwatch is None:
            resources.reasons["lines"] = opened.why_not
            return
        if opened.thread != threading.get_ident():
            resources.reasons["lines"] = "the region ended in another thread than it began in"
            return
        opened.stopwatch.pause()
        if opened.outermost:
            self._events.stop()
            self._here.stopwatch = None
        resources.lines = opened.stopwatch.since(opened.lines)
        resources.line_events = opened.stopwatch.events - opened.events
        resources.line_overhead_ns = opened.stopwatch.overhead_ns - opened.overhead_ns


class LinePause(Probe):
    """Entered before all other probes and left after them: while they work, no line of the region around is timed."""

    what = "lines beside other figures"

    def __init__(self, lines: LineProbe) -> None:
        self._lines = lines

    def enter(self, region: TimedRegion) -> None:
        running = self._lines.running()
        if running is not None:
            running.pause()

    def exit(self, region: TimedRegion, token: Any, resources: Resources) -> None:
        running = self._lines.running()
        if running is not None:
            running.resume()
