"""Times lines while a region is open, in the thread that opened it."""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any, Dict, NamedTuple, Optional, Tuple

from ..probe import Probe
from ..resources import Resources
from ..tracked import TrackedRegion
from .events import line_events
from .stopwatch import Stopwatch


class _Opened(NamedTuple):
    stopwatch: Optional[Stopwatch]
    outermost: bool
    lines: Dict[Tuple[CodeType, int], Tuple[int, int]]
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

    def enter(self, region: TrackedRegion) -> _Opened:
        thread = threading.get_ident()
        running: Optional[Stopwatch] = getattr(self._here, "stopwatch", None)
        if running is not None:
            running.flush()
            return _Opened(running, False, running.snapshot(), running.events, running.overhead_ns, "", thread)
        stopwatch = Stopwatch()
        why_not = self._events.start(stopwatch)
        if why_not:
            return _Opened(None, False, {}, 0, 0, why_not, thread)
        self._here.stopwatch = stopwatch
        return _Opened(stopwatch, True, {}, 0, 0, "", thread)

    def exit(self, region: TrackedRegion, token: Any, resources: Resources) -> None:
        opened: _Opened = token
        if opened.stopwatch is None:
            resources.reasons["lines"] = opened.why_not
            return
        if opened.thread != threading.get_ident():
            resources.reasons["lines"] = "the region ended in another thread than it began in"
            return
        opened.stopwatch.flush()
        if opened.outermost:
            self._events.stop()
            self._here.stopwatch = None
        resources.lines = opened.stopwatch.since(opened.lines)
        resources.line_events = opened.stopwatch.events - opened.events
        resources.line_overhead_ns = opened.stopwatch.overhead_ns - opened.overhead_ns
