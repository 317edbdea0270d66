"""What counting costs on this interpreter: a few calls and lines are run with it and without.

It is an estimate: what an event costs depends on the program around it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from time import perf_counter_ns
from typing import Any, Callable

from .._native import CallRecorder, CallTracer, LineTimer

_WORK_SOURCE = """
def empty():
    pass

def python_calls(times):
    for _ in range(times):
        empty()

def c_calls(times):
    measure = len
    for _ in range(times):
        measure(())

def many_lines(times):
    total = 0
    for number in range(times):
        total += number
        total -= number
    return total
"""
_CALL_COUNT = 500
_TRY_COUNT = 9

Work = Callable[[int], Any]


def _median(numbers: list[float]) -> float:
    """The middle one. ``statistics`` takes longer to import than all of this to run."""
    return sorted(numbers)[len(numbers) // 2]


def _scope() -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(_WORK_SOURCE, "<cell: stepscope's own>", "exec"), scope)
    return scope


def _time_ns(work: Work) -> int:
    began_ns = perf_counter_ns()
    work(_CALL_COUNT)
    return perf_counter_ns() - began_ns


@lru_cache(maxsize=1)
def call_costs_ns() -> tuple[float, float]:
    """The cost of counting one call of a Python function, and one of a C function. 0 if it cannot be measured now."""
    return _costs_ns(lambda: CallRecorder(True))


@lru_cache(maxsize=1)
def trace_costs_ns() -> tuple[float, float]:
    """The same of writing one to a file."""
    return _costs_ns(lambda: CallTracer(os.devnull))


def _costs_ns(make: Callable[[], Any]) -> tuple[float, float]:
    scope = _scope()
    return _call_cost_ns(scope["python_calls"], make), _call_cost_ns(scope["c_calls"], make)


def _call_cost_ns(work: Work, make: Callable[[], Any]) -> float:
    plain_ns = min(_time_ns(work) for _ in range(_TRY_COUNT))
    found = []
    for _ in range(_TRY_COUNT):
        recorder = make()
        try:
            recorder.start()
        except Exception:  # another tool is there
            return 0.0
        try:
            found.append((_time_ns(work) - plain_ns) / _CALL_COUNT)
        finally:
            recorder.stop()
    return max(0.0, _median(found))


def line_event_cost_ns(*, own: bool) -> int:
    """The cost of one event of a line, or of the start or end of its function. 0 if it cannot be measured now."""
    work = _scope()["many_lines"]
    plain_ns = min(_time_ns(work) for _ in range(_TRY_COUNT))
    found = []
    for _ in range(_TRY_COUNT):
        timer = LineTimer((lambda code: code is work.__code__) if own else None, own=own)
        if not own:
            timer.watch(work.__code__)
        try:
            timer.start()
        except Exception:  # another tool is there
            return 0
        try:
            spent_ns = _time_ns(work)
            events = timer.events()
        finally:
            timer.stop()
        if events:
            found.append((spent_ns - plain_ns) / events)
    return max(0, int(_median(found))) if found else 0
