"""A JAX training loop: batches made by NumPy, a compiled step, the loss fetched at each one."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
from timed import Timed

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
random = np.random.default_rng(0)
weights = [jnp.asarray(random.normal(size=shape) / 16, jnp.float32) for shape in ((256, 512), (512, 10))]


def loss(weights, batch, labels):
    hidden = jnp.maximum(batch @ weights[0], 0)
    return -jax.nn.log_softmax(hidden @ weights[1])[jnp.arange(labels.size), labels].mean()


@jax.jit
def step(weights, batch, labels):
    value, slopes = jax.value_and_grad(loss)(weights, batch, labels)
    return value, [weight - 0.1 * slope for weight, slope in zip(weights, slopes)]


timed = Timed()
total = 0.0
for _ in range(STEPS):
    batch, labels = random.normal(size=(128, 256)).astype(np.float32), random.integers(10, size=128)
    value, weights = step(weights, batch, labels)
    total += float(value)
    timed.iteration()
timed.report(loss=round(total / STEPS, 3))
