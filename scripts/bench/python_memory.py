#!/usr/bin/env python3
"""What tracking memory costs, beside memray, tracemalloc and memory_profiler in one run.

    make bench-hooks         # runs this after python_hooks.py, in the same environments

Every measurement is a process of its own. In each round all contenders run once, one after the other, so that a busy
machine slows all of them; a ratio is of processor times in the same round, and the median over rounds is shown.
memory_profiler takes minutes: it is timed once, and only when asked for.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

from python_hooks import WORKLOADS as CALLS


def network(steps: int = 1600) -> float:
    """A small network in NumPy: allocations of many sizes, most of them freed at once."""
    import numpy

    random = numpy.random.default_rng(0)
    data, goal = random.random((256, 128)), random.random((256, 10))
    first, second = random.random((128, 256)) * 0.05, random.random((256, 10)) * 0.05
    loss = 0.0
    for _ in range(steps):
        first, second, loss = step(data, goal, first, second)
    return loss


def step(data: Any, goal: Any, first: Any, second: Any) -> tuple[Any, Any, float]:
    import numpy

    hidden = numpy.maximum(data @ first, 0.0)
    error = hidden @ second - goal
    slope = 2.0 * error / len(data)
    back = (slope @ second.T) * (hidden > 0)
    new_second = second - 0.01 * (hidden.T @ slope)
    new_first = first - 0.01 * (data.T @ back)
    return new_first, new_second, float((error * error).mean())


WORKLOADS: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "calls": (CALLS["calls"][0], CALLS["calls"][1]),
    "simulation": (CALLS["simulation"][0], CALLS["simulation"][1]),
    "network": (network, step),
}
"""What runs, and the function of it whose lines are looked at."""

CONTENDERS = {
    "bare": "nothing",
    "sampled": "stepscope.memory.track(exact=False)",
    "exact": "stepscope.memory.track()",
    "lines": "stepscope.memory.track(f, exact=False), lines of one function",
    "memray": "memray",
    "memray-python": "memray, Python allocators too",
    "tracemalloc": "tracemalloc, 20 frames",
}


def child(contender: str, workload: str) -> None:
    """One measurement: processor seconds, and the peak that was found."""
    work, watched = WORKLOADS[workload]
    if workload == "network":
        network(1)
    around: Any = None
    folder = tempfile.mkdtemp()
    if contender in ("memray", "memray-python"):
        import memray

        path = os.path.join(folder, "out.bin")
        around = memray.Tracker(path, trace_python_allocators=contender == "memray-python")
    elif contender in ("sampled", "exact", "lines"):
        from stepscope.memory import track

        around = track(*([watched] if contender == "lines" else []), exact=contender == "exact")
    start = time.process_time()
    peak = 0
    if contender == "memory_profiler":
        import memory_profiler

        profiler = memory_profiler.LineProfiler(backend="psutil")
        globals_of = watched.__globals__
        wrapped = profiler(watched)
        if watched.__name__ in globals_of:
            globals_of[watched.__name__] = wrapped
        else:
            owner = globals_of[watched.__qualname__.split(".")[0]]
            setattr(owner, watched.__name__, wrapped)
        start = time.process_time()
        work()
        memory_profiler.show_results(profiler, stream=io.StringIO())
    elif contender == "tracemalloc":
        import tracemalloc

        tracemalloc.start(20)
        start = time.process_time()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    elif around is None:
        work()
    else:
        with around:
            work()
    took = time.process_time() - start
    if contender in ("sampled", "exact", "lines"):
        peak = around.peak
    elif contender.startswith("memray"):
        import memray

        peak = memray.FileReader(os.path.join(folder, "out.bin")).metadata.peak_memory
    print(json.dumps([took, peak]))


def measure(python: str, workload: str, rounds: int) -> dict[str, list[tuple[float, int]]]:
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name in CONTENDERS:
            command = [python, __file__, "--child", name, workload]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            took, peak = json.loads(done.stdout)
            found[name].append((took, peak))
    return found


def report(python: str, workload: str, found: dict[str, list[tuple[float, int]]]) -> None:
    version = subprocess.run([python, "-VV"], check=True, capture_output=True, text=True).stdout.split()[1]
    bare = [took for took, _ in found["bare"]]
    print(f"\nPython {version}, {workload}: bare {statistics.median(bare):.3f} s of processor time, {len(bare)} rounds\n")
    print("| what | processor time | quartiles | peak |\n|---|---:|---:|---:|")
    for name, words in CONTENDERS.items():
        if name == "bare":
            continue
        ratios = [took / base for (took, _), base in zip(found[name], bare)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        peak = found[name][0][1] / 1e6
        print(f"| {words} | {middle:.2f}x | {low:.2f} to {high:.2f} | {peak:.1f} MB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--memory-profiler", action="store_true", help="time memory_profiler too, once: takes minutes")
    parser.add_argument("--child", nargs=2, metavar=("CONTENDER", "WORKLOAD"), help=argparse.SUPPRESS)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="with stepscope, memray and NumPy")
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    for python in options.pythons:
        for workload in WORKLOADS:
            report(python, workload, measure(python, workload, max(2, options.rounds)))
            if options.memory_profiler:
                took = []
                for name in ("bare", "memory_profiler"):
                    command = [python, __file__, "--child", name, workload]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    took.append(json.loads(done.stdout)[0])
                print(f"| memory_profiler, lines of one function | {took[1] / took[0]:.0f}x | one run | |", flush=True)


if __name__ == "__main__":
    main()
