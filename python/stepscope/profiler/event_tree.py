"""From the file of a recording to events that know what they ran in, and where they were entered."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping

from .events import FunctionEvent, FunctionEventAvg, shared_name
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


def averages_by_stack(events: Iterable[FunctionEvent], frames: int) -> list[FunctionEventAvg]:
    """The events by name and the innermost frames they were entered from."""
    found: dict[tuple[str, ...], FunctionEventAvg] = {}
    for event in events:
        name, stack = shared_name(event.name), event.stack[:frames]
        key = (name, *stack)
        average = found.get(key)
        if average is None:
            average = found[key] = FunctionEventAvg(name)
            average.stack = stack
        average.add(event)
    return list(found.values())


def events_of_trace(
    document: Mapping[str, Any], stack_of: Callable[[int, int], list[str]] | None = None
) -> list[FunctionEvent]:
    """The regions and steps of a trace that was written by this package. ``stack_of`` tells, by a thread and a start
    in nanoseconds, where an event was entered."""
    found: list[FunctionEvent] = []
    base_ns = int(document.get("baseTimeNanoseconds", 0))
    skipped = 0
    for entry in document.get("traceEvents", ()):
        if entry.get("ph") != "X" or entry.get("cat") in ("python_function", "Trace"):
            continue
        try:
            start_us = float(entry["ts"])
            event = FunctionEvent(len(found), entry["name"], entry["tid"], start_us, start_us + float(entry["dur"]))
            if stack_of is not None:
                # Regions of several tasks are beside their thread: "tasks of 12".
                thread = int(str(entry["tid"]).rsplit(" ", 1)[-1])
                event.stack = stack_of(thread, base_ns + round(start_us * 1000))
            found.append(event)
        except (KeyError, TypeError, ValueError):
            skipped += 1
    if skipped:
        warn_user(f"{skipped} entries of the trace could not be read.")
    nest(found)
    return without_doubles(found)
