"""Does memory grow from one occurrence of a region to the next, and does it grow inside the region?

"It grew by 100 MB" is not a leak: caches fill, allocators keep. A leak goes on. So the first occurrences are left out
as warm-up, and the native module judges the rest, as it judges memory in traces: by a robust slope that must be surely
above zero, also in the second half. Its thresholds are ``leak.*`` of ``stepscope findings --list``. What the C
allocator holds free does not count (:mod:`~stepscope.performance.memory`). Where it grows is looked for by
:mod:`~stepscope.performance.leak_place`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._native import judge_levels, threshold, usual_warmup
from .._units import MB
from .aggregate import Aggregate
from .leak_place import EITHER, INSIDE, OUTSIDE, MemorySeries, Suspect, memory_series, place_of, worst
from .resources import MEASURES
from .text_table import aligned, number

LEAK = "leak"
NO_LEAK = "no leak"
TOO_FEW = "too few"

_UNITS: tuple[tuple[str, float], ...] = (("MB", MB), ("MB", MB), ("objects", 1.0))
_BYTES_AN_OBJECT = 100.0
"""Of objects, as many as this would fill a megabyte: below that they are noise."""


@dataclass(frozen=True)
class Growth:
    """One measure of memory from occurrence to occurrence."""

    what: str
    unit: str
    verdict: str
    slope: float | None
    """Growth from the end of an occurrence to the end of the next."""
    low: float | None
    high: float | None
    first: float
    last: float
    occurrences: int
    """After warm-up."""
    inside: float | None = None
    """The mean growth from an occurrence's start to its end."""
    outside: float | None = None
    """The mean growth from an occurrence's end to the start of the next."""
    place: str = ""
    """Where it grows: ``"inside"``, ``"outside"``, ``"inside or outside"``; empty if it does not grow."""

    def __str__(self) -> str:
        if self.slope is None:
            needed = f"{threshold('leak.min_readings'):.0f} are needed"
            return f"{self.what}: {self.verdict} ({self.occurrences} occurrences after warm-up, {needed})"
        interval = f"{threshold('leak.confidence'):.0%} interval {self.low:+.4g} to {self.high:+.4g}"
        return (
            f"{self.what}: {self.verdict}, {self.slope:+.4g} {self.unit} per occurrence"
            f" ({interval}; {self.occurrences} occurrences)"
        )


@dataclass(frozen=True)
class LeakReport:
    """The verdict on a region, and the numbers behind it."""

    name: str
    verdict: str
    growths: tuple[Growth, ...]
    warmup: int
    reason: str = ""
    """Where memory grows, if it does; why nothing is known, if nothing was measured."""
    grows_in: str = ""
    """The innermost region inside which memory grows, as far as regions tell: this one, one within it, or another."""

    @property
    def leaks(self) -> bool:
        """Whether a leak was found."""
        return self.verdict == LEAK

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "growths": [vars(growth) for growth in self.growths]}

    def __str__(self) -> str:
        head = f"region {self.name!r}: {self.verdict} ({self.warmup} occurrences of warm-up left out)"
        parts = [head, self.reason] if self.reason else [head]
        if self.growths:
            numbers = ("slope", "low", "high", "inside", "outside")
            rows = [
                [g.what, g.verdict, *(number(getattr(g, name)) for name in numbers), g.unit, str(g.occurrences)]
                for g in self.growths
            ]
            header = ["measure", "verdict", "each time", "low", "high", "inside", "outside", "unit", "occurrences"]
            parts.append(aligned(header, rows, left=(0, 1, 7)))
        return "\n".join(parts)


def leak_report(
    aggregate: Aggregate,
    warmup: int | None = None,
    at_least_mb: float = 1.0,
    others: Sequence[Aggregate] = (),
) -> LeakReport:
    """Looks for growth over the occurrences that are held of a region; ``others`` are those it may grow in instead."""
    series = memory_series(aggregate)
    left_out = usual_warmup(max(len(held.levels) for held in series)) if warmup is None else warmup
    growths: list[Growth] = []
    reasons: list[str] = []
    grows_in = ""
    for measure, held in enumerate(series):
        if not held.levels:
            continue
        unit, scale = _UNITS[measure]
        at_least = at_least_mb if unit == "MB" else at_least_mb * MB / _BYTES_AN_OBJECT
        later = held.after(left_out, scale)
        growth = judge(MEASURES[measure], unit, later.levels, at_least, later)
        if growth.place:
            regions = dict.fromkeys([aggregate, *others])
            suspects = [Suspect(each, measure, scale, at_least) for each in regions]
            growth, name, reason = _attributed(growth, aggregate, suspects)
            reasons.append(reason)
            grows_in = grows_in or name
        growths.append(growth)
    growths, notes = _with_readings(growths, aggregate, warmup, at_least_mb)
    reasons += notes
    if notes and growths and growths[0].verdict == LEAK:
        grows_in = aggregate.name
    if not growths:
        reasons = ["no memory was measured: use track_system, track_gpu or detailed_memory"]
    verdicts = [growth.verdict for growth in growths]
    verdict = next((choice for choice in (LEAK, NO_LEAK) if choice in verdicts), TOO_FEW)
    return LeakReport(aggregate.name, verdict, tuple(growths), left_out, "; ".join(reasons), grows_in)


def _with_readings(
    growths: list[Growth], aggregate: Aggregate, warmup: int | None, at_least_mb: float
) -> tuple[list[Growth], list[str]]:
    """The same, but for a region with too few occurrences what was read inside it; and what to say about that."""
    if any(growth.verdict != TOO_FEW for growth in growths):
        return growths, []
    taken = tuple(aggregate.readings)
    in_use = [used for _, used in taken if used is not None]
    readings = [held / MB for held in (in_use if len(in_use) == len(taken) else [rss for rss, _ in taken])]
    left_out = usual_warmup(len(readings)) if warmup is None else warmup
    growth = judge(MEASURES[0], "MB", readings[left_out:], at_least_mb)
    if growth.verdict == TOO_FEW:
        hint = "open the region inside the loop, or call get_current_memory() in each iteration"
        return growths, [f"{len(readings)} readings inside it are too few too: {hint}"] if growths else []
    if growth.verdict == LEAK:
        growth = replace(growth, place=INSIDE)
        said = f"{growth.what} grows by {growth.slope:.4g} MB from one reading inside it to the next"
    else:
        said = f"judged by {growth.occurrences} readings inside it"
    return [growth, *growths[1:]], [said]


def judge(what: str, unit: str, values: Sequence[float], at_least: float, held: MemorySeries | None = None) -> Growth:
    """The verdict on one series of levels, warm-up already left out; ``held`` tells what grew inside."""
    found = judge_levels(list(values), at_least)
    ends = (values[0], values[-1], len(values)) if values else (0.0, 0.0, 0)
    if found is None:
        return Growth(what, unit, TOO_FEW, None, None, None, *ends)
    grows, slope, low, high = found
    growth = Growth(what, unit, LEAK if grows else NO_LEAK, slope, low, high, *ends)
    inside, outside = (None, None) if held is None else held.means
    if held is None or inside is None:
        return growth
    place = place_of(held, slope, at_least) if grows else ""
    return replace(growth, inside=inside, outside=outside, place=place)


def _attributed(growth: Growth, region: Aggregate, suspects: Sequence[Suspect]) -> tuple[Growth, str, str]:
    """The verdict on a measure that grows, once other regions are looked at; the region it grows in; in words."""
    inner = region.resources.inner_names if region.resources is not None else set()
    own_or_inner = worst(each for each in suspects if each.name == region.name or each.name in inner)
    apart = [each for each in suspects if each.name != region.name and each.name not in inner]
    grows = f"{growth.what} grows by {growth.slope:.4g} {growth.unit} from one occurrence to the next"
    if growth.place == INSIDE or (growth.place == EITHER and own_or_inner and not own_or_inner.gives_back):
        name = own_or_inner.name if own_or_inner else region.name
        return growth, name, f"{grows}, inside it" + ("" if name == region.name else f": in {name!r}")
    other = worst(apart, clear_only=growth.place == EITHER)
    if growth.place == OUTSIDE or other is not None:
        name = other.name if other else ""
        where = f": inside {name!r}" if name else "; no other region shows it"
        return replace(growth, verdict=NO_LEAK), name, f"{grows}, but outside it{where}"
    name = own_or_inner.name if own_or_inner else ""
    return growth, name, f"{grows}; whether it grows inside or in between is unclear"
