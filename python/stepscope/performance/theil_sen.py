"""The slope of a noisy series: the median of the slopes between all pairs of points (Theil and Sen).

A single outlier, or a third of them, does not move it. Its confidence interval is Sen's (1968): the pair slopes at
ranks that follow from the variance of Kendall's S, with the correction for ties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, median
from typing import NamedTuple

MAX_POINTS = 400
"""Longer series are thinned evenly: the number of pairs grows with the square."""


class Slope(NamedTuple):
    """A slope per step, and the interval that holds the true one with the confidence that was asked for."""

    slope: float
    low: float
    high: float
    points: int


def theil_sen(values: Sequence[float], confidence: float = 0.95) -> Slope:
    """The slope of ``values`` over their positions 0, 1, 2, …

    >>> theil_sen([10, 12, 14, 16, 18, 20]).slope
    2.0
    >>> theil_sen([10, 12, 14, 1000, 18, 20]).slope
    2.0
    """
    count = len(values)
    if count < 3:
        raise ValueError("a slope with an interval needs at least three values")
    kept = min(count, MAX_POINTS)
    places = [round(at * (count - 1) / (kept - 1)) for at in range(kept)]
    slopes = sorted(
        (values[later] - values[earlier]) / (later - earlier)
        for at, earlier in enumerate(places)
        for later in places[at + 1 :]
    )
    points, pairs = kept, len(slopes)
    ties = Counter(values[at] for at in places).values()
    variance = (points * (points - 1) * (2 * points + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18.0
    spread = NormalDist().inv_cdf(0.5 + confidence / 2) * sqrt(max(0.0, variance))
    low = max(0, int((pairs - spread) / 2))
    high = min(pairs - 1, int((pairs + spread) / 2 + 0.5))
    return Slope(median(slopes), slopes[low], slopes[high], points)
