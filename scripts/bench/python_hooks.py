#!/usr/bin/env python3
"""What counting every call and timing lines costs, beside cProfile and line_profiler in one run.

    make bench-hooks         # a release wheel in an environment for Python 3.11 and one for 3.13, then this

Every measurement is a process of its own. In each round all contenders run once, one after the other, so that a busy
machine slows all of them; a ratio is of processor times in the same round, and the median over rounds is shown.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from typing import Any, Callable


class Particle:
    """Falls around the middle of a plane."""

    __slots__ = ("x", "y", "speed_x", "speed_y", "turns")

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y, self.speed_x, self.speed_y, self.turns = x, y, 0.0, 0.1, 0

    def step(self, dt: float) -> float:
        pull_x, pull_y = pull(self.x, self.y)
        self.speed_x = 0.999 * self.speed_x + pull_x * dt
        self.speed_y = 0.999 * self.speed_y + pull_y * dt
        self.x += self.speed_x * dt
        self.y += self.speed_y * dt
        if self.x * self.x + self.y * self.y > 400.0:
            self.speed_x, self.speed_y = -self.speed_x, -self.speed_y
            self.turns += 1
        return 0.5 * (self.speed_x * self.speed_x + self.speed_y * self.speed_y)


def pull(x: float, y: float) -> tuple[float, float]:
    square = x * x + y * y + 0.01
    inverse = 1.0 / (square * math.sqrt(square))
    drag = 1.0 - 0.01 * x * y * inverse
    return -x * inverse * drag, -y * inverse * drag


def histogram(energies: list[float]) -> list[int]:
    bins = [0] * 10
    for energy in energies:
        bins[min(int(abs(energy)), 9)] += 1
    return bins


def simulation() -> int:
    """Methods, functions and C functions with a few lines of arithmetic each, as much of numerical Python is."""
    particles = [Particle(1.0 + 0.1 * number, 0.05 * number) for number in range(100)]
    total = 0
    for _ in range(3000):
        total += histogram([particle.step(0.001) for particle in particles])[0]
    return total


def leaf(x: int) -> int:
    return x + 1


def middle(x: int, seen: list[int]) -> int:
    y = leaf(x)
    if isinstance(y, int):
        seen.append(len(seen) & 7)
    return y


def calls() -> int:
    """Next to nothing but calls: the worst case."""
    seen: list[int] = []
    total = 0
    for number in range(600_000):
        total += middle(number, seen)
        if not number & 1023:
            seen.clear()
    return total


WORKLOADS: dict[str, tuple[Callable[[], int], Callable[..., Any]]] = {
    "simulation": (simulation, Particle.step),
    "calls": (calls, middle),
}
"""What runs, and the function of it whose lines are timed."""

CONTENDERS = {
    "bare": "nothing",
    "cProfile": "cProfile",
    "functions": "stepscope.functions()",
    "python-functions": "stepscope.functions(builtins=False)",
    "line_profiler": "line_profiler, one function",
    "lines": "stepscope.lines(f), one function",
}


def child(contender: str, workload: str) -> None:
    """One measurement: processor seconds, and how many calls or hits were counted."""
    work, watched = WORKLOADS[workload]
    around: Any = None
    if contender == "cProfile":
        import cProfile

        around = cProfile.Profile()
    elif contender == "line_profiler":
        import line_profiler

        around = line_profiler.LineProfiler(watched)
    elif contender != "bare":
        import stepscope

        made = {"functions": {}, "python-functions": {"builtins": False}}
        around = stepscope.functions(**made[contender]) if contender in made else stepscope.lines(watched)
    start = time.process_time()
    if around is None:
        work()
    else:
        with around:
            work()
    took = time.process_time() - start
    counted = 0
    if contender == "cProfile":
        counted = sum(entry.callcount for entry in around.getstats())
    elif contender == "line_profiler":
        counted = sum(hits for rows in around.get_stats().timings.values() for _, hits, _ in rows)
    elif contender == "lines":
        counted = sum(hits for one in around.timings for _, hits, _ in one.lines)
    elif around is not None:
        counted = around.calls
    print(json.dumps([took, counted]))


def measure(python: str, workload: str, rounds: int) -> dict[str, list[tuple[float, int]]]:
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name in CONTENDERS:
            command = [python, __file__, "--child", name, workload]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            took, counted = json.loads(done.stdout)
            found[name].append((took, counted))
    return found


def report(python: str, workload: str, found: dict[str, list[tuple[float, int]]]) -> None:
    version = subprocess.run([python, "-VV"], check=True, capture_output=True, text=True).stdout.split()[1]
    bare = [took for took, _ in found["bare"]]
    print(f"\nPython {version}, {workload}: bare {statistics.median(bare):.3f} s of processor time, {len(bare)} rounds\n")
    print("| what | processor time | quartiles | per call or line | counted |\n|---|---:|---:|---:|---:|")
    for name, words in CONTENDERS.items():
        if name == "bare":
            continue
        ratios = [took / base for (took, _), base in zip(found[name], bare)]
        low, middle_, high = statistics.quantiles(ratios, n=4)
        counted = found[name][0][1]
        cost_ns = 1e9 * statistics.median(took - base for (took, _), base in zip(found[name], bare)) / counted
        print(f"| {words} | {middle_:.2f}x | {low:.2f} to {high:.2f} | {cost_ns:.0f} ns | {counted:,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--child", nargs=2, metavar=("CONTENDER", "WORKLOAD"), help=argparse.SUPPRESS)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="with stepscope and line_profiler")
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    for python in options.pythons:
        for workload in WORKLOADS:
            report(python, workload, measure(python, workload, max(2, options.rounds)))


if __name__ == "__main__":
    main()
