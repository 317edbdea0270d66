"""A region: what ``profiler.profile("name")`` returns. A context manager and a decorator, cheap enough for inner loops.

Entering and leaving costs two readings of the wall clock, at most two of the processor clock, and one tuple. What needs
more is done by :mod:`~stepscope.performance.tracked`, or later, when somebody asks.
"""

from __future__ import annotations

from time import perf_counter_ns, process_time_ns
from typing import TYPE_CHECKING, List, Optional

from ..errors import StepscopeError
from .aggregate import FOLD_AT, WALL_NS, Aggregate, Extra, Marks, Record, extra_of
from .resources import Resources
from .wrapping import Function, wrap

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

    from .metrics import Metrics

SAME_READING_NS = 10_000
"""Asking the system for processor time takes longer than all the rest. Within this time of a reading the thread is
taken to have been busy, and the system is not asked again: processor times are right to within this."""

# Places in ``Region.children``. Children may run at the same time (tasks): what counts is the time in which at least
# one is open.
OPEN, OPEN_SINCE_NS, COVERED_NS = range(3)


class Amounts:
    """What a region was told it works through."""

    __slots__ = ("samples", "items", "flops")

    def __init__(self, samples: Optional[float] = None, items: Optional[float] = None) -> None:
        self.samples = samples
        self.items = items
        self.flops: Optional[int] = None


class Region:
    """One stretch of the program, from ``__enter__`` to ``__exit__``."""

    # Few attributes, and none that is set before it is needed: each costs as much as a hundredth of a microsecond.
    __slots__ = (
        "aggregate", "name", "amounts", "parent", "start_ns", "end_ns", "cpu_start_ns", "children", "record",
        "resources",
    )  # fmt: skip

    parent: Optional[Region]
    children: Optional[List[int]]
    start_ns: int
    resources: Optional[Resources]
    record: Record

    def __init__(self, aggregate: Aggregate, name: str, amounts: Optional[Amounts] = None) -> None:
        self.aggregate = aggregate
        self.name = name
        self.amounts = amounts
        # Zero while it is open. It starts at another value so that a region cannot be entered twice at once, which
        # would make it its own parent.
        self.end_ns = -1

    def __enter__(self) -> Region:
        if not self.end_ns:
            raise open_already(self.name)
        core = self.aggregate.core
        parent = core.entered.get()
        while parent is not None and parent.end_ns:
            parent = parent.parent
        self.parent = parent
        self.children = None
        self.end_ns = 0
        core.entered.set(self)
        start_ns = perf_counter_ns()
        seen_ns, cpu_ns = core.cpu_seen
        if start_ns - seen_ns < SAME_READING_NS:
            cpu_ns += start_ns - seen_ns
        else:
            cpu_ns = process_time_ns()
            start_ns = perf_counter_ns()
            core.cpu_seen = (start_ns, cpu_ns)
        self.cpu_start_ns = cpu_ns
        self.start_ns = start_ns
        if parent is not None:
            # No call is made between reading and writing the count, so no other thread gets in between.
            children = parent.children
            if children is None:
                parent.children = [1, start_ns, 0]
            else:
                if not children[OPEN]:
                    children[OPEN_SINCE_NS] = start_ns
                children[OPEN] += 1
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        end_ns = perf_counter_ns()
        aggregate = self.aggregate
        core = aggregate.core
        seen_ns, cpu_ns = core.cpu_seen
        if end_ns - seen_ns < SAME_READING_NS:
            cpu_ns += end_ns - seen_ns
        else:
            cpu_ns = process_time_ns()
            core.cpu_seen = (end_ns, cpu_ns)
        self.end_ns = end_ns
        covered_ns = 0
        children = self.children
        if children is not None:
            covered_ns = children[COVERED_NS] + (end_ns - children[OPEN_SINCE_NS] if children[OPEN] else 0)
        repeated = False
        parent = self.parent
        if parent is not None:
            children = parent.children
            if children is not None:
                children[OPEN] -= 1
                if not children[OPEN]:
                    children[COVERED_NS] += end_ns - children[OPEN_SINCE_NS]
            while parent is not None:
                if parent.aggregate is aggregate:
                    repeated = True
                    break
                parent = parent.parent
        extra = None
        if kind is not None or repeated or self.amounts is not None:
            extra = self.extra(kind is not None, repeated)
        core.ended_last = self
        self.record = record = (end_ns - self.start_ns, cpu_ns - self.cpu_start_ns, covered_ns, extra)
        pending = aggregate.pending
        pending.append(record)
        if len(pending) >= FOLD_AT:
            aggregate.fold()

    def extra(self, failed: bool, repeated: bool, marks: Optional[Marks] = None) -> Extra:
        """What most regions do not have: amounts, a failure, a region of the same name around it."""
        amounts = self.amounts or Amounts()
        return Extra(amounts.samples, amounts.items, failed, repeated, marks, amounts.flops)

    def add_samples(self, count: float) -> None:
        """Counts samples that were worked through, for ``metrics.throughput``."""
        amounts = self._told()
        amounts.samples = (amounts.samples or 0) + count

    def add_items(self, count: float) -> None:
        """Counts things other than samples, such as tokens, for ``metrics.items_per_second``."""
        amounts = self._told()
        amounts.items = (amounts.items or 0) + count

    def add_flops(self, count: float) -> None:
        """Adds floating-point operations that nothing here can see, for ``metrics.compute.estimated_flops``.

        For JAX, ask the compiler: ``region.add_flops(jitted.lower(x).compile().cost_analysis()["flops"])``.
        """
        amounts = self._told()
        amounts.flops = (amounts.flops or 0) + int(count)

    def _told(self) -> Amounts:
        if self.amounts is None:
            self.amounts = Amounts()
        return self.amounts

    @property
    def failed(self) -> bool:
        """Whether an exception ended it."""
        return self.end_ns > 0 and extra_of(self.record).failed

    @property
    def wall_time_s(self) -> float:
        """Seconds from start to end, once it has ended."""
        return self.record[WALL_NS] / 1e9 if self.end_ns > 0 else 0.0

    def metrics(self) -> Metrics:
        """The metrics of this very occurrence, whatever ended since; once it has ended."""
        if self.end_ns <= 0:
            raise StepscopeError(f"the region {self.name!r} has not ended", hint="ask after its with block")
        return self.aggregate.core.describe(self)

    def __call__(self, function: Function) -> Function:
        """Decorates a function: each call is a region of this name."""
        core, name, region = self.aggregate.core, self.name, type(self)
        told = self.amounts

        def opened() -> Region:
            amounts = None if told is None else Amounts(told.samples, told.items)
            return region(core.known.get(name) or core.aggregate_for(name), name, amounts)

        return wrap(function, opened)

    def __repr__(self) -> str:
        state = "not entered" if self.end_ns < 0 else f"{self.wall_time_s:.6f} s" if self.end_ns else "open"
        return f"<region {self.name!r}: {state}>"


def open_already(name: str) -> StepscopeError:
    """The error for a region that is entered while it is open."""
    return StepscopeError(
        f"the region {name!r} is open already", hint=f"call profile({name!r}) again for a region inside it"
    )
