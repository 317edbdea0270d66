"""The one monitor of a profiler: runs while a region is open (or between ``start()`` and ``stop()``), and sums up what it saw.

After ``os.fork()`` the child has no sampling thread. It gets a monitor of its own when it next opens a region; regions
that were open across the fork end there without figures of the machine.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Dict, Optional

from stepscope._native import now_ns

from .counters import MonitorLike, energy_between, gpu_memory, stats_between
from .probe import Probe
from .resources import CounterStat, Resources
from .tracked import TrackedRegion

EDGE_NS = 10_000_000
"""A sample at a region's edge is taken if the last one is older than this: the kernel counts in steps of 10 ms."""


class Watch:
    """Starts the monitor for the first that needs it and stops it after the last."""

    def __init__(self, make: Callable[[], MonitorLike]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._monitor: Optional[MonitorLike] = None
        self._users = 0
        self._session_ns = 0
        self._sampled_ns = 0
        self._totals: Dict[str, CounterStat] = {}
        self._seconds = 0.0
        self.generation = 0

    @property
    def monitor(self) -> MonitorLike:
        """The monitor; made when it is first asked for, since looking for sensors takes a while."""
        with self._lock:
            if self._monitor is None:
                self._monitor = self._make()
            return self._monitor

    @property
    def made(self) -> Optional[MonitorLike]:
        """The monitor, if there is one already."""
        return self._monitor

    @property
    def running(self) -> bool:
        """Whether samples are being taken."""
        return self._users > 0

    def open(self) -> int:
        """One more needs it. Returns what :meth:`close` wants back."""
        with self._lock:
            monitor = self.monitor
            if self._users == 0:
                monitor.start()
                self._session_ns = self._sampled_ns = now_ns()
            else:
                self._sample_edge(monitor)
            self._users += 1
            return self.generation

    def close(self, generation: int) -> bool:
        """One fewer needs it; a sample is taken before this returns. False if the process has forked since."""
        with self._lock:
            if generation != self.generation or self._monitor is None:
                return False
            self._users -= 1
            if self._users == 0:
                self._monitor.stop()
                self._add_session(now_ns())
            else:
                self._sample_edge(self._monitor)
            return True

    def current(self, with_rates: bool = True) -> Dict[str, float]:
        """The newest value of each counter. If nothing samples, a sample is taken; for rates two, a tenth of a second apart."""
        with self._lock:
            monitor = self.monitor
            running = self._users > 0
        if not running:
            monitor.sample_now()
            if with_rates:
                time.sleep(0.1)
                monitor.sample_now()
        return monitor.latest()

    def totals(self) -> Dict[str, CounterStat]:
        """All counters since the first region, while samples were taken."""
        with self._lock:
            found = dict(self._totals)
            if self._users and self._monitor is not None:
                _merge(found, stats_between(self._monitor, self._session_ns, now_ns()))
            return found

    def seconds(self) -> float:
        """How long samples were taken, all together."""
        with self._lock:
            return self._seconds + ((now_ns() - self._session_ns) / 1e9 if self._users else 0.0)

    def clear(self) -> None:
        """Forgets what was summed up."""
        with self._lock:
            self._totals.clear()
            self._seconds = 0.0
            self._session_ns = now_ns()

    def after_fork_in_child(self) -> None:
        """A new lock and no monitor."""
        self._lock = threading.RLock()
        if self._monitor is not None:
            self._monitor.forget_after_fork()
        self._monitor = None
        self._users = 0
        self.generation += 1

    def _sample_edge(self, monitor: MonitorLike) -> None:
        if now_ns() - self._sampled_ns >= EDGE_NS:
            monitor.sample_now()
            self._sampled_ns = now_ns()

    def _add_session(self, end_ns: int) -> None:
        if self._monitor is not None:
            _merge(self._totals, stats_between(self._monitor, self._session_ns, end_ns))
            self._seconds += max(0, end_ns - self._session_ns) / 1e9


def _merge(into: Dict[str, CounterStat], later: Dict[str, CounterStat]) -> None:
    for name, stat in later.items():
        into[name] = into[name].merged(stat) if name in into else stat


class MonitorProbe(Probe):
    """The machine's counters while a region is open."""

    what = "the machine"

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def enter(self, region: TrackedRegion) -> Any:
        return self._watch.open()

    def exit(self, region: TrackedRegion, token: int, resources: Resources) -> None:
        if not self._watch.close(token):
            resources.reasons["system"] = "the process forked while the region was open"
            return
        monitor = self._watch.monitor
        # The sample of the region's end was taken just after it.
        sampled_ns = now_ns()
        resources.counters = stats_between(monitor, region.start_ns, sampled_ns)
        resources.energy_j = energy_between(monitor, region.start_ns, sampled_ns)
        resources.energy_s = (sampled_ns - region.start_ns) / 1e9
        held = resources.counters.get("process.rss_bytes")
        if held is not None and not resources.peak_is_exact and resources.rss_peak is not None:
            resources.rss_peak = max(resources.rss_peak, int(held.high))
        if not resources.gpus:
            resources.gpus = gpu_memory(resources.counters)
