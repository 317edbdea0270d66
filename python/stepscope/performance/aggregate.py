"""All occurrences of the regions of one name, in bounded memory.

A region that ends appends one tuple; the tuples are folded into sums a hundred at a time, which costs less than adding
each by itself. The list is never replaced, so that a thread that appends while another folds loses nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple, Optional

from .._native import LatencyHistogram
from .fork_lock import ForkLock
from .resources import Mark, Resources

Marks = tuple[Optional[Mark], Optional[Mark], Optional[Mark], Optional[Mark]]
"""What a leak would raise: bytes of the process, of PyTorch's tensors, Python objects; bytes of the process in use."""


class Details(NamedTuple):
    """What most occurrences do not have."""

    samples: float | None = None
    items: float | None = None
    failed: bool = False
    repeated: bool = False
    """A region of the same name was open around it."""
    marks: Marks | None = None
    own_flops: int | None = None


# What a region leaves behind. A plain tuple: a named one takes four times as long to make.
Record = tuple[int, int, int, Optional[Details]]
WALL_NS: Final = 0
CPU_NS: Final = 1
COVERED_NS: Final = 2
DETAILS: Final = 3
FOLD_AT: Final = 128
"""Records that wait to be folded in."""
_NO_DETAILS = Details()


def details_of(record: Record) -> Details:
    """What a record holds beyond its times."""
    return record[DETAILS] or _NO_DETAILS


def exact_quantile(ordered: list[int], share: float) -> float:
    """A quantile of sorted values, between neighbors in proportion (as numpy does).

    >>> exact_quantile([10, 20, 30, 40], 0.5)
    25.0
    """
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Aggregate:
    """Sums, extremes, a histogram and the latest occurrences of one name."""

    __slots__ = (
        "lock", "name", "pending", "count", "failed", "wall_ns", "self_ns", "cpu_ns", "inclusive_ns", "min_ns",
        "max_ns", "histogram", "recent", "samples", "samples_ns", "items", "items_ns", "own_flops", "overhead_ns",
        "resources", "latest", "tracked", "forward", "folded_names", "readings",
        "_ordered", "_quantiles", "_quantiles_of",
    )  # fmt: skip

    def __init__(self, lock: ForkLock, name: str, keep: int) -> None:
        self.lock = lock
        self.name = name
        self.pending: list[Record] = []
        self.count = self.failed = 0
        self.wall_ns = self.self_ns = self.cpu_ns = self.inclusive_ns = 0
        self.min_ns: int | None = None
        self.max_ns = 0
        self.histogram = LatencyHistogram()
        self.recent: deque[Record] = deque(maxlen=keep)
        self.samples: float | None = None
        self.samples_ns = 0
        self.items: float | None = None
        self.items_ns = 0
        self.own_flops: int | None = None
        self.overhead_ns = 0
        self.resources: Resources | None = None
        self.latest: tuple[Record, Resources | None] | None = None
        # The last one that was looked at by probes, and what it used.
        self.tracked: tuple[Record, Resources] | None = None
        # Where later occurrences go, once this name has been folded into a pattern.
        self.forward: Aggregate | None = None
        # Bytes that the process held, and without what its allocator had free, when it was asked inside these regions.
        self.readings: deque[tuple[int, int | None]] = deque(maxlen=keep)
        self.folded_names = 0
        self._ordered: list[int] = []
        # Those that were asked for, of so many occurrences.
        self._quantiles: dict[float, float] = {}
        self._quantiles_of = 0

    def add(self, record: Record, resources: Resources, overhead_ns: int) -> None:
        """One occurrence with what it used."""
        with self.lock:
            if self.forward is not None:
                self.forward.add(record, resources, overhead_ns)
                return
            self.pending.append(record)
            self.overhead_ns += overhead_ns
            if self.resources is None:
                self.resources = Resources()
            self.resources.merge(resources)
            self.tracked = (record, resources)
            if len(self.pending) >= FOLD_AT:
                self.fold()

    def fold(self) -> None:
        """Takes in what waits."""
        with self.lock:
            pending = self.pending
            waiting = len(pending)
            if not waiting:
                return
            batch = pending[:waiting]
            del pending[:waiting]
            target = self
            while target.forward is not None:
                target = target.forward
            target._take_in(batch)

    def _take_in(self, batch: Sequence[Record]) -> None:
        walls, cpus, covered, details = zip(*batch)
        wall_ns = sum(walls)
        self.count += len(batch)
        self.wall_ns += wall_ns
        self.inclusive_ns += wall_ns
        self.self_ns += max(0, wall_ns - sum(covered))
        self.cpu_ns += sum(cpus)
        shortest = min(walls)
        self.min_ns = shortest if self.min_ns is None else min(self.min_ns, shortest)
        self.max_ns = max(self.max_ns, max(walls))
        self.histogram.extend_ns(walls)
        self.recent.extend(batch)
        tracked = self.tracked
        self.latest = tracked if tracked is not None and tracked[0] is batch[-1] else (batch[-1], None)
        if details.count(None) < len(batch):
            self._take_in_details(batch)

    def _take_in_details(self, batch: Sequence[Record]) -> None:
        for record in batch:
            details = details_of(record)
            wall_ns = record[WALL_NS]
            self.failed += details.failed
            if details.repeated:
                self.inclusive_ns -= wall_ns
            if details.samples is not None:
                self.samples = (self.samples or 0) + details.samples
                self.samples_ns += wall_ns
            if details.items is not None:
                self.items = (self.items or 0) + details.items
                self.items_ns += wall_ns
            if details.own_flops is not None:
                self.own_flops = (self.own_flops or 0) + details.own_flops

    def shorten(self, keep: int) -> None:
        """Keeps fewer occurrences one by one."""
        if self.recent.maxlen is None or self.recent.maxlen > keep:
            self.recent = deque(self.recent, maxlen=keep)

    def quantile_s(self, share: float) -> float:
        """A quantile of wall time: exact while all occurrences are held, within 1.1% after that."""
        if self._quantiles_of != self.count:
            self._quantiles, self._quantiles_of = {}, self.count
        found = self._quantiles.get(share)
        if found is None:
            found = self._quantiles[share] = self._quantile_s(share)
        return found

    def _quantile_s(self, share: float) -> float:
        if self.count <= len(self.recent):
            # Sorted but for those since the last time, which is soon done.
            ordered = self._ordered
            ordered += [record[WALL_NS] for record in islice(self.recent, len(ordered), None)]
            ordered.sort()
            return exact_quantile(ordered, share) / 1e9
        return self.histogram.quantile(share) or 0.0

    def absorb(self, other: Aggregate) -> None:
        """Takes all of ``other``, whose later occurrences come here too."""
        with self.lock:
            other.fold()
            other.forward = self
            # Regions of the old name that are still open leave their tuples here.
            other.pending = self.pending
            self.count += other.count
            self.failed += other.failed
            self.wall_ns += other.wall_ns
            self.self_ns += other.self_ns
            self.cpu_ns += other.cpu_ns
            self.inclusive_ns += other.inclusive_ns
            self.overhead_ns += other.overhead_ns
            if other.min_ns is not None:
                self.min_ns = other.min_ns if self.min_ns is None else min(self.min_ns, other.min_ns)
            self.max_ns = max(self.max_ns, other.max_ns)
            self.histogram.merge(other.histogram)
            self.recent.extend(other.recent)
            self._ordered = []
            self.readings.extend(other.readings)
            if other.samples is not None:
                self.samples = (self.samples or 0) + other.samples
                self.samples_ns += other.samples_ns
            if other.items is not None:
                self.items = (self.items or 0) + other.items
                self.items_ns += other.items_ns
            if other.own_flops is not None:
                self.own_flops = (self.own_flops or 0) + other.own_flops
            if other.resources is not None:
                self.resources = self.resources or Resources()
                self.resources.merge(other.resources)
            if other.latest is not None:
                self.latest = other.latest
            self.folded_names += max(1, other.folded_names)
