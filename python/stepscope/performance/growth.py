"""What grew inside a region, and how much of that inside the regions within it.

A level says that memory grows; it does not say where. If one region leaks and another runs in turn with it, the level
rises from one end of the other to its next just as well. So each occurrence is also charged with what grew between its
own start and end, and takes off what grew inside the regions within it.

The numbers are of the whole process: what other threads keep meanwhile is in them too.
"""

from __future__ import annotations

from typing import Any

from .._native import TimedRegion
from .probe import Probe
from .resources import MARK_COUNT, MAX_INNER_NAMES, Resources


class _OpenRegion:
    """A region that is open, and what has grown inside regions within it that have ended."""

    __slots__ = ("in_inner", "inner_names")

    def __init__(self) -> None:
        self.in_inner: list[int] = [0] * MARK_COUNT
        self.inner_names: set[str] = set()


class GrowthProbe(Probe):
    """Charges growth to the innermost region. Left after the probes that read the levels."""

    what = "where memory grows"

    def enter(self, region: TimedRegion) -> Any:
        return _OpenRegion()

    def exit(self, region: TimedRegion, token: _OpenRegion, resources: Resources) -> None:
        if token.inner_names:
            resources.in_inner, resources.inner_names = token.in_inner, token.inner_names
        around = self._around(region) if region.parent is not None else None
        if around is None:
            return
        for at, mark in enumerate(resources.marks):
            if mark is not None and mark.inside is not None:
                around.in_inner[at] += mark.inside
        if len(around.inner_names) < MAX_INNER_NAMES:
            around.inner_names.add(region.aggregate.name)
            around.inner_names.update(token.inner_names)

    def _around(self, region: TimedRegion) -> _OpenRegion | None:
        # One that has ended already, as around a task that outlives it, has no tokens left and is not charged.
        for probe, token in getattr(region.parent, "tokens", ()):
            if probe is self:
                found: _OpenRegion = token
                return found
        return None
