"""Which iterations of a program are recorded: some in a row, once they take as long as those before them.

All numbers here are heuristics. Until then nothing is attached to the program, and its iterations are timed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from .._native import pause_above, warm_up_length
from ..profiler.sampler import MAX_HZ

#: Samples of the Python stacks per second, of this process and its children.
SAMPLES_HZ = 100.0
_SAMPLES_PER_WINDOW = 100

#: Recording them costs up to a second.
_MIN_BEGINNING, _MAX_BEGINNING, _BEGINNING_S = 3, 10, 0.5
_MIN_TIMED, _MAX_TIMED = 10, 300
#: Iterations of all lengths are timed for longer: so many at most, or until their mean is known this well.
_ENOUGH_TIMED, _MAX_ERROR = 30, 0.05
_MIN_LONG_TIMED = 3
_LONG_NS, _MAX_NS = 1_000_000_000, 20_000_000_000
#: The latest may differ from those before them by this much; by less, until they have taken a while.
_STEADY_RATIO, _SOON_STEADY_RATIO, _SOON_NS = 1.15, 1.1, 2_000_000_000
_USUAL_LENGTH = 10
_MIN_LENGTH = 5
_USUAL_NS, _MAX_WINDOW_NS = 1_000_000_000, 2_000_000_000


def beginning_is_over(ended: int, recorded_s: float) -> bool:
    """Whether a program that has ended so many iterations is none of the short ones that are recorded whole.

    >>> beginning_is_over(9, 0.2), beginning_is_over(3, 1.5), beginning_is_over(10, 0.2)
    (False, True, True)
    """
    return ended >= _MAX_BEGINNING or (ended >= _MIN_BEGINNING and recorded_s >= _BEGINNING_S)


def without_pauses(times_ns: Sequence[int]) -> tuple[list[int], list[int]]:
    """The usual ones of some iterations, and the pauses among them, such as a validation.

    >>> without_pauses([10] * 10 + [40])
    ([10, 10, 10, 10, 10, 10, 10, 10, 10, 10], [40])
    >>> without_pauses([1, 1, 13, 1, 1, 13])
    ([1, 1, 13, 1, 1, 13], [])
    >>> without_pauses([16, 20, 143, 18, 16])
    ([16, 20, 18, 16], [143])
    """
    longest = pause_above([float(ns) for ns in times_ns])
    return [ns for ns in times_ns if ns <= longest], [ns for ns in times_ns if ns > longest]


def samples_hz(window_ns: float) -> float:
    """How often to sample the Python stacks while iterations are recorded: a short window needs many samples.

    >>> [samples_hz(seconds * 1e9) for seconds in (0, 0.05, 0.5, 2)]
    [100.0, 1000.0, 200.0, 100.0]
    """
    return min(max(_SAMPLES_PER_WINDOW * 1e9 / window_ns, SAMPLES_HZ), MAX_HZ) if window_ns else SAMPLES_HZ


def warm_up(timed_ns: Sequence[int]) -> int:
    """How many of the iterations that were timed before a window count as warm-up.

    >>> warm_up([10] * 60), warm_up([20] * 40 + [10] * 20)
    (20, 40)
    """
    return warm_up_length([float(ns) for ns in timed_ns])


def usual_length(timed_ns: Sequence[int]) -> float:
    """What one of these takes, without those that warm up and pauses.

    >>> usual_length([90, 50, 20, 10, 11, 12])
    13.25
    """
    usual, _ = without_pauses(timed_ns[warm_up(timed_ns) :])
    return fmean(usual) if usual else 0.0


def _mean_is_known(timed_ns: Sequence[int]) -> bool:
    """Whether the mean of the usual ones would be about the same in another time.

    >>> _mean_is_known([10, 11, 10, 9] * 4), _mean_is_known([10, 3, 25, 7] * 4)
    (True, False)
    """
    usual, _ = without_pauses(timed_ns[warm_up(timed_ns) :])
    return len(usual) > 1 and stdev(usual) <= _MAX_ERROR * fmean(usual) * math.sqrt(len(usual))


@dataclass(frozen=True)
class Window:
    """What the user asked for; None leaves it to the iterations. ``together``: other processes record the same
    iterations, so that only their number decides."""

    after: int | None = None
    iterations: int | None = None
    seconds: float | None = None
    together: bool = False

    @property
    def follows_changes(self) -> bool:
        """Whether iterations that change later are recorded too: not if the user chose which to record, nor where
        other processes would have to record the same."""
        return self == Window()

    def begins(self, ended: int, timed_ns: Sequence[int]) -> bool:
        """Whether to record from here on: so many iterations have ended, the last of which took these times.

        >>> Window().begins(13, [40_000_000] * 10), Window().begins(13, [50_000_000] * 7 + [40_000_000] * 3)
        (True, False)
        >>> Window(after=20).begins(19, [40_000_000] * 10), Window().begins(6, [4_000_000_000] * 3)
        (False, True)
        """
        timed = len(timed_ns)
        if self.after is not None:
            return ended >= self.after
        if self.together:
            return timed >= _MIN_TIMED
        took_ns = sum(timed_ns)
        if timed >= _MAX_TIMED or took_ns >= _MAX_NS:
            return timed >= _MIN_LONG_TIMED
        if timed < (_MIN_LONG_TIMED if took_ns >= _LONG_NS else _MIN_TIMED):
            return False
        third = max(timed // 3, 1)
        before, latest = median(timed_ns[-2 * third : -third]), median(timed_ns[-third:])
        ratio = _STEADY_RATIO if took_ns >= _SOON_NS else _SOON_STEADY_RATIO
        is_steady = max(before, latest) <= ratio * min(before, latest)
        return is_steady and (timed >= _ENOUGH_TIMED or took_ns >= _LONG_NS or _mean_is_known(timed_ns))

    def length(self, timed_ns: Sequence[int]) -> int:
        """How many iterations to record.

        >>> [Window().length([ms * 1_000_000] * 10) for ms in (10, 150, 700, 3_000)]
        [10, 6, 3, 2]
        >>> Window(iterations=4).length([]), Window(seconds=3).length([500_000_000])
        (4, 6)
        """
        if self.iterations is not None:
            return self.iterations
        usual_ns = max(median(timed_ns), 1) if timed_ns else _USUAL_NS
        if self.seconds is not None:
            return max(math.ceil(self.seconds * 1e9 / usual_ns), 1)
        if self.together:
            return _MIN_LENGTH
        if usual_ns * _MIN_LENGTH <= _USUAL_NS:
            return min(_USUAL_LENGTH, int(_USUAL_NS / usual_ns))
        return min(_MIN_LENGTH, max(math.ceil(_MAX_WINDOW_NS / usual_ns), 2))
