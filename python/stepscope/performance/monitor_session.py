"""The monitor of a profiler: runs while a region is open, or from ``start()`` to ``stop()``; sums up what it saw.

Starting and stopping a sampling thread takes longer than many a region, and on a machine with GPUs a sample takes
milliseconds. So the monitor goes on for a second after the last region, in case another opens; and a sample is taken at
a region's edge only if the time since the last one makes it cheap.

After ``os.fork()`` the child has no sampling thread. It gets a monitor of its own when it next opens a region; regions
that were open across the fork end there without counters of the machine.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from .._native import CounterStat, CounterStats, TimedRegion, now_ns
from .counters import MonitorLike
from .probe import Probe
from .resources import Resources

EDGE_NS = 10_000_000
"""A sample at a region's edge is taken if the last one is older than this: the kernel counts in steps of 10 ms …"""
EDGE_SHARE = 10
"""… and than this many times what a sample takes."""
LINGER_S = 1.0
"""How long the monitor goes on after the last region."""


class MonitorSession:
    """Starts the monitor for the first that needs it and stops it after the last."""

    def __init__(self, make: Callable[[], MonitorLike]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._monitor: MonitorLike | None = None
        self._started = False
        self._users = 0
        self._idle_since_ns = 0
        self._stopper: threading.Thread | None = None
        self._session_ns = 0
        self._sampled_ns = 0
        self._sample_takes_ns = 0.0
        self._totals = CounterStats()
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
    def made(self) -> MonitorLike | None:
        """The monitor, if there is one already."""
        return self._monitor

    @property
    def running(self) -> bool:
        """Whether anyone needs samples now."""
        return self._users > 0

    def open(self) -> int:
        """One more needs it. Returns what :meth:`close` wants back."""
        with self._lock:
            monitor = self.monitor
            if not self._started:
                self._timed(monitor.start)
                self._started = True
            else:
                self._sample_edge(monitor)
            if self._users == 0:
                self._session_ns = now_ns()
            self._users += 1
            return self.generation

    def close(self, generation: int, linger: bool = True) -> bool:
        """One fewer needs it. False if the process has forked since."""
        with self._lock:
            monitor = self._monitor
            if generation != self.generation or monitor is None:
                return False
            self._users -= 1
            self._sample_edge(monitor)
            if self._users == 0:
                self._idle_since_ns = now_ns()
                self._end_session(monitor, self._idle_since_ns)
                if not linger or not self._stop_later():
                    self._stop_now()
            return True

    def current(self, with_rates: bool = True) -> dict[str, float]:
        """The newest value of each counter.

        If nothing samples, a sample is taken; for rates two, a tenth of a second apart.
        """
        with self._lock:
            monitor = self.monitor
            running = self._started
        if not running:
            monitor.sample_now()
            if with_rates:
                time.sleep(0.1)
                monitor.sample_now()
        return monitor.latest()

    def totals(self) -> dict[str, CounterStat]:
        """All counters since the first region, while samples were taken."""
        with self._lock:
            found = CounterStats()
            found.merge(self._totals)
            if self._users and self._monitor is not None:
                self._monitor.add_window(found, self._session_ns, now_ns())
            return found.stats()

    def seconds(self) -> float:
        """How long samples were taken, all together."""
        with self._lock:
            return self._seconds + ((now_ns() - self._session_ns) / 1e9 if self._users else 0.0)

    def clear(self) -> None:
        """Forgets what was summed up."""
        with self._lock:
            self._totals = CounterStats()
            self._seconds = 0.0
            self._session_ns = now_ns()

    def after_fork_in_child(self) -> None:
        """A new lock and no monitor."""
        self._lock = threading.RLock()
        self._monitor = None
        self._stopper = None
        self._started = False
        self._users = 0
        self.generation += 1

    def _timed(self, sample: Callable[[], None]) -> None:
        began_ns = now_ns()
        sample()
        self._sampled_ns = now_ns()
        takes_ns = self._sampled_ns - began_ns
        self._sample_takes_ns += (takes_ns - self._sample_takes_ns) * (0.3 if self._sample_takes_ns else 1.0)

    def _sample_edge(self, monitor: MonitorLike) -> None:
        if now_ns() - self._sampled_ns >= max(EDGE_NS, EDGE_SHARE * self._sample_takes_ns):
            self._timed(monitor.sample_now)

    def _stop_later(self) -> bool:
        """Sees to it that the monitor is stopped if it stays idle. False if that cannot be."""
        if self._stopper is None:
            stopper = threading.Thread(target=self._stop_when_idle, name="stepscope-idle", daemon=True)
            try:
                stopper.start()
            except RuntimeError:  # the interpreter is ending
                return False
            self._stopper = stopper
        return True

    def _stop_when_idle(self) -> None:
        generation = self.generation
        while True:
            with self._lock:
                if generation != self.generation:
                    return
                left_s = LINGER_S - (now_ns() - self._idle_since_ns) / 1e9
                # While a region is open there is nothing to wait for: when it ends there will be another of this.
                if self._users or left_s <= 0:
                    self._stopper = None
                    if not self._users:
                        self._stop_now()
                    return
            time.sleep(max(0.01, left_s))

    def _stop_now(self) -> None:
        if self._started and self._monitor is not None:
            self._started = False
            self._monitor.stop()

    def _end_session(self, monitor: MonitorLike, end_ns: int) -> None:
        self._seconds += max(0, end_ns - self._session_ns) / 1e9
        monitor.add_window(self._totals, self._session_ns, end_ns)


class MonitorProbe(Probe):
    """The machine's counters while a region is open."""

    what = "the machine"

    def __init__(self, watch: MonitorSession) -> None:
        self._watch = watch

    def enter(self, region: TimedRegion) -> Any:
        return self._watch.open()

    def exit(self, region: TimedRegion, token: int, resources: Resources) -> None:
        if not self._watch.close(token):
            resources.reasons["system"] = "the process forked while the region was open"
            return
        # The sample of the region's end was taken just after it.
        end_ns = now_ns()
        resources.window = (self._watch.monitor, region.start_ns, end_ns)
        resources.watched_ns = end_ns - region.start_ns
