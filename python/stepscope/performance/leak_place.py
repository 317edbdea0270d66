"""Where memory grows: inside a region, inside one within it, or in between.

A level that rises from the end of one occurrence to the end of the next has risen either inside the occurrence or since
the one before; the two add up to the rise. Readings are noisy, so a mean counts only if its confidence interval does
(the native module decides that, as it decides whether levels grow).
What a region takes and gives back later, such as a result that is dropped after it, rises inside and falls outside:
then the numbers cannot tell whether it keeps some of that, or whether another region leaks. The limits are heuristics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from .._native import keeps_growing, usual_growth, usual_warmup
from .aggregate import Aggregate, details_of
from .resources import MEASURES, USED_MARK

INSIDE = "inside"
OUTSIDE = "outside"
EITHER = "inside or outside"

SMALL_SHARE = 0.1
"""Part of the whole growth below which growth inside a region is not worth a word (a heuristic)."""
LARGE_SHARE = 0.25
"""Part of the whole growth that is surely missed if it is not there (a heuristic)."""


@dataclass(frozen=True)
class MemorySeries:
    """One measure of memory over the occurrences that are held of a region, oldest first."""

    levels: list[float]
    """At the end of each."""
    inside: list[float]
    """From the start to the end of each."""
    own: list[float]
    """The same without what grew inside regions within it."""

    def after(self, warmup: int, scale: float) -> MemorySeries:
        """Without the first, in a larger unit."""
        parts = (self.levels, self.inside, self.own)
        return MemorySeries(*([value / scale for value in values[warmup:]] for values in parts))

    @property
    def outside(self) -> list[float]:
        """From the end of each to the start of the next."""
        return [
            later - earlier - inside for earlier, later, inside in zip(self.levels, self.levels[1:], self.inside[1:])
        ]

    @property
    def means(self) -> tuple[float | None, float | None]:
        """Growth inside and outside, as far as it is known."""
        if len(self.inside) != len(self.levels) or len(self.levels) < 2:
            return None, None
        return fmean(self.inside), fmean(self.outside)


def memory_series(aggregate: Aggregate) -> tuple[MemorySeries, ...]:
    """The measures of a region, in the order of :data:`~stepscope.performance.resources.MEASURES`."""
    found = tuple(MemorySeries([], [], []) for _ in MEASURES)
    with aggregate.lock:
        records = tuple(aggregate.recent)
    every = [details_of(record) for record in records]
    # One inside another of the same name is part of it.
    marked = [details.marks for details in every if details.marks is not None and not details.repeated]
    # What is free counts for all of them or for none: where it becomes unknown, memory would seem to grow.
    known = all(marks[0] is None or marks[USED_MARK] is not None for marks in marked)
    for marks in marked:
        for held, mark in zip(found, (marks[USED_MARK], *marks[1:USED_MARK]) if known else marks[:USED_MARK]):
            if mark is not None:
                held.levels.append(float(mark.level))
                if mark.inside is not None:
                    held.inside.append(float(mark.inside))
                    held.own.append(float(mark.inside - mark.in_inner))
    return found


def place_of(held: MemorySeries, slope: float, at_least: float) -> str:
    """Where a measure grows whose level rises by ``slope`` from one occurrence to the next."""
    mean, _, high = usual_growth(held.inside)
    if keeps_growing(held.inside, at_least) and mean >= SMALL_SHARE * slope:
        return EITHER if _gives_back(held, slope) else INSIDE
    return OUTSIDE if high < LARGE_SHARE * slope else EITHER


class Suspect:
    """A region and how much it grew by itself, without the regions within it."""

    __slots__ = ("name", "total", "gives_back")

    def __init__(self, aggregate: Aggregate, measure: int, scale: float, at_least: float) -> None:
        self.name = aggregate.name
        held = memory_series(aggregate)[measure]
        held = held.after(usual_warmup(len(held.levels)), scale)
        steady = len(held.own) == len(held.levels) and keeps_growing(held.own, at_least)
        self.total = sum(held.own) if steady else 0.0
        self.gives_back = steady and _gives_back(held, fmean(held.own))


def worst(suspects: Iterable[Suspect], clear_only: bool = False) -> Suspect | None:
    """The one that grew most; those that give some of it back come last, or not at all."""
    found = [each for each in suspects if each.total > 0 and not (clear_only and each.gives_back)]
    return max(found, key=lambda each: (not each.gives_back, each.total), default=None)


def _gives_back(held: MemorySeries, slope: float) -> bool:
    """Whether a good part of what grew inside goes away outside."""
    mean, _, high = usual_growth(held.outside)
    return high < 0 and mean < -LARGE_SHARE * slope
