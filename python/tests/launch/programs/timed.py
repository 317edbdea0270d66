"""How long the iterations of these programs take, by their own clock: what a recording is compared with."""

from __future__ import annotations

import json
import sys
import time


class Timed:
    """Counts iterations; ``settle`` waits for the device where there is one."""

    def __init__(self, settle=lambda: None):
        self._settle = settle
        self._started = time.perf_counter()
        self._ends = []

    def iteration(self):
        """One has ended."""
        self._ends.append(time.perf_counter())

    def report(self, **more):
        """The last line that a program prints. The mean of the last third: warm-up is over, and so is any recording;
        without pauses, which are three times as long as the usual one."""
        self._settle()
        took_s = time.perf_counter() - self._started
        count = len(self._ends)
        times = [end - begin for begin, end in zip(self._ends, self._ends[1:])][-max(count // 3, 1) :]
        usual = sorted(times)[len(times) // 2]
        times = [each for each in times if each < 3 * usual]
        mean_s = sum(times) / len(times)
        ends_ms = [round((end - self._started) * 1e3, 3) for end in self._ends]
        said = {"iterations": count, "mean_ms": round(mean_s * 1e3, 4), "took_s": round(took_s, 3), "ends_ms": ends_ms}
        # In one write: an unbuffered stdout that ranks share would take the end of the line apart.
        sys.stdout.write(json.dumps({**said, **more}) + "\n")
