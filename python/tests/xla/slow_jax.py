"""A training loop in JAX with one planted mistake, or its mended twin: `slow_jax.py NAME slow|fast FOLDER`.

Prints the seconds per step without a profiler, then records six steps with JAX's own.
"""

from __future__ import annotations

import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

NAME, SLOW, FOLDER = sys.argv[1], sys.argv[2] == "slow", sys.argv[3]
ROWS = 128
if NAME == "double" and SLOW:
    jax.config.update("jax_enable_x64", True)
KIND = jnp.float64 if NAME == "double" and SLOW else jnp.float32
WIDTH = 64 if NAME == "eager" else 256


def loss_of(weights, batch):
    for weight in weights:
        batch = jax.nn.gelu(batch @ weight)
    return jnp.mean(batch**2)


def update(weights, batch):
    loss, slopes = jax.value_and_grad(loss_of)(weights, batch)
    return [weight - 0.01 * slope for weight, slope in zip(weights, slopes)], loss


weights = [jax.random.normal(key, (WIDTH, WIDTH), KIND) * 0.05 for key in jax.random.split(jax.random.PRNGKey(0), 4)]
ready = jnp.ones((ROWS, WIDTH), KIND)
train_step = update if NAME == "eager" and SLOW else jax.jit(update)


def next_batch(number):
    """Make a batch while nothing else goes on."""
    time.sleep(0.02)
    return np.random.default_rng(number).standard_normal((ROWS, WIDTH)).astype(np.float32)


def step(number):
    global weights
    batch = ready
    if NAME == "input" and SLOW:
        batch = next_batch(number)
    if NAME == "shapes" and SLOW:
        batch = ready[: ROWS - number % 100]
    weights, _ = train_step(weights, batch)


def seconds(first, count):
    began = time.perf_counter()
    for number in range(first, first + count):
        step(number)
    jax.block_until_ready(weights)
    return (time.perf_counter() - began) / count


seconds(0, 3)
print(statistics.median(seconds(10 + turn * 5, 5) for turn in range(3)))
with jax.profiler.trace(FOLDER):
    for number in range(60, 66):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            step(number)
    jax.block_until_ready(weights)
