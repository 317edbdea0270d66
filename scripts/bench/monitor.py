#!/usr/bin/env python3
"""What `stepscope monitor` costs: processor time of the monitor itself, by the system's own count.

The monitor watches this program, which sleeps; then the same with a busy Python program that is sampled, too. Processor time is
user and system time of the monitor and its threads from /proc/PID/stat, from a moment after its start until the end, and as a
second opinion the scheduler's nanoseconds from /proc/PID/task/*/schedstat. psutil doing the same job is the yardstick, where
it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

BUSY = """
import time
def inner(n):
    return sum(i * i for i in range(n))
def outer():
    return inner(2000)
while True:
    outer()
"""

PSUTIL = """
import sys, time
import psutil
process = psutil.Process(int(sys.argv[1]))
while True:
    psutil.cpu_percent(), psutil.virtual_memory(), psutil.disk_io_counters(), psutil.net_io_counters()
    with process.oneshot():
        process.cpu_percent(), process.memory_info(), process.num_threads()
    process.children(recursive=True)
    time.sleep(float(sys.argv[2]))
"""


def scheduled_ns(pid: int) -> int:
    """Nanoseconds that all threads of a process have run."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (OSError, IndexError):
            pass
    return total


def ticks(pid: int) -> int:
    """User and system time, in hundredths of a second."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def share(command: list[str], seconds: float, settle: float) -> tuple[float, float]:
    """The shares of one core that a command uses once it runs: by the scheduler, and by the system's ticks."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(settle)
        began, ran, ticked = time.monotonic(), scheduled_ns(process.pid), ticks(process.pid)
        time.sleep(seconds)
        passed = time.monotonic() - began
        if process.poll() is not None:
            sys.exit(f"it ended with {process.returncode}: {' '.join(command)}")
        hertz = os.sysconf("SC_CLK_TCK")
        return (
            (scheduled_ns(process.pid) - ran) / 1e9 / passed,
            (ticks(process.pid) - ticked) / hertz / passed,
        )
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", default="target/release/stepscope", help="the program to measure")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each is measured")
    parser.add_argument("--settle", type=float, default=12.0, help="how long it runs before that")
    parser.add_argument("--limit", type=float, help="fail if the monitor uses a larger share of a core at 1 Hz, in percent")
    parser.add_argument("--json", help="write the numbers to this file")
    args = parser.parse_args()
    own = str(os.getpid())
    rows: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        monitor = [args.stepscope, "monitor", "--quiet", "-o", folder]

        def measure(name: str, command: list[str]) -> float:
            scheduled, ticked = share(command, args.seconds, args.settle)
            rows.append((name, scheduled, ticked))
            print(f"{name:<48} {scheduled:8.3%} {ticked:8.2%}", flush=True)
            return scheduled

        print(f"{'share of one core':<48} {'sched':>8} {'ticks':>8}")
        once = measure("monitor, 1 Hz", [*monitor, "--pid", own])
        rules = ["--alert", "cpu>100% for 1h", "--alert", "rss>1TiB", "--alert", "p95>60s"]
        measure("monitor, 1 Hz, three rules", [*monitor, "--pid", own, *rules])
        measure("monitor, 10 Hz", [*monitor, "--every", "100ms", "--pid", own])
        busy = subprocess.Popen([sys.executable, "-c", BUSY])
        try:
            measure("monitor, 1 Hz, stacks at 19 Hz", [*monitor, "--sample", "19", "--pid", str(busy.pid)])
        finally:
            busy.kill()
            busy.wait()
        try:
            import psutil

            measure(f"psutil {psutil.__version__}, 1 Hz", [sys.executable, "-c", PSUTIL, own, "1.0"])
        except ImportError:
            print("psutil is not installed: nothing to compare with")
    if args.json:
        about = {"machine": platform.machine(), "cores": os.cpu_count(), "seconds": args.seconds}
        named = [{"name": name, "scheduled": scheduled, "ticks": ticked} for name, scheduled, ticked in rows]
        pathlib.Path(args.json).write_text(json.dumps({**about, "rows": named}, indent=1) + "\n")
    if args.limit is not None and once * 100.0 > args.limit:
        sys.exit(f"the monitor uses {once:.3%} of a core at 1 Hz, more than {args.limit}%")


if __name__ == "__main__":
    main()
