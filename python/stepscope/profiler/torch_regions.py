"""Regions that PyTorch would lose or mix up, as events among its own.

PyTorch records one thread and those that work for it, and knows one stack of regions per thread. Regions of other
threads, and of tasks that take turns, are recorded by us, and stand beside PyTorch's in lists of events and averages.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Sequence
from typing import Any

from .events import FunctionEvent
from .warn import warn_user


def with_regions(results: Any, regions: Sequence[FunctionEvent], base_ns: int) -> Any:
    """A copy of PyTorch's list of events with these regions in it, whose times count from ``base_ns``."""
    events = copy.copy(results.function_events)
    try:
        start_ns = results.kineto_results.trace_start_ns()
    except AttributeError:  # older than 2.4
        start_ns = 1000 * results.kineto_results.trace_start_us()
    shift_us = (base_ns - start_ns) / 1e3
    try:
        events.extend(_as_torchs(regions, results, shift_us, 1 + max((event.id for event in events), default=0)))
    except Exception as error:
        warn_user(f"regions of other threads and tasks are in the trace, but not in this list: {error}")
    return events


def _as_torchs(regions: Sequence[FunctionEvent], results: Any, shift_us: float, first_id: int) -> list[Any]:
    theirs = sys.modules["torch.autograd.profiler_util"].FunctionEvent
    known = inspect.signature(theirs.__init__).parameters
    # What every version since 1.8 has, and what only some have.
    more: dict[str, Any] = {"use_device": getattr(results, "use_device", None), "is_user_annotation": True, "stack": []}
    more = {name: value for name, value in more.items() if name in known}
    found: dict[FunctionEvent, Any] = {}
    for place, region in enumerate(regions):
        found[region] = theirs(
            id=first_id + place,
            name=region.name,
            thread=region.thread,
            start_us=region.time_range.start + shift_us,
            end_us=region.time_range.end + shift_us,
            **more,
        )
    for region, event in found.items():
        parent = found.get(region.cpu_parent) if region.cpu_parent is not None else None
        if parent is not None:
            parent.append_cpu_child(event)
            event.set_cpu_parent(parent)
    return list(found.values())
