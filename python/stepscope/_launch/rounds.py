"""Iterations that come in rounds: some short ones, then a long one, and so on, as a program of reinforcement learning
collects experience and then learns from it. All numbers here are heuristics."""

from __future__ import annotations

from collections import deque

#: A long iteration takes so many times as long as a usual one, as a pause does (``statistics/pauses.rs``), and this
#: share of the longest lately: there are hiccups.
_LONG_RATIO, _LONG_SHARE = 3.0, 0.25
_RECENT_ROUNDS = 16
#: Rounds of the same length in a row, before they are believed: what runs beside a program may hold it up regularly
#: for a while.
_MIN_ROUNDS = 8
#: Long iterations take this share of the time: less is a validation, say, and no part of what the program iterates.
_MIN_LONG_SHARE = 1 / 3
#: What takes longer is not recorded as one iteration, and what takes less may be a rhythm of the machine's.
_MIN_NS, _MAX_NS = 50_000_000, 2_000_000_000


class Rounds:
    """Looks for them among iterations that usually take ``usual_ns``."""

    def __init__(self, usual_ns: float) -> None:
        self._long_ns = _LONG_RATIO * usual_ns
        self._recent_ns: deque[int] = deque(maxlen=_RECENT_ROUNDS)
        #: Iterations since the latest round began with a long one, and what they took.
        self._count = 0
        self._times_ns = [0, 0]
        #: The length of the round before it, and how many of that length there were in a row.
        self.length = 0
        self._same = 0

    @property
    def are_likely(self) -> bool:
        """Whether some were alike, though not enough of them yet. Where every iteration is long, they have changed."""
        return self.length > 1 and self._same >= 2

    def iteration_ended(self, took_ns: int) -> bool:
        """One more has ended; whether a round ended with it, and ``length`` is what all of them had."""
        is_long = self._is_long(took_ns)
        if is_long:
            if self._count != self.length:
                self.length, self._same, self._times_ns = self._count, 0, [0, 0]
            self._count = 0
            self._same += 1
        self._count += 1
        self._times_ns[is_long] += took_ns
        if self._same < _MIN_ROUNDS or self._count != self.length:
            return False
        short_ns, long_ns = self._times_ns
        whole_ns = short_ns + long_ns
        has_length = _MIN_NS <= whole_ns / self._same <= _MAX_NS
        return short_ns > 0 and long_ns >= _MIN_LONG_SHARE * whole_ns and has_length

    def _is_long(self, took_ns: int) -> bool:
        if took_ns <= self._long_ns:
            return False
        self._recent_ns.append(took_ns)
        return took_ns >= _LONG_SHARE * max(self._recent_ns)
