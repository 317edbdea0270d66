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
    """Falls towards the middle."""

    __slots__ = ("place", "speed", "turns")

    def __init__(self, place: float) -> None:
        self.place, self.speed, self.turns = place, 0.0, 0

    def step(self, dt: float) -> float:
        self.speed += force(self.place) * dt
        self.place += self.speed * dt
        if self.place > 10.0 or self.place < -10.0:
            self.speed = -self.speed
            self.turns += 1
        return self.place


def force(place: float) -> float:
    square = place * place + 0.01
    return -place / (square * math.sqrt(square))


def histogram(places: list[float]) -> list[int]:
    bins = [0] * 10
    for place in places:
        bins[min(int(abs(place)), 9)] += 1
    return bins


def simulation() -> int:
    """Methods, functions and C functions that do a little arithmetic each."""
    particles = [Particle(1.0 + 0.1 * number) for number in range(100)]
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
        print(f"| {words} | {middle_:.2f}x | {low:.2f} to {high:.2f} | {cost_ns:.0f} ns | {counted:,} |")


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
