"""From the file of a recording to events that know what they ran in, and where they were entered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .events import FunctionEvent
from .region_stacks import BETWEEN_FRAMES
from .warn import warn_user


def nest(events: list[FunctionEvent]) -> None:
    """Tells each event which one it ran in: the innermost of its thread that was there for all of its time.
    Regions of several tasks that interleave on one thread have no parent."""
    by_thread: dict[int | str, list[FunctionEvent]] = {}
    for event in events:
        by_thread.setdefault(event.thread, []).append(event)
    for of_thread in by_thread.values():
        of_thread.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
        open_events: list[FunctionEvent] = []
        for event in of_thread:
            while open_events and open_events[-1].time_range.end < event.time_range.end:
                if open_events[-1].time_range.end > event.time_range.start:
                    event.is_async = True
                open_events.pop()
            if open_events and open_events[-1].time_range.end > event.time_range.start:
                event.cpu_parent = open_events[-1]
                open_events[-1].cpu_children.append(event)
            open_events.append(event)


def without_doubles(events: list[FunctionEvent]) -> list[FunctionEvent]:
    """Less those that do nothing but what the event of the same name around them does; PyTorch counts such pairs as
    one."""
    doubles: set[FunctionEvent] = set()
    for event in events:
        while event not in doubles and len(event.cpu_children) == 1 and event.cpu_children[0].name == event.name:
            double = event.cpu_children[0]
            doubles.add(double)
            event.cpu_children = double.cpu_children
            for child in event.cpu_children:
                child.cpu_parent = event
    return [event for event in events if event not in doubles] if doubles else events


def events_of_trace(document: Mapping[str, Any]) -> list[FunctionEvent]:
    """The regions and steps of a trace that was written by this package."""
    found: list[FunctionEvent] = []
    skipped = 0
    for entry in document.get("traceEvents", ()):
        if entry.get("ph") != "X" or entry.get("cat") in ("python_function", "Trace"):
            continue
        try:
            start_us = float(entry["ts"])
            event = FunctionEvent(len(found), entry["name"], entry["tid"], start_us, start_us + float(entry["dur"]))
            stack = entry.get("args", {}).get("Call stack", "")
            event.stack = [frame for frame in stack.split(BETWEEN_FRAMES) if frame]
            found.append(event)
        except (AttributeError, KeyError, TypeError, ValueError):
            skipped += 1
    if skipped:
        warn_user(f"{skipped} entries of the trace could not be read")
    nest(found)
    return without_doubles(found)
