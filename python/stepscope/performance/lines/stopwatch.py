"""Gives each moment of a thread to the line that runs.

The time from one event to the next belongs to the line before it. When a function of the user's returns, the time goes
back to the line that called it. What a line calls in other people's code is that line's time. So the times add up.
"""

from __future__ import annotations

from time import perf_counter_ns
from types import CodeType

from ..resources import LineKey

Cell = list[int]
"""Hits and nanoseconds."""


class Stopwatch:
    """The lines of one thread."""

    __slots__ = ("cells", "current", "since_ns", "callers", "events", "overhead_ns", "event_cost_ns", "paused")

    def __init__(self, event_cost_ns: int) -> None:
        self.event_cost_ns = event_cost_ns
        self.cells: dict[tuple[CodeType, int], Cell] = {}
        self.current: Cell | None = None
        self.since_ns = perf_counter_ns()
        self.callers: list[Cell | None] = []
        self.events = 0
        self.overhead_ns = 0
        self.paused: Cell | None = None

    def line(self, code: CodeType, number: int) -> None:
        """A line starts."""
        now_ns = perf_counter_ns()
        current = self.current
        if current is not None:
            current[1] += now_ns - self.since_ns
        key = (code, number)
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = [0, 0]
        cell[0] += 1
        self.current = cell
        self._resume(now_ns)

    def called(self) -> None:
        """A function of the user's starts."""
        now_ns = perf_counter_ns()
        current = self.current
        if current is not None:
            current[1] += now_ns - self.since_ns
        self.callers.append(current)
        self.current = None
        self._resume(now_ns)

    def returned(self) -> None:
        """A function of the user's ends or pauses."""
        now_ns = perf_counter_ns()
        current = self.current
        if current is not None:
            current[1] += now_ns - self.since_ns
        self.current = self.callers.pop() if self.callers else None
        self._resume(now_ns)

    def pause(self) -> None:
        """From here on the time is nobody's: what is measured at a region's edge is not the line's doing."""
        now_ns = perf_counter_ns()
        if self.current is not None:
            self.current[1] += now_ns - self.since_ns
            self.paused, self.current = self.current, None
        self.since_ns = now_ns

    def resume(self) -> None:
        """The line goes on."""
        if self.current is None:
            self.current, self.paused = self.paused, None
        self.since_ns = perf_counter_ns()

    def snapshot(self) -> dict[tuple[CodeType, int], tuple[int, int]]:
        """All lines as they stand."""
        return {key: (cell[0], cell[1]) for key, cell in self.cells.items()}

    def since(self, earlier: dict[tuple[CodeType, int], tuple[int, int]]) -> dict[LineKey, tuple[int, int]]:
        """What was added to each line since a snapshot."""
        found: dict[LineKey, tuple[int, int]] = {}
        for key, (hits, spent_ns) in self.cells.items():
            old_hits, old_ns = earlier.get(key, (0, 0))
            if hits > old_hits or spent_ns > old_ns:
                code, number = key
                name = (code.co_filename, number, getattr(code, "co_qualname", code.co_name))
                known = found.get(name, (0, 0))
                found[name] = (known[0] + hits - old_hits, known[1] + max(0, spent_ns - old_ns))
        return found

    def _resume(self, event_ns: int) -> None:
        """What the event took is nobody's time: neither this function, nor the way from the interpreter to here."""
        self.events += 1
        now_ns = perf_counter_ns()
        self.since_ns = now_ns + self.event_cost_ns
        self.overhead_ns += now_ns - event_ns + self.event_cost_ns
