"""A profiler for the requests of a service, in the words of a class that many write for themselves."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections import OrderedDict, deque
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Callable

from .._native import LatencyHistogram, rss_bytes
from .._units import MB
from .monitor import ServiceMonitor

MAX_LOGGED = 10_000
"""Entries of the log, and requests that ended and were not logged yet; older ones go."""


class ProductionProfiler:
    """Measures requests, logs them, and reports about the last hour.

    >>> profiler = ProductionProfiler()
    >>> with profiler.profile_request("42"):
    ...     answer = sum(range(1000))
    >>> entry = profiler.log_metrics("42", user_facing_latency=0.012)
    >>> profiler.generate_hourly_report()["requests_processed"]
    1

    ``sla`` is in seconds of ``user_facing_latency``; what exceeds it is given to ``on_violation``, or to the log of
    Python called ``stepscope``. With a ``directory``, requests are kept there too, as of a :class:`ServiceMonitor`.
    Memory is bounded: the last hour is a histogram per minute, and ``metrics_log`` holds the newest entries.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        sla: float = 2.0,
        route: str = "request",
        on_violation: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self.sla = float(sla)
        self.route = route
        self.monitor = None if directory is None else ServiceMonitor(directory, sla={route: self.sla})
        self.metrics_log: deque[dict[str, Any]] = deque(maxlen=MAX_LOGGED)
        self._on_violation = on_violation
        self._ended: OrderedDict[Any, _RequestTimer] = OrderedDict()
        self._minutes: OrderedDict[int, _Minute] = OrderedDict()
        self._lock = threading.Lock()
        _alive.add(self)

    def profile_request(self, request_id: Any) -> AbstractContextManager[Any]:
        """A context manager around the work for one request."""
        return _RequestTimer(self, request_id)

    def log_metrics(self, request_id: Any, user_facing_latency: float) -> dict[str, Any]:
        """Logs a request by what its user saw, in seconds; returns the entry."""
        with self._lock:
            measured = self._ended.pop(_key(request_id), None)
        entry = {
            "timestamp": datetime.now().isoformat(),
            "request_id": request_id,
            "internal_latency": None if measured is None else measured.seconds,
            "user_facing_latency": user_facing_latency,
            "memory_mb": rss_bytes() / MB,
            "cpu_percent": None if measured is None else measured.cpu_percent,
        }
        with self._lock:
            self.metrics_log.append(entry)
        if not isinstance(user_facing_latency, (int, float)):
            # There is nothing to count, and a service must not fail over that.
            return entry
        violated = user_facing_latency > self.sla
        with self._lock:
            minute = self._minute(int(time.time() // 60))
            minute.latencies.record(user_facing_latency)
            minute.violations += violated
        if self.monitor is not None:
            inside = {} if measured is None else {"internal": min(measured.seconds, user_facing_latency)}
            failed = measured is not None and measured.failed
            self.monitor.record(self.route, user_facing_latency, id=request_id, failed=failed, regions=inside)
        if violated:
            try:
                self.alert_sla_violation(entry)
            except Exception:
                logging.getLogger("stepscope").exception("the alert of a request failed")
        return entry

    def alert_sla_violation(self, log_entry: dict[str, Any]) -> None:
        """Called with the entry of each request that took longer than the SLA. Subclasses may do something else."""
        if self._on_violation is not None:
            self._on_violation(log_entry)
            return
        logging.getLogger("stepscope").warning(
            "request %s took %.3f s, above the SLA of %.3f s",
            log_entry["request_id"],
            log_entry["user_facing_latency"],
            self.sla,
        )

    def generate_hourly_report(self) -> dict[str, Any] | None:
        """The last hour of this process, in seconds: 60 minutes and the present one. None without requests.

        The percentile is off by 1.1% at most; the rest is exact.
        """
        first = int(time.time() // 60) - 60
        latencies, violations = LatencyHistogram(), 0
        with self._lock:
            for minute, found in self._minutes.items():
                if minute >= first:
                    latencies.merge(found.latencies)
                    violations += found.violations
        if latencies.count == 0:
            return None
        return {
            "requests_processed": latencies.count,
            "average_latency": latencies.sum / latencies.count,
            "p95_latency": latencies.quantile(0.95),
            "sla_violations": violations,
        }

    def _minute(self, number: int) -> _Minute:
        found = self._minutes.get(number)
        if found is None:
            found = self._minutes[number] = _Minute()
            # One hour and the present minute; a clock that was set makes them no more.
            while len(self._minutes) > 61:
                self._minutes.popitem(last=False)
        return found

    def _keep(self, measured: _RequestTimer) -> None:
        with self._lock:
            self._ended[_key(measured.request_id)] = measured
            if len(self._ended) > MAX_LOGGED:
                self._ended.popitem(last=False)


class _Minute:
    """What users saw in one minute."""

    def __init__(self) -> None:
        self.latencies = LatencyHistogram()
        self.violations = 0


class _RequestTimer:
    """The work for one request: its time, and the processor time of its thread."""

    def __init__(self, profiler: ProductionProfiler, request_id: Any) -> None:
        self._profiler: ProductionProfiler | None = profiler
        self.request_id = request_id
        self.seconds = 0.0
        self.cpu_percent: float | None = None
        self.failed = False

    def __enter__(self) -> _RequestTimer:
        self._thread = threading.get_ident()
        self._cpu = time.thread_time()
        self._start = time.perf_counter()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self.failed = kind is not None
        if self._thread == threading.get_ident() and self.seconds > 0:
            self.cpu_percent = 100 * (time.thread_time() - self._cpu) / self.seconds
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            profiler._keep(self)


def _key(request_id: Any) -> Any:
    """Ids that cannot be looked up are known by their text."""
    try:
        hash(request_id)
    except TypeError:
        return repr(request_id)
    return request_id


_alive: weakref.WeakSet[ProductionProfiler] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    """A lock that another thread held at the fork is held for ever in the child."""
    for profiler in list(_alive):
        profiler._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
