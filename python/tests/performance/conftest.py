"""A machine with a GPU and energy counters, played from a script, where there is none."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

from stepscope import PerformanceProfiler
from stepscope._native import now_ns


class ScriptedMonitor:
    """Stands in for the native monitor. ``script`` gives the values of a sample by its number."""

    def __init__(self, script: Callable[[int], Dict[str, float]]) -> None:
        self.script = script
        self.held: Dict[str, Tuple[List[int], List[float]]] = {}
        self.taken = 0
        self.started = 0
        self.stopped = 0
        self.interval_s = 0.1
        self.lacking: List[Dict[str, str]] = []

    @property
    def running(self) -> bool:
        return self.started > self.stopped

    def sample_now(self) -> None:
        at_ns = now_ns()
        for name, value in self.script(self.taken).items():
            times, values = self.held.setdefault(name, ([], []))
            times.append(at_ns)
            values.append(value)
        self.taken += 1

    def start(self) -> None:
        self.started += 1
        self.sample_now()

    def stop(self) -> None:
        self.stopped += 1
        self.sample_now()

    def forget_after_fork(self) -> None:
        pass

    def counters(self) -> List[Dict[str, str]]:
        return [{"name": name, "unit": "", "source": "script"} for name in self.held]

    def missing(self) -> List[Dict[str, str]]:
        return self.lacking

    def latest(self) -> Dict[str, float]:
        return {name: values[-1] for name, (_, values) in self.held.items()}

    def series(
        self, name: str, start_ns: Optional[int] = None, end_ns: Optional[int] = None
    ) -> Tuple[List[int], List[float]]:
        times, values = self.held[name]
        inside = [
            at for at, time in enumerate(times) if (start_ns or 0) <= time <= (end_ns if end_ns is not None else 2**63)
        ]
        return [times[at] for at in inside], [values[at] for at in inside]

    def window(self, start_ns: int, end_ns: int) -> Dict[str, Dict[str, float]]:
        found = {}
        for name, (times, values) in self.held.items():
            before = [value for time, value in zip(times, values) if time < start_ns][-1:]
            inside = self.series(name, start_ns, end_ns)[1]
            seen = before + inside
            if seen:
                found[name] = {
                    "mean": sum(seen) / len(seen),
                    "min": min(seen),
                    "max": max(seen),
                    "first": seen[0],
                    "last": seen[-1],
                    "samples": len(inside),
                }
        return found

    def cpu_seconds(self) -> float:
        return 0.001


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tuple[PerformanceProfiler, ScriptedMonitor]]:
    """A profiler whose monitor follows a script."""

    def make(
        script: Callable[[int], Dict[str, float]], edge_share: int = 0, **options: Any
    ) -> Tuple[PerformanceProfiler, ScriptedMonitor]:
        monitor = ScriptedMonitor(script)
        # On a busy machine even a scripted sample may take long; that must not keep the next from being taken.
        monkeypatch.setattr("stepscope.performance.watch.EDGE_SHARE", edge_share)
        monkeypatch.setattr("stepscope._native.Monitor", lambda *args, **kwargs: monitor)
        return PerformanceProfiler(**options), monitor

    return make


@pytest.fixture
def plain() -> PerformanceProfiler:
    """A profiler of times alone."""
    return PerformanceProfiler(track_gpu=False, track_system=False)
