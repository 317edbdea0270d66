"""What the regions of one profiler share: the names, the lock, the context variable that knows which region is open."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Callable

from .._native import RegionState, TimedRegion
from ..errors import StepscopeWarning
from .aggregate import Aggregate
from .fork_lock import ForkLock
from .metrics import Metrics
from .names import MAX_NAME_LENGTH, pattern_of
from .probe import Probe

MAX_NAMES = 1_000
"""Names that are kept apart. After that, names that differ in a number or an id are one."""
MAX_PATTERNS = 500
"""Patterns that are kept apart; what comes after goes under :data:`OTHER_NAMES`."""
OTHER_NAMES = "(other names)"
MIN_CROWD = 20
"""Names of one pattern from which on they are folded together when room is short."""
MAX_RECORDS = 200_000
"""Occurrences that are held one by one, over all names."""


def _not_described(region: TimedRegion) -> Metrics:
    raise NotImplementedError


class RegionRegistry(RegionState):
    """The names of one profiler's regions, and what was recorded under each.

    A region knows its registry as :attr:`~stepscope._native.TimedRegion.state`.
    """

    entered: ContextVar[TimedRegion | None]
    """The region entered last in this thread or task. One that has ended stays until the next is entered: walking up
    from it finds both the innermost open region and the one that ended last, without a second variable."""

    def __new__(cls, keep: int, probes: Sequence[Probe] = ()) -> RegionRegistry:
        entered: ContextVar[TimedRegion | None] = ContextVar("stepscope region", default=None)
        made = super().__new__(cls, entered)
        made.entered = entered
        return made

    def __init__(self, keep: int, probes: Sequence[Probe] = ()) -> None:
        self.keep = keep
        self.probes: list[Probe] = list(probes)
        self.lock = ForkLock()
        self.known: dict[str, Aggregate] = {}
        self.patterns: dict[str, Aggregate] = {}
        self._full = False
        self.notes: list[str] = []
        # When the program's own code went on after the last edge of a region.
        self.resumed_ns = 0
        # Probes that failed, by what they measured, and why.
        self.lost: dict[str, str] = {}
        # Makes the metrics of one region; the profiler knows how.
        self.describe: Callable[[TimedRegion], Metrics] = _not_described

    def aggregate_for(self, name: str) -> Aggregate:
        """Where the occurrences of a name are kept; the slow way, for a name that was not seen."""
        with self.lock:
            found = self.known.get(name) or self.folded(name)
            if found is not None:
                return found
            if len(self.known) >= MAX_NAMES and not self._full:
                self._make_room()
                # If that did not help, it never will: no name is added from here on.
                self._full = len(self.known) >= MAX_NAMES
                found = self.folded(name)
                if found is not None:
                    return found
            if len(self.known) < MAX_NAMES and len(name) <= 4 * MAX_NAME_LENGTH:
                self.known[name] = made = Aggregate(self.lock, name, self._keep_each())
                return made
            return self._pattern(pattern_of(name))

    def folded(self, name: str) -> Aggregate | None:
        """The pattern that a name was folded into, if it was."""
        return self.patterns.get(pattern_of(name)) if self.patterns else None

    def everything(self) -> list[Aggregate]:
        """All aggregates that hold something, in the order their names were first seen; what waits is folded in."""
        with self.lock:
            both = [*self.known.values(), *self.patterns.values()]
            for aggregate in both:
                aggregate.fold()
            return [aggregate for aggregate in both if aggregate.count]

    def innermost_open(self) -> TimedRegion | None:
        """The region that is open here: in this thread, or in this task."""
        region = self.entered.get()
        while region is not None and region.end_ns:
            region = region.parent
        return region

    def last_ended(self) -> TimedRegion | None:
        """The region that ended last here; if none did, the one that ended last anywhere.

        Regions end from the inside out, so it is the outermost of those that have ended since the last one opened.
        """
        region = self.entered.get()
        if region is None or not region.end_ns:
            last: TimedRegion | None = self.ended_last
            return last
        while region.parent is not None and region.parent.end_ns:
            region = region.parent
        return region

    def clear(self) -> None:
        """Forgets all occurrences. Regions that are open here will count when they end."""
        with self.lock:
            self.known.clear()
            self.patterns.clear()
            self._full = False
            self.notes.clear()
            self.ended_last = None
            region = self.innermost_open()
            self.entered.set(region)
            while region is not None:
                region.aggregate = self.aggregate_for(region.name)
                region = region.parent

    def after_fork_in_child(self) -> None:
        """A lock that no one holds, and probes that know of the fork."""
        self.lock.after_fork_in_child()
        for probe in tuple(self.probes):
            try:
                probe.after_fork_in_child()
            except Exception as error:
                # Without a warning: a program may turn it into an error, and what else follows a fork would not happen.
                self._lose(probe, error)

    def give_up(self, probe: Probe, error: Exception) -> None:
        """The program goes on; the probe does not."""
        why = self._lose(probe, error)
        warnings.warn(f"stepscope no longer measures {probe.what}: {why}", StepscopeWarning, stacklevel=3)

    def _lose(self, probe: Probe, error: Exception) -> str:
        why = f"{type(error).__name__}: {error}"
        with self.lock:
            if probe in self.probes:
                self.probes.remove(probe)
                self.lost[probe.what] = why
        return why

    def _keep_each(self) -> int:
        each = self.keep
        names = len(self.known) + len(self.patterns) + 1
        if names & (names - 1) == 0 and names * each > MAX_RECORDS:
            each = max(1, MAX_RECORDS // (2 * names))
            for aggregate in [*self.known.values(), *self.patterns.values()]:
                aggregate.shorten(each)
        return min(each, max(1, MAX_RECORDS // names))

    def _make_room(self) -> None:
        """Folds the names that are many of a kind."""
        kinds: dict[str, list[tuple[str, Aggregate]]] = {}
        for name, aggregate in self.known.items():
            kinds.setdefault(pattern_of(name), []).append((name, aggregate))
        for pattern, members in kinds.items():
            if len(members) >= MIN_CROWD:
                target = self._pattern(pattern)
                for name, aggregate in members:
                    target.absorb(aggregate)
                    del self.known[name]

    def _pattern(self, pattern: str) -> Aggregate:
        found = self.patterns.get(pattern)
        if found is None and len(self.patterns) >= MAX_PATTERNS:
            pattern = OTHER_NAMES
            found = self.patterns.get(OTHER_NAMES)
        if found is None:
            self.patterns[pattern] = found = Aggregate(self.lock, pattern, self._keep_each())
            if len(self.patterns) == 1:
                self.notes.append(
                    f"more than {MAX_NAMES:,} names: those that differ in numbers or ids are kept as one, such as"
                    f" {pattern!r}; name regions by their kind, not by their id"
                )
        return found
