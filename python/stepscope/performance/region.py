"""A region: what ``profiler.profile("name")`` returns. A context manager and a decorator, cheap enough for inner loops.

Entering and leaving is native (:class:`stepscope._native.TimedRegion`): the clocks, who is around it, and one tuple
that waits in the aggregate. What needs more is done by :mod:`~stepscope.performance.tracked`, or later, when someone
asks.
"""

from __future__ import annotations

from typing import NoReturn

from .._decorate import Function, wrap
from .._native import TimedRegion
from ..errors import StepscopeError
from .aggregate import WALL_NS, Aggregate, Details, Marks, Record, details_of
from .metrics import Metrics
from .registry import RegionRegistry
from .resources import Resources


class Amounts:
    """How much a region works through, as far as the program says."""

    __slots__ = ("samples", "items", "flops")

    def __init__(self, samples: float | None = None, items: float | None = None) -> None:
        self.samples = samples
        self.items = items
        self.flops: int | None = None


class Region(TimedRegion):
    """One stretch of the program, from ``__enter__`` to ``__exit__``."""

    __slots__ = ("resources",)

    state: RegionRegistry
    aggregate: Aggregate
    amounts: Amounts | None
    parent: Region | None
    record: Record
    resources: Resources

    def refuse(self) -> NoReturn:
        """It is entered while it is open: that would make it its own parent."""
        raise StepscopeError(
            f"the region {self.name!r} is already open",
            hint=f"call profile({self.name!r}) again for a region inside it",
        )

    def details(self, failed: bool, repeated: bool, marks: Marks | None = None) -> Details:
        """What most regions do not have: amounts, a failure, a region of the same name around it."""
        amounts = self.amounts
        if amounts is None:
            return Details(None, None, failed, repeated, marks)
        return Details(amounts.samples, amounts.items, failed, repeated, marks, amounts.flops)

    def add_samples(self, count: float) -> None:
        """Counts samples that were worked through, for ``metrics.throughput``."""
        amounts = self._own_amounts()
        amounts.samples = (amounts.samples or 0) + count

    def add_items(self, count: float) -> None:
        """Counts things other than samples, such as tokens, for ``metrics.items_per_second``."""
        amounts = self._own_amounts()
        amounts.items = (amounts.items or 0) + count

    def add_flops(self, count: float) -> None:
        """Adds floating-point operations that nothing here can see, for ``metrics.compute.estimated_flops``.

        For JAX, :func:`~stepscope.performance.count_jax` counts a compiled function's calls by itself.
        """
        amounts = self._own_amounts()
        amounts.flops = (amounts.flops or 0) + int(count)

    def _own_amounts(self) -> Amounts:
        if self.amounts is None:
            self.amounts = Amounts()
        return self.amounts

    @property
    def failed(self) -> bool:
        """Whether an exception ended it."""
        return self.end_ns > 0 and details_of(self.record).failed

    @property
    def wall_time_s(self) -> float:
        """Seconds from start to end, once it has ended."""
        return self.record[WALL_NS] / 1e9 if self.end_ns > 0 else 0.0

    def metrics(self) -> Metrics:
        """The metrics of this very occurrence, whatever ended since; once it has ended."""
        if self.end_ns <= 0:
            raise StepscopeError(f"the region {self.name!r} has not ended", hint="ask after its with block")
        return self.state.describe(self)

    def __call__(self, function: Function) -> Function:
        """Decorates a function: each call is a region of this name."""
        registry, name, region = self.state, self.name, type(self)
        given = self.amounts

        def opened() -> Region:
            amounts = None if given is None else Amounts(given.samples, given.items)
            return region(registry, registry.known.get(name) or registry.aggregate_for(name), name, amounts)

        return wrap(function, opened)

    def __repr__(self) -> str:
        state = "not entered" if self.end_ns < 0 else f"{self.wall_time_s:.6f} s" if self.end_ns else "open"
        return f"<region {self.name!r}: {state}>"
