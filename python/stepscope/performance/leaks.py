"""Does memory grow from one occurrence of a region to the next?

"It grew by 100 MB" is not a leak: caches fill, allocators keep. A leak goes on. So the first occurrences are left out
as warm-up, a robust slope is fitted to the rest, and the verdict is "leak" only if the slope's confidence interval is
above zero both for all of them and for their second half, and the growth is large enough to matter. The limits are
heuristics, and parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .aggregate import Aggregate, extra_of
from .metrics import MB
from .text_table import aligned, number
from .theil_sen import Slope, theil_sen

LEAK = "leak"
NO_LEAK = "no leak"
TOO_FEW = "too few"

FEWEST = 8
"""Occurrences after warm-up below which nothing is said (a heuristic)."""

_SERIES: Tuple[Tuple[str, str, float], ...] = (
    ("process memory (RSS)", "MB", MB),
    ("PyTorch tensors on GPUs", "MB", MB),
    ("Python objects", "objects", 1.0),
)


@dataclass(frozen=True)
class Growth:
    """One measure of memory from occurrence to occurrence."""

    what: str
    unit: str
    verdict: str
    slope: Optional[float]
    """Growth an occurrence."""
    low: Optional[float]
    high: Optional[float]
    first: float
    last: float
    occurrences: int
    """After warm-up."""

    def __str__(self) -> str:
        if self.slope is None:
            return f"{self.what}: {self.verdict} ({self.occurrences} occurrences after warm-up, {FEWEST} are needed)"
        return (
            f"{self.what}: {self.verdict}, {self.slope:+.4g} {self.unit} an occurrence"
            f" (95 % interval {self.low:+.4g} to {self.high:+.4g}; {self.occurrences} occurrences)"
        )


@dataclass(frozen=True)
class LeakReport:
    """The verdict on a region, and the figures behind it."""

    name: str
    verdict: str
    growths: Tuple[Growth, ...]
    warmup: int
    reason: str = ""

    @property
    def leaks(self) -> bool:
        """Whether a leak was found."""
        return self.verdict == LEAK

    def to_dict(self) -> Dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "warmup": self.warmup,
            "reason": self.reason,
            "growths": [vars(growth) for growth in self.growths],
        }

    def __str__(self) -> str:
        head = f"region {self.name!r}: {self.verdict} ({self.warmup} occurrences of warm-up left out)"
        if not self.growths:
            return f"{head}\n{self.reason}"
        rows = [
            [g.what, g.verdict, *(number(v) for v in (g.slope, g.low, g.high)), g.unit, str(g.occurrences)]
            for g in self.growths
        ]
        header = ["measure", "verdict", "each time", "low", "high", "unit", "occurrences"]
        return f"{head}\n{aligned(header, rows, left=(0, 1, 5))}"


def leak_report(
    aggregate: Aggregate, warmup: Optional[int] = None, at_least_mb: float = 1.0, confidence: float = 0.95
) -> LeakReport:
    """Looks for growth over the occurrences that are held of a region."""
    series = _held_series(aggregate)
    held = max((len(values) for values in series.values()), default=0)
    left_out = min(max(2, held // 10), 20) if warmup is None else warmup
    growths = []
    for what, unit, scale in _SERIES:
        values = [value / scale for value in series[what]][left_out:]
        # Of objects, as many as a list of a megabyte would hold: below that they are noise.
        threshold = at_least_mb if unit == "MB" else at_least_mb * MB / 100.0
        if series[what]:
            growths.append(judge(what, unit, values, threshold, confidence))
    verdicts = [growth.verdict for growth in growths]
    reason = ""
    if not growths:
        verdict, reason = TOO_FEW, "no memory was measured: use track_system, track_gpu or detailed_memory"
    else:
        verdict = next((choice for choice in (LEAK, NO_LEAK) if choice in verdicts), TOO_FEW)
    return LeakReport(aggregate.name, verdict, tuple(growths), left_out, reason)


def judge(what: str, unit: str, values: Sequence[float], at_least: float, confidence: float) -> Growth:
    """The verdict on one series, warm-up already left out."""
    count = len(values)
    if count < FEWEST:
        first, last = (values[0], values[-1]) if values else (0.0, 0.0)
        return Growth(what, unit, TOO_FEW, None, None, None, first, last, count)
    whole = theil_sen(values, confidence)
    later: Slope = theil_sen(values[count // 2 :], confidence)
    grows = whole.low > 0 and later.low > 0 and whole.slope * (count - 1) >= at_least
    verdict = LEAK if grows else NO_LEAK
    return Growth(what, unit, verdict, whole.slope, whole.low, whole.high, values[0], values[-1], count)


def _held_series(aggregate: Aggregate) -> Dict[str, List[float]]:
    found: Dict[str, List[float]] = {what: [] for what, _, _ in _SERIES}
    for record in aggregate.recent:
        marks = extra_of(record).marks
        if marks is None:
            continue
        for (what, _, _), value in zip(_SERIES, marks):
            if value is not None:
                found[what].append(float(value))
    return found
