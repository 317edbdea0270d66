"""Events of a recording that know what they ran in, and where they were entered."""

from __future__ import annotations

from .._native import Recording
from .events import FunctionEvent
from .region_stacks import BETWEEN_FRAMES


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


def events_of_recording(recording: Recording) -> list[FunctionEvent]:
    """Its regions and steps."""
    found: list[FunctionEvent] = []
    for name, thread, start_us, dur_us, stack in recording.events():
        event = FunctionEvent(len(found), name, thread, start_us, start_us + dur_us)
        event.stack = [frame for frame in stack.split(BETWEEN_FRAMES) if frame]
        found.append(event)
    nest(found)
    return without_doubles(found)
