#!/usr/bin/env python3
"""Record JAX programs with one planted mistake each, and their repaired twins, on this machine's device.

    python scripts/record_jax.py OUT

For every pair: the seconds per step without a profiler, timed in turns, and a profile of six steps of each as XPlane.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, LAYERS, BATCH = 2048, 6, 512


def parameters(kind=jnp.float32):
    """Make the weights of a small network."""
    keys = jax.random.split(jax.random.PRNGKey(0), LAYERS)
    return [jax.random.normal(key, (WIDTH, WIDTH), kind) * 0.02 for key in keys]


def loss_of(weights, batch):
    """Run the network."""
    value = batch.astype(weights[0].dtype)
    for weight in weights:
        value = jax.nn.gelu(value @ weight)
    return jnp.mean(value.astype(jnp.float32) ** 2)


def update(weights, batch):
    """Take one step of gradient descent."""
    loss, slopes = jax.value_and_grad(loss_of)(weights, batch)
    return [weight - 0.01 * slope.astype(weight.dtype) for weight, slope in zip(weights, slopes)], loss


class Program:
    """A loop: what one step does, given its number."""

    def __init__(self, slow):
        """Prepare; `slow` plants the mistake."""
        self.slow = slow
        self.weights = parameters()
        self.step_function = jax.jit(update, donate_argnums=0)
        self.batch = jax.random.normal(jax.random.PRNGKey(1), (BATCH, WIDTH))

    def step(self, number):
        """Do one step."""
        self.weights, self.loss = self.step_function(self.weights, self.batch)


class Input(Program):
    """Batches that Python makes while the device waits; the twin has them ready."""

    def step(self, number):
        """Make a batch, and train on it."""
        if self.slow:
            rows = np.random.default_rng(number).standard_normal((BATCH, WIDTH), dtype=np.float32)
            time.sleep(0.008)
            self.batch = jnp.asarray(rows)
        super().step(number)


class Wait(Program):
    """A loss that is read after every step; the twin reads it at the end."""

    def step(self, number):
        """Train, and look at the loss."""
        super().step(number)
        if self.slow:
            print(f"step {number}: {float(self.loss):.4f}", end="\r")


class Shapes(Program):
    """Batches of a new size each step, for which everything is compiled again; the twin pads them."""

    def step(self, number):
        """Train on a batch of some size."""
        size = BATCH - (number % 97 if self.slow else 0)
        self.weights, self.loss = self.step_function(self.weights, self.batch[:size])


class Eager(Program):
    """Operations one by one; the twin compiles the step."""

    def __init__(self, slow):
        """Prepare."""
        super().__init__(slow)
        if slow:
            self.step_function = update


class Precision(Program):
    """Products of 32-bit numbers at full precision; the twin computes in 16 bits."""

    def __init__(self, slow):
        """Prepare."""
        super().__init__(slow)
        if slow:
            function = jax.jit(update, donate_argnums=0)

            def precisely(weights, batch):
                with jax.default_matmul_precision("highest"):
                    return function(weights, batch)

            self.step_function = precisely
        else:
            self.weights = parameters(jnp.bfloat16)


class Donation(Program):
    """Weights that exist twice while they are updated; the twin gives the old ones away."""

    def __init__(self, slow):
        """Prepare."""
        super().__init__(slow)
        self.step_function = jax.jit(update, donate_argnums=() if slow else 0)


class Copies(Program):
    """Large batches that are copied when the step needs them; the twin has them on the device."""

    def __init__(self, slow):
        """Prepare."""
        super().__init__(slow)
        self.rows = [np.random.default_rng(i).standard_normal((16 * BATCH, WIDTH), dtype=np.float32) for i in range(2)]
        self.there = [jnp.asarray(rows) for rows in self.rows]
        self.step_function = jax.jit(lambda weights, rows: update(weights, rows[:BATCH]), donate_argnums=0)

    def step(self, number):
        """Train on the next batch."""
        rows = self.rows[number % 2] if self.slow else self.there[number % 2]
        self.weights, self.loss = self.step_function(self.weights, rows)


class Dispatch(Program):
    """Tiny steps that are called one by one; the twin runs all of them in one call."""

    def __init__(self, slow):
        """Prepare."""
        super().__init__(slow)
        self.weights = [jnp.ones((64, 64)) * 0.01 for _ in range(2)]
        self.batch = jnp.ones((32, 64))
        self.one = jax.jit(update, donate_argnums=0)
        self.all = jax.jit(
            lambda weights, batch: jax.lax.scan(lambda w, _: update(w, batch), weights, None, length=32),
            donate_argnums=0,
        )

    def step(self, number):
        """Take 32 steps of gradient descent."""
        if not self.slow:
            self.weights, self.loss = self.all(self.weights, self.batch)
            return
        for _ in range(32):
            self.weights, self.loss = self.one(self.weights, self.batch)


class Double(Program):
    """Numbers of 64 bits; the twin has 32."""

    def __init__(self, slow):
        """Prepare."""
        jax.config.update("jax_enable_x64", True)
        super().__init__(slow)
        kind = jnp.float64 if slow else jnp.float32
        self.weights = parameters(kind)
        self.batch = self.batch.astype(kind)


PAIRS = {"input": Input, "wait": Wait, "shapes": Shapes, "eager": Eager, "precision": Precision, "donation": Donation}
PAIRS.update({"copies": Copies, "dispatch": Dispatch, "double": Double})


def timed(program, first, count):
    """Seconds per step, the device's work included."""
    began = time.perf_counter()
    for number in range(first, first + count):
        program.step(number)
    jax.block_until_ready(program.weights)
    return (time.perf_counter() - began) / count


def profiled(program, first, path):
    """Record six steps."""
    with tempfile.TemporaryDirectory() as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 1
        with jax.profiler.trace(folder, profiler_options=options):
            for number in range(first, first + 6):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    program.step(number)
            jax.block_until_ready(program.weights)
        [found] = Path(folder).rglob("*.xplane.pb")
        shutil.copy(found, path)


def record(name, out):
    """Record a pair, and say how long its steps take."""
    programs = {"slow": PAIRS[name](True), "fast": PAIRS[name](False)}
    for program in programs.values():
        timed(program, 0, 3)
    rounds = {which: [] for which in programs}
    for turn in range(5):
        for which, program in programs.items():
            rounds[which].append(timed(program, 10 + turn * 8, 8))
    for which, program in programs.items():
        profiled(program, 60, out / f"{name}_{which}.xplane.pb")
    medians = {which: statistics.median(seconds) for which, seconds in rounds.items()}
    about = {"jax": jax.__version__, "device": jax.devices()[0].device_kind}
    answer = {**about, **medians, "saved": 1 - medians["fast"] / medians["slow"]}
    print(name, answer, flush=True)
    (out / f"{name}.json").write_text(json.dumps(answer, indent=1))


def main():
    """Record what was asked for, each pair in a process of its own: a profile holds every program compiled so far."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", nargs="*", default=list(PAIRS), choices=list(PAIRS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if len(options.pairs) == 1:
        record(options.pairs[0], options.out)
        return
    for name in options.pairs:
        subprocess.run([sys.executable, __file__, str(options.out), "--pairs", name], check=True)


if __name__ == "__main__":
    main()
