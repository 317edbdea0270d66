"""Durations by size: a base-2 exponential histogram with 32 buckets to a doubling.

Its quantiles are within 1.1% of the true ones whatever was recorded, it never grows past a few hundred numbers, and it
is the shape that OpenTelemetry and Prometheus call an exponential (native) histogram of scale 5.
"""

from __future__ import annotations

from collections import Counter
from collections import Counter as CounterOf
from collections.abc import Sequence
from math import log2

SCALE = 5
_PER_DOUBLING = float(1 << SCALE)


class ExponentialHistogram:
    """Counts of positive whole numbers by size."""

    __slots__ = ("buckets", "count")

    def __init__(self) -> None:
        self.buckets: CounterOf[float] = Counter()
        self.count = 0

    def extend(self, values: Sequence[int]) -> None:
        """Adds values. What is below 1 counts as 1."""
        found = [log2(value) * _PER_DOUBLING // 1 for value in values if value > 1]
        if len(found) < len(values):
            found += [0.0] * (len(values) - len(found))
        self.buckets.update(found)
        self.count += len(found)

    def merge(self, other: ExponentialHistogram) -> None:
        """Adds all that ``other`` holds; nothing is lost by it."""
        self.buckets.update(other.buckets)
        self.count += other.count

    def quantile(self, share: float) -> float:
        """The value that ``share`` of the values do not exceed: the middle of its bucket.

        >>> histogram = ExponentialHistogram()
        >>> histogram.extend([100] * 99 + [10_000])
        >>> round(histogram.quantile(0.5)), round(histogram.quantile(1.0))
        (100, 10064)
        """
        if not self.count:
            raise ValueError("an empty histogram has no quantile")
        wanted = share * self.count
        below = 0
        bucket = 0.0
        for bucket in sorted(self.buckets):
            below += self.buckets[bucket]
            if below >= wanted:
                break
        return float(2.0 ** ((bucket + 0.5) / _PER_DOUBLING))


def exact_quantile(ordered: list[int], share: float) -> float:
    """A quantile of sorted values, between neighbours in proportion (as numpy does).

    >>> exact_quantile([10, 20, 30, 40], 0.5)
    25.0
    """
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
