"""Times lines while a region is open, in the thread that opened it.

Each moment belongs to one line: when a function of the user's returns, the time goes back to the line that called it,
and what a line calls in other people's code is that line's time. So the times add up. What the events themselves take
is measured once and is in no line; without that, lines that do little would look several times slower than they are.
"""

from __future__ import annotations

import threading
from types import CodeType
from typing import Any, NamedTuple

from ..._exact.cost import line_event_cost_ns
from ..._native import LineTimer, TimedRegion
from ..._user_code import is_user_code
from ...errors import StepscopeError
from ..probe import Probe
from ..resources import LineKey, Resources

Sums = dict[LineKey, tuple[int, int]]


class _OpenLines(NamedTuple):
    timed: bool
    outermost: bool
    lines: Sums
    events: int
    why_not: str
    thread: int


class LineProbe(Probe):
    """Starts with the outermost region of a thread; the regions inside it get their share."""

    what = "lines"

    def __init__(self) -> None:
        self._here = threading.local()
        self._timer: LineTimer | None = None
        self._event_cost_ns = 0

    def running(self) -> LineTimer | None:
        """What times this thread, if it is timed."""
        found: LineTimer | None = getattr(self._here, "timer", None)
        return found

    def enter(self, region: TimedRegion) -> _OpenLines:
        thread = threading.get_ident()
        timer = self.running()
        if timer is not None:
            lines, events = _sums(timer), timer.events()
            timer.resume()
            return _OpenLines(True, False, lines, events, "", thread)
        if self._timer is None:
            self._event_cost_ns = line_event_cost_ns(own=True)
            self._timer = LineTimer(_is_users, own=True, event_cost_ns=self._event_cost_ns)
        try:
            self._timer.start()
        except StepscopeError as error:
            return _OpenLines(False, False, {}, 0, error.message, thread)
        self._here.timer = self._timer
        return _OpenLines(True, True, {}, 0, "", thread)

    def exit(self, region: TimedRegion, token: Any, resources: Resources) -> None:
        opened: _OpenLines = token
        if not opened.timed:
            resources.reasons["lines"] = opened.why_not
            return
        timer = self.running()
        if opened.thread != threading.get_ident() or timer is None:
            resources.reasons["lines"] = "the region ended in another thread than it began in"
            return
        timer.pause()
        for key, (hits, ns) in _sums(timer).items():
            old_hits, old_ns = opened.lines.get(key, (0, 0))
            if hits > old_hits or ns > old_ns:
                resources.lines[key] = (hits - old_hits, max(0, ns - old_ns))
        resources.line_events = timer.events() - opened.events
        resources.line_overhead_ns = resources.line_events * self._event_cost_ns
        if opened.outermost:
            self._here.timer = None
            timer.stop_here()


class LinePause(Probe):
    """Entered before all other probes and left after them: while they work, no line of the region around is timed."""

    what = "lines beside other metrics"

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


def _is_users(code: CodeType) -> bool:
    return is_user_code(code.co_filename)


def _sums(timer: LineTimer) -> Sums:
    found: Sums = {}
    for file, _, function, line, hits, ns in timer.rows():
        known = found.get((file, line, function), (0, 0))
        found[file, line, function] = (known[0] + hits, known[1] + ns)
    return found
