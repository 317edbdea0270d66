#!/usr/bin/env python3
"""Programs whose profilers are compared by python_hooks.py. Each times its own work and leaves a line of JSON.

    python hook_workloads.py WORKLOAD [--around EXPRESSION]

The times go to the file named by HOOKS_RESULT: wall and processor seconds, those of children included.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import resource
import sys
import threading
import time
from typing import Any, Callable

# kernprof and `stepscope run --lines` put it there.
profile: Callable[[Any], Any] = getattr(builtins, "profile", lambda function: function)


class Particle:
    """Falls around the middle of a plane."""

    __slots__ = ("x", "y", "speed_x", "speed_y", "turns")

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y, self.speed_x, self.speed_y, self.turns = x, y, 0.0, 0.1, 0

    @profile
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


def simulation() -> None:
    """Methods, functions and C functions with a few lines of arithmetic each, as much of numerical Python is."""
    particles = [Particle(1.0 + 0.1 * number, 0.05 * number) for number in range(100)]
    for _ in range(3000):
        histogram([particle.step(0.001) for particle in particles])


def leaf(x: int) -> int:
    return x + 1


@profile
def middle(x: int, seen: list[int]) -> int:
    y = leaf(x)
    if isinstance(y, int):
        seen.append(len(seen) & 7)
    return y


def calls() -> None:
    """Next to nothing but calls: the worst case."""
    seen: list[int] = []
    for number in range(600_000):
        middle(number, seen)
        if not number & 1023:
            seen.clear()


@profile
def train_step(weights: list[Any], inputs: Any, targets: Any, rate: float) -> float:
    import numpy

    layers = [inputs]
    for weight in weights[:-1]:
        layers.append(numpy.maximum(layers[-1] @ weight, 0.0))
    guess = layers[-1] @ weights[-1]
    slope = 2.0 * (guess - targets) / len(targets)
    for at in range(len(weights) - 1, -1, -1):
        change = layers[at].T @ slope
        slope = (slope @ weights[at].T) * (layers[at] > 0.0)
        weights[at] -= rate * change
    return float(((guess - targets) ** 2).mean())


def training() -> None:
    """A network of three layers in NumPy, in small steps."""
    import numpy

    random = numpy.random.default_rng(1)
    weights = [random.normal(0.0, 0.1, shape) for shape in ((64, 128), (128, 128), (128, 10))]
    inputs, targets = random.normal(size=(64, 64)), random.normal(size=(64, 10))
    for _ in range(1200):
        train_step(weights, inputs, targets, 0.001)


@profile
def decode(text: str) -> float:
    record = json.loads(text)
    values = [float(value) for value in record["values"]]
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


def decode_all(texts: list[str]) -> float:
    return sum(decode(text) for text in texts)


def loading() -> None:
    """Records decoded by two forked processes and four threads."""
    import multiprocessing

    texts = [json.dumps({"values": [(number * step) % 97 for step in range(60)]}) for number in range(600)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        done = pool.map_async(decode_all, [texts] * 8, chunksize=1)
        threads = [threading.Thread(target=decode_all, args=(texts,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.get()
        pool.close()
        pool.join()


WORKLOADS: dict[str, Callable[[], None]] = {
    "simulation": simulation,
    "calls": calls,
    "training": training,
    "loading": loading,
}
#: The function whose lines are timed.
WATCHED = {"simulation": "Particle.step", "calls": "middle", "training": "train_step", "loading": "decode"}


def processor_seconds() -> float:
    """Of this process and of children that have ended, to the microsecond."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    work = WORKLOADS[sys.argv[1]]
    around: Any = None
    if "--around" in sys.argv:
        expression = sys.argv[sys.argv.index("--around") + 1]
        watched: Any = {"simulation": Particle.step, "calls": middle, "training": train_step, "loading": decode}
        module = expression.partition(".")[0]
        around = eval(expression, {module: __import__(module), "watched": watched[sys.argv[1]]})
    before, began = processor_seconds(), time.perf_counter()
    if around is None:
        work()
    else:
        with around:
            work()
    wall, cpu = time.perf_counter() - began, processor_seconds() - before
    with open(os.environ["HOOKS_RESULT"], "w") as file:
        json.dump({"wall": wall, "cpu": cpu}, file)


if __name__ == "__main__":
    main()
