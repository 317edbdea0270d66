"""Where the time went, region by region.

A region that holds others spends their time too. Adding up whole times would count it twice, so the mapping holds *own*
times: they add up, and each divided by their sum is a true share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .._native import share_text
from .aggregate import Aggregate
from .text_table import aligned, seconds


class Times(NamedTuple):
    """Times of one name, in seconds."""

    own_s: float
    total_s: float
    """Start to end; a region inside one of the same name is not counted again."""
    occurrences: int


class TimingBreakdown(Mapping[str, float]):
    """Seconds by region name: own time, or total time if that was asked for.

    >>> breakdown = TimingBreakdown({"all": Times(1.0, 4.0, 1), "load": Times(3.0, 3.0, 2)})
    >>> breakdown["all"] / sum(breakdown.values()), breakdown.total("all")
    (0.25, 4.0)
    """

    def __init__(self, times: Mapping[str, Times], self_time: bool = True, overhead_s: float = 0.0) -> None:
        self._times: dict[str, Times] = dict(times)
        self.self_time = self_time
        self.overhead_s = overhead_s
        """What measuring took; it is in no region's own time."""

    def __getitem__(self, name: str) -> float:
        times = self._times[name]
        return times.own_s if self.self_time else times.total_s

    def __iter__(self) -> Iterator[str]:
        return iter(self._times)

    def __len__(self) -> int:
        return len(self._times)

    def total(self, name: str) -> float:
        """Seconds from start to end of all regions of a name, those inside them included."""
        return self._times[name].total_s

    def own(self, name: str) -> float:
        """Seconds in regions of a name while no region inside them was open."""
        return self._times[name].own_s

    def table(self) -> str:
        """As text, most own time first."""
        whole = sum(times.own_s for times in self._times.values())
        rows: list[list[str]] = [
            [
                name,
                f"{times.occurrences:,}",
                seconds(times.own_s),
                share_text(times.own_s / whole) if whole else "-",
                seconds(times.total_s),
            ]
            for name, times in sorted(self._times.items(), key=lambda pair: -pair[1].own_s)
        ]
        return aligned(["region", "count", "own time", "share", "total time"], rows)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        inside = ", ".join(f"{name!r}: {value:.6g}" for name, value in self.items())
        return f"TimingBreakdown({{{inside}}})"


def timing_breakdown(aggregates: list[Aggregate], self_time: bool) -> TimingBreakdown:
    """The breakdown of all regions that have ended."""
    times = {each.name: Times(each.self_ns / 1e9, each.inclusive_ns / 1e9, each.count) for each in aggregates}
    return TimingBreakdown(times, self_time, sum(each.overhead_ns for each in aggregates) / 1e9)
