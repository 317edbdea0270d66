"""A region: what ``profiler.profile("name")`` returns. A context manager and a decorator, cheap enough for inner loops.

Entering and leaving is native (:class:`stepscope._native.TimedRegion`): the clocks, who is around it, and one tuple
that waits in the aggregate. What needs more is done by :mod:`~stepscope.performance.tracked`, or later, when somebody
asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Optional

from stepscope._native import TimedRegion

from ..errors import StepscopeError
from .aggregate import WALL_NS, Aggregate, Extra, Marks, Record, extra_of
from .resources import Resources
from .wrapping import Function, wrap

if TYPE_CHECKING:
    from .metrics import Metrics


class Amounts:
    """What a region was told it works through."""

    __slots__ = ("samples", "items", "flops")

    def __init__(self, samples: Optional[float] = None, items: Optional[float] = None) -> None:
        self.samples = samples
        self.items = items
        self.flops: Optional[int] = None


class Region(TimedRegion):
    """One stretch of the program, from ``__enter__`` to ``__exit__``."""

    __slots__ = ("resources",)

    aggregate: Aggregate
    amounts: Optional[Amounts]
    parent: Optional[Region]
    record: Record
    resources: Resources

    def refuse(self) -> NoReturn:
        """It is entered while it is open: that would make it its own parent."""
        raise StepscopeError(
            f"the region {self.name!r} is open already", hint=f"call profile({self.name!r}) again for a region inside it"
        )

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

        For JAX, :func:`~stepscope.performance.count_jax` counts a compiled function's calls by itself.
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
            return region(core.book, core.known.get(name) or core.aggregate_for(name), name, amounts)

        return wrap(function, opened)

    def __repr__(self) -> str:
        state = "not entered" if self.end_ns < 0 else f"{self.wall_time_s:.6f} s" if self.end_ns else "open"
        return f"<region {self.name!r}: {state}>"

