"""The monitor against what the system says itself."""

from __future__ import annotations

import os
import time

import pytest

from stepscope import Monitor, _native


def until_sampled(monitor: Monitor, name: str, times: int) -> None:
    """Computes until a counter has been sampled that often."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end:
            pass
        if name in {counter["name"] for counter in monitor.counters()} and len(monitor.series(name)[0]) >= times:
            return


def test_a_busy_process_is_seen_busy():
    monitor = Monitor(0.05, gpu=False)
    monitor.start()
    start, busy_before_s = _native.now_ns(), time.process_time()
    until_sampled(monitor, "process.cpu_percent", 8)
    end = _native.now_ns()
    own_percent = 100 * (time.process_time() - busy_before_s) / ((end - start) / 1e9)
    monitor.stop()
    assert not monitor.running
    seen = monitor.window(start, end)
    # A whole core, unless others take it away. The kernel counts in steps of 10 ms.
    assert seen["process.cpu_percent"]["max"] > own_percent / 2 > 0
    assert seen["host.cpu_percent"]["max"] > 5
    assert seen["process.cpu_percent"]["samples"] >= 2


def test_memory_is_the_processes_own():
    monitor = Monitor(0.05, gpu=False)
    monitor.sample_now()
    before = monitor.latest()["process.rss_bytes"]
    block = bytearray(os.urandom(1 << 20)) * 64
    monitor.sample_now()
    grown = monitor.latest()["process.rss_bytes"] - before
    assert 60 << 20 <= grown <= 80 << 20
    assert len(block) == 64 << 20
    pages = int(open("/proc/self/statm").read().split()[1])
    assert abs(pages * os.sysconf("SC_PAGESIZE") - monitor.latest()["process.rss_bytes"]) < 8 << 20


def test_it_says_what_it_has_and_what_it_lacks():
    monitor = Monitor()
    for counter in monitor.counters():
        assert counter["name"] and counter["unit"] and counter["source"]
    for missing in monitor.missing():
        assert missing["what"] and missing["reason"]


def test_it_says_what_it_costs():
    # How little that may be is measured by `make bench-monitor`; here it is some of what the process used.
    monitor = Monitor(0.02)
    before = time.process_time()
    monitor.start()
    until_sampled(monitor, "process.cpu_percent", 20)
    monitor.stop()
    assert 0 < monitor.cpu_seconds() <= time.process_time() - before


def test_starts_are_counted():
    monitor = Monitor(0.05, gpu=False)
    monitor.start()
    monitor.start()
    monitor.stop()
    assert monitor.running
    monitor.stop()
    assert not monitor.running
    monitor.stop()


def test_bad_intervals_are_refused():
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="interval_s"):
            Monitor(bad)


def test_series_and_windows():
    monitor = Monitor(0.02, gpu=False)
    start = _native.now_ns()
    monitor.start()
    until_sampled(monitor, "host.memory_used_bytes", 5)
    monitor.stop()
    at, values = monitor.series("host.memory_used_bytes")
    assert len(at) == len(values) >= 5 and at == sorted(at) and at[0] >= start
    with pytest.raises(ValueError, match="no counter"):
        monitor.series("host.colour")
    assert monitor.window(start - 10**12, start - 10**11) == {}
