"""After a fork the child measures for itself, and the parent goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from stepscope import PerformanceProfiler
from stepscope.performance.probe import Probe

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def _in_child(profiler: PerformanceProfiler) -> int:
    """Runs in a forked child; its exit code tells what it found."""
    with profiler.profile("in the child"):
        time.sleep(0.05)
    metrics = profiler.get_metrics("in the child")
    if metrics.count != 1 or not metrics.system.samples or not metrics.memory.peak_ram_mb > 0:
        return 3
    return 0


class _FailsAfterAFork(Probe):
    what = "a test"

    def after_fork_in_child(self) -> None:
        raise RuntimeError("not here")


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_child_forked_inside_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    # However long a sample takes on a busy machine: there is one at the end of each region.
    monkeypatch.setattr("stepscope.performance.monitor_session.EDGE_SHARE", 0)
    # Another profiler whose probe cannot bear a fork keeps no one from going on. Several: a set of them has no order.
    others = [PerformanceProfiler(track_gpu=False) for _ in range(8)]
    for other in others:
        other._registry.probes.append(_FailsAfterAFork())
    profiler = PerformanceProfiler(track_gpu=False, system_interval=0.01)
    holds, release = threading.Event(), threading.Event()

    def hold_the_locks() -> None:
        with profiler._registry.lock:
            holds.set()
            release.wait(60)

    with profiler.profile("around"):
        thread = threading.Thread(target=hold_the_locks)
        thread.start()
        holds.wait(60)
        child = os.fork()
        if child == 0:
            code = 9
            try:
                code = _in_child(profiler)
            finally:
                os._exit(code)
        release.set()
        thread.join()
        deadline = time.monotonic() + 60
        status = (0, 0)
        while status[0] == 0 and time.monotonic() < deadline:
            status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if status[0] == 0:
            words = [sys.executable, "-m", "stepscope", "dump", "--native", str(child)]
            where = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail(f"the child hangs:\n{where.stdout}{where.stderr}")
    assert os.WEXITSTATUS(status[1]) == 0
    metrics = profiler.get_metrics("around")
    assert metrics.count == 1 and metrics.system.samples > 0


def test_a_child_that_leaves_the_region_and_ends_by_itself() -> None:
    code = """
import os, sys, time
from stepscope import PerformanceProfiler
from stepscope.performance import monitor_session
monitor_session.EDGE_SHARE = 0  # However long a sample takes: there is one at the end.
profiler = PerformanceProfiler(track_gpu=False)
with profiler.profile("around"):
    child = os.fork()
    time.sleep(0.3)
metrics = profiler.get_metrics("around")
if child == 0:
    ok = metrics.count == 1 and "forked" in metrics.missing["system.cpu_percent"]
    sys.exit(0 if ok else 5)
_, status = os.waitpid(child, 0)
sys.exit(os.WEXITSTATUS(status) or (0 if metrics.system.samples else 6))
"""
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], timeout=60, check=False)
    assert done.returncode == 0
