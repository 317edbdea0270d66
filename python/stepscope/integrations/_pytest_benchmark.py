"""The fixture ``stepscope_benchmark``: times a function, and holds it to a baseline.

Rounds of one session follow each other in one process, so they are like the steps of one run: compared in blocks, and
what differs between sessions is not in the interval. Sessions that are saved into the same baseline one after the other
are repeats, and count as such.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any, Callable, TypeVar

from .._native import compare_samples, time_text
from .._writing import whole_file, written_by
from ..errors import StepscopeError

FILE_FORMAT = "stepscope-benchmarks-1"
#: Sessions that are kept of each benchmark, the newest.
MAX_SESSIONS = 20
MIN_ROUNDS = 10
MAX_ROUNDS = 10_000
_T = TypeVar("_T")


class Benchmark:
    """Calls a function until its time is known well enough.

    A round takes a millisecond at least: a faster function is called several times in it.
    """

    def __init__(self, name: str, max_time_s: float, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self.name = name
        #: Seconds per call, one value per round.
        self.rounds: list[float] = []
        self._max_time_s = max_time_s
        self._clock = clock

    def __call__(self, function: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        """Times ``function(*args, **kwargs)``; returns what its last call returned."""
        if self.rounds:
            raise StepscopeError(f"{self.name} uses stepscope_benchmark twice", hint="split the test in two")
        began = self._clock()
        result = function(*args, **kwargs)
        once = max(1, self._clock() - began)
        calls = max(1, 1_000_000 // once)
        end = began + int(self._max_time_s * 1e9)
        while len(self.rounds) < MIN_ROUNDS or (self._clock() < end and len(self.rounds) < MAX_ROUNDS):
            start = self._clock()
            for _ in range(calls):
                result = function(*args, **kwargs)
            self.rounds.append((self._clock() - start) / calls / 1e9)
        return result


class Baseline:
    """Sessions of benchmarks in a file: for each name a list of sessions, each a list of seconds."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.sessions: dict[str, list[list[float]]] = {}
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise StepscopeError(f"this baseline cannot be read ({error}): {path}", hint=_RESTORE_HINT) from error
        if not isinstance(content, dict) or content.get("format") != FILE_FORMAT:
            raise StepscopeError(f"this is not a benchmark baseline: {path}", hint=_RESTORE_HINT)
        self.sessions = {name: [list(map(float, each)) for each in found] for name, found in content["rounds"].items()}

    def add(self, rounds: dict[str, list[float]]) -> None:
        """Adds a session; the oldest ones go."""
        for name, values in rounds.items():
            kept = self.sessions.setdefault(name, [])
            kept.append(values)
            del kept[:-MAX_SESSIONS]

    def write(self) -> None:
        """Writes the file, whole or not at all."""
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)

        def write() -> None:
            content = {"format": FILE_FORMAT, "rounds": dict(sorted(self.sessions.items()))}
            with whole_file(self.path) as file:
                file.write(json.dumps(content, allow_nan=False).encode() + b"\n")

        written_by("the baseline", self.path, write)


_RESTORE_HINT = "restore it from version control, or delete it and run pytest with --stepscope-save"


class Verdict:
    """What became of one benchmark."""

    def __init__(self, name: str, baseline: Sequence[Sequence[float]], rounds: Sequence[float], margin: float) -> None:
        self.name = name
        found = compare_samples([list(each) for each in baseline], [list(rounds)], margin, 0.95)
        self.comparison: dict[str, Any] = json.loads(found)
        self.outcome = {None: "inconclusive", False: "pass", True: "fail"}[self.comparison["beyond"]]

    def words(self) -> str:
        """One line."""
        found = self.comparison
        before, now = seconds(found["baseline"]), seconds(found["current"])
        change = "" if found["ratio"] is None else f"{100 * (found['ratio'] - 1):+.1f}%"
        if found["low"] is not None and found["high"] is not None:
            change += f" ({100 * (found['low'] - 1):+.1f}% to {100 * (found['high'] - 1):+.1f}%)"
        return f"{self.outcome}: {self.name}: {before} before, {now} now, {change}"


def seconds(value: float | None) -> str:
    """A time with its unit."""
    return "unknown" if value is None else time_text(value * 1e9)
