#!/usr/bin/env python3
"""What the Python package costs, beside its peers in one run.

    make bench-python        # makes the environment, builds the package, runs this

Each pair is measured in turns, so that a busy machine slows both. Times are of the bare loop taken off; a limit that is
not kept is said so. PyTorch's lines need PyTorch, psutil's need psutil: without them they are left out, and said so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Callable, Optional

import stepscope
from stepscope import _native, record_function

LOOPS = 100_000
ROWS: list[tuple[str, str, str, str]] = []


def per_call(body: Callable[[int], None], rounds: int = 7, loops: int = LOOPS) -> float:
    """Nanoseconds a turn of the loop, the quickest of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        body(loops)
        best = min(best, (time.perf_counter_ns() - start) / loops)
    return best


def empty(loops: int) -> None:
    for _ in range(loops):
        pass


def region(make: Callable[[str], object]) -> Callable[[int], None]:
    def body(loops: int) -> None:
        for _ in range(loops):
            with make("forward"):  # type: ignore[attr-defined]
                pass

    return body


def entered(made: object) -> Callable[[int], None]:
    def body(loops: int) -> None:
        for _ in range(loops):
            with made:  # type: ignore[attr-defined]
                pass

    return body


def row(what: str, figure: str, limit: Optional[float], value: float, unit: str, note: str = "") -> None:
    verdict = "" if limit is None else ("reached" if value < limit else "**not reached**")
    ROWS.append((what, figure, "-" if limit is None else f"< {limit:g} {unit}", f"{verdict} {note}".strip()))


def regions() -> None:
    bare = per_call(empty)
    off = per_call(region(record_function)) - bare
    made = per_call(entered(record_function("forward"))) - bare
    lock = per_call(entered(threading.Lock())) - bare
    null = per_call(entered(contextlib.nullcontext())) - bare
    recording = _native.Recording()
    recording.start()
    on = per_call(region(record_function), rounds=5) - bare
    made_on = per_call(entered(record_function("forward")), rounds=5) - bare
    recording.stop()
    row("record_function: enter and exit, nothing records", f"{made:.0f} ns", 60, made, "ns")
    row("record_function: enter and exit, recording", f"{made_on:.0f} ns", 250, made_on, "ns")
    row("record_function: made, entered and left, nothing records", f"{off:.0f} ns", None, 0, "")
    row("record_function: made, entered and left, recording", f"{on:.0f} ns", None, 0, "")
    row("threading.Lock: enter and exit", f"{lock:.0f} ns", None, 0, "", f"{lock / made:.1f}x ours")
    row("contextlib.nullcontext: enter and exit", f"{null:.0f} ns", None, 0, "", f"{null / made:.1f}x ours")
    try:
        import torch
        from torch.profiler import ProfilerActivity, profile
        from torch.profiler import record_function as theirs
    except ImportError:
        print("left out: PyTorch is not installed", file=sys.stderr)
        return
    their_off = per_call(region(theirs), rounds=3, loops=LOOPS // 5) - bare
    with profile(activities=[ProfilerActivity.CPU]):
        their_on = per_call(region(theirs), rounds=3, loops=LOOPS // 20) - bare
    row(f"torch {torch.__version__}: the same, nothing records", f"{their_off:.0f} ns", None, 0, "", f"{their_off / off:.0f}x ours")
    row(f"torch {torch.__version__}: the same, recording", f"{their_on:.0f} ns", None, 0, "", f"{their_on / on:.0f}x ours")


def performance_regions() -> None:
    profiler = stepscope.PerformanceProfiler(track_gpu=False, track_system=False, detailed_memory=False)
    bare = per_call(empty)
    cost = per_call(region(profiler.profile), rounds=5, loops=LOOPS // 5) - bare
    with profiler.profile("around"):
        nested = per_call(region(profiler.profile), rounds=5, loops=LOOPS // 5) - bare
    row("PerformanceProfiler region, memory tracking off", f"{cost / 1e3:.2f} µs", 2, cost / 1e3, "µs")
    row("the same inside another region", f"{nested / 1e3:.2f} µs", 2, nested / 1e3, "µs")
    watching = stepscope.PerformanceProfiler()
    cost = per_call(region(watching.profile), rounds=5, loops=LOOPS // 50) - bare
    row("PerformanceProfiler region, default options", f"{cost / 1e3:.1f} µs", 20, cost / 1e3, "µs")

    def ask(loops: int) -> None:
        for _ in range(loops):
            watching.get_metrics()

    cost = per_call(ask, rounds=5, loops=LOOPS // 50)
    row("get_metrics() of such a region", f"{cost / 1e3:.1f} µs", 20, cost / 1e3, "µs")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.ones(1, device="cuda")
        cost = per_call(region(watching.profile), rounds=5, loops=LOOPS // 50) - bare
        row("the same with PyTorch on a GPU", f"{cost / 1e3:.1f} µs", 20, cost / 1e3, "µs")


def imports(rounds: int = 11) -> None:
    def take(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return 1e3 * (time.perf_counter() - start)

    pairs = [(take("pass"), take("import stepscope")) for _ in range(rounds)]
    cost = statistics.median(after - before for before, after in pairs)
    row("import stepscope", f"{cost:.0f} ms", 60, cost, "ms", "over a bare start of Python, median")


def monitor(seconds: float) -> None:
    ours = stepscope.Monitor(0.1)
    ours.start()
    time.sleep(seconds)
    ours.stop()
    share = 100 * ours.cpu_seconds() / seconds
    row("monitor at 10 Hz", f"{share:.2f}%", 0.5, share, "% of a core", f"{len(ours.counters())} counters")
    try:
        import psutil
    except ImportError:
        print("left out: psutil is not installed", file=sys.stderr)
        return
    own = psutil.Process()
    start, end = time.thread_time(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        psutil.cpu_percent()
        psutil.virtual_memory()
        psutil.disk_io_counters()
        psutil.net_io_counters()
        own.memory_info()
        own.cpu_percent()
        time.sleep(0.1)
    theirs = 100 * (time.thread_time() - start) / seconds
    row("psutil at 10 Hz, the same counters", f"{theirs:.2f}%", None, 0, "", f"{theirs / share:.1f}x ours, and it holds the GIL")


def quartiles(values: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, low, high


def training(rounds: int) -> None:
    try:
        import torch
    except ImportError:
        return
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as theirs

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.randn(64, 256), torch.randint(0, 10, (64,))

    def loop(prof: Optional[object], steps: int = 60) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(data), target).backward()
            optimizer.step()
            if prof is not None:
                prof.step()  # type: ignore[attr-defined]
        return time.perf_counter() - start

    def profiled(make: Callable[..., object]) -> float:
        with make(activities=[ProfilerActivity.CPU]) as prof:  # type: ignore[attr-defined]
            return loop(prof)

    loop(None)
    profiled(theirs)
    profiled(stepscope.profile)
    # Many short runs in turns, the first of each pair now ours, now theirs: a machine that changes its speed changes it
    # for both.
    times = []
    for number in range(rounds):
        bare_s = loop(None)
        first, second = (theirs, stepscope.profile) if number % 2 else (stepscope.profile, theirs)
        pair = [profiled(first), profiled(second)]
        times.append((bare_s, *(pair if number % 2 else reversed(pair))))
    torch_x, ours_x = (statistics.median(column) for column in zip(*((t / b, m / b) for b, t, m in times)))
    added, low, high = (100 * (q - 1) for q in quartiles([mine / other for _, other, mine in times]))
    row("training loop under torch.profiler", f"{torch_x:.3f}x bare", None, 0, "")
    row("training loop under stepscope.profile", f"{ours_x:.3f}x bare", None, 0, "", "counters of the machine included")
    row("added over torch.profiler alone", f"{added:+.1f}%", 3, added, "%", f"median of {rounds} pairs in turns, quartiles {low:+.1f} and {high:+.1f}%")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=101, help="pairs of training loops")
    parser.add_argument("--seconds", type=float, default=10, help="how long the monitors run")
    parser.add_argument("--check", action="store_true", help="end with status 1 if a limit was not kept")
    options = parser.parse_args()
    os.chdir(tempfile.gettempdir())
    regions()
    performance_regions()
    imports()
    monitor(options.seconds)
    training(options.rounds)
    print(f"Python {sys.version.split()[0]}, stepscope {stepscope.__version__}, {os.cpu_count()} cores\n")
    print("| what | measured | limit | |\n|---|---:|---:|---|")
    for cells in ROWS:
        print("| " + " | ".join(cells) + " |")
    broken = any("not reached" in cells[3] for cells in ROWS)
    return 1 if options.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
