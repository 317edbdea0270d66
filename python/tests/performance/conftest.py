"""A machine with a GPU and energy counters, played from a script, where there is none."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from stepscope import PerformanceProfiler
from stepscope._native import CounterStats, now_ns


class ScriptedMonitor:
    """Stands in for the native monitor. ``script`` gives the values of a sample by its number."""

    def __init__(self, script: Callable[[int], dict[str, float]]) -> None:
        self.script = script
        self.held: dict[str, tuple[list[int], list[float]]] = {}
        self.taken = 0
        self.started = 0
        self.stopped = 0
        self.interval_s = 0.1
        self.lacking: list[dict[str, str]] = []

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

    def counters(self) -> list[dict[str, str]]:
        return [{"name": name, "unit": "", "source": "script"} for name in self.held]

    def missing(self) -> list[dict[str, str]]:
        return self.lacking

    def latest(self) -> dict[str, float]:
        return {name: values[-1] for name, (_, values) in self.held.items()}

    def add_window(self, stats: CounterStats, start_ns: int, end_ns: int) -> None:
        stats.add_samples(self.held, start_ns, end_ns)

    def cpu_seconds(self) -> float:
        return 0.001


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[PerformanceProfiler, ScriptedMonitor]]:
    """A profiler whose monitor follows a script."""

    def make(
        script: Callable[[int], dict[str, float]], edge_share: int = 0, **options: Any
    ) -> tuple[PerformanceProfiler, ScriptedMonitor]:
        monitor = ScriptedMonitor(script)
        # On a busy machine even a scripted sample may take long; that must not keep the next from being taken.
        monkeypatch.setattr("stepscope.performance.monitor_session.EDGE_SHARE", edge_share)
        monkeypatch.setattr("stepscope._monitors.Monitor", lambda *args, **kwargs: monitor)
        return PerformanceProfiler(**options), monitor

    return make


class PlayedClock:
    """Time that passes only when told to, for regions of a profiler of times alone."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000
        self.busy_ns = 0

    def __call__(self) -> tuple[int, int]:
        return self.now_ns, self.busy_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    def work(self, seconds: float) -> None:
        self.sleep(seconds)
        self.busy_ns += round(seconds * 1e9)


@pytest.fixture
def clock(plain: PerformanceProfiler) -> PlayedClock:
    """The clock of ``plain``."""
    plain._registry.clock = clock = PlayedClock()
    return clock


@pytest.fixture
def plain() -> PerformanceProfiler:
    """A profiler of times alone."""
    return PerformanceProfiler(track_gpu=False, track_system=False)
