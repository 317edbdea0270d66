"""The lines of a region, slowest first."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from typing import Any

from ..resources import Resources
from ..text_table import aligned, seconds


@dataclass(frozen=True)
class LineStats:
    """One line."""

    filename: str
    line_number: int
    function: str
    source: str
    hits: int
    time_s: float
    """Its own time and that of the code it called which is not the user's."""
    time_percent: float
    """Of the time of all lines."""

    @property
    def time_per_hit_s(self) -> float:
        """The mean of one run of the line."""
        return self.time_s / self.hits if self.hits else self.time_s


class LineProfile(list[LineStats]):
    """A list of :class:`LineStats`, slowest first, and what is to be known about it.

    Timing lines slows them down: each event takes about a tenth of a microsecond. ``events`` says how many there were
    and ``overhead_s`` about how long they took, by the cost of one measured on this interpreter; that time is in no
    line, but the region's wall time holds it.
    """

    def __init__(self, lines: list[LineStats], region: str, events: int, overhead_s: float, reason: str = "") -> None:
        super().__init__(lines)
        self.region = region
        self.events = events
        self.overhead_s = overhead_s
        self.reason = reason
        """Why there are no lines, or not all."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "region": self.region,
            "events": self.events,
            "overhead_s": self.overhead_s,
            "reason": self.reason,
            "lines": [vars(line) for line in self],
        }

    def table(self, most: int = 30) -> str:
        """The slowest lines as text."""
        rows = [
            [
                f"{os.path.basename(line.filename)}:{line.line_number}",
                seconds(line.time_s),
                f"{line.time_percent:.1f}%",
                f"{line.hits:,}",
                line.source[:80],
            ]
            for line in self[:most]
        ]
        head = f"lines of region {self.region!r}; {self.events:,} events took about {seconds(self.overhead_s)}"
        text = f"{head}\n{aligned(['line', 'time', 'share', 'hits', 'source'], rows, left=(0, 4))}" if rows else head
        return f"{text}\nnote: {self.reason}" if self.reason else text

    def __str__(self) -> str:
        return self.table()


def line_profile(region: str, resources: Resources) -> LineProfile:
    """The lines that were timed in a region."""
    whole_ns = sum(spent_ns for _, spent_ns in resources.lines.values())
    lines = [
        LineStats(
            filename=filename,
            line_number=number,
            function=function,
            source=linecache.getline(filename, number).strip(),
            hits=hits,
            time_s=spent_ns / 1e9,
            time_percent=100.0 * spent_ns / whole_ns if whole_ns else 0.0,
        )
        for (filename, number, function), (hits, spent_ns) in resources.lines.items()
    ]
    lines.sort(key=lambda line: (-line.time_s, line.filename, line.line_number))
    overhead_s = resources.line_overhead_ns / 1e9
    return LineProfile(lines, region, resources.line_events, overhead_s, resources.reasons.get("lines", ""))
