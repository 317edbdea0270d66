"""How long the interpreter takes to bring an event to us, which no clock inside the event can see.

A line that runs a million times would look slow for its million events alone. So a few lines whose cost is known are
run with and without events, once, and the difference is taken off each event of the real measurement. It is an
estimate, of about the right size; without it, lines that do little would look several times slower than they are.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter_ns
from typing import Any, Callable

from .stopwatch import Stopwatch

_WORK = """
def work(times):
    total = 0
    for number in range(times):
        total += number
        total -= number
    return total
"""
_TIMES = 300
_TRIES = 7


def event_cost_ns(events: Any) -> int:
    """The cost of one event, beyond what the stopwatch sees itself."""
    scope: dict[str, Any] = {}
    exec(compile(_WORK, "<cell: stepscope's own>", "exec"), scope)
    work: Callable[[int], int] = scope["work"]
    plain_ns = median(_time_ns(work) for _ in range(_TRIES))
    found = []
    for _ in range(_TRIES):
        stopwatch = Stopwatch(0)
        if events.start(stopwatch):
            return 0
        try:
            spent_ns = _time_ns(work)
        finally:
            events.stop()
        if stopwatch.events:
            found.append((spent_ns - plain_ns - stopwatch.overhead_ns) / stopwatch.events)
    return max(0, int(median(found))) if found else 0


def _time_ns(work: Callable[[int], int]) -> int:
    began_ns = perf_counter_ns()
    work(_TIMES)
    return perf_counter_ns() - began_ns
