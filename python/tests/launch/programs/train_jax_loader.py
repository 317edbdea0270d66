"""A JAX training loop that PyTorch's data loader feeds, as many are: samples made one by one, a compiled step."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import torch
from timed import Timed
from torch.utils.data import DataLoader, Dataset

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
torch.set_num_threads(1)
random = np.random.default_rng(0)
weights = [jnp.asarray(random.normal(size=shape) / 16, jnp.float32) for shape in ((256, 512), (512, 10))]


class Samples(Dataset):
    def __len__(self):
        return 32 * STEPS

    def __getitem__(self, index):
        sample = torch.sin(torch.arange(256) * float(index))
        return (sample - sample.mean()) / sample.std(), index % 10


def loss(weights, batch, labels):
    hidden = jnp.maximum(batch @ weights[0], 0)
    return -jax.nn.log_softmax(hidden @ weights[1])[jnp.arange(labels.size), labels].mean()


@jax.jit
def train_step(weights, batch, labels):
    value, slopes = jax.value_and_grad(loss)(weights, batch, labels)
    return value, [weight - 0.1 * slope for weight, slope in zip(weights, slopes)]


timed = Timed()
total = 0.0
for batch, labels in DataLoader(Samples(), batch_size=32):
    value, weights = train_step(weights, batch.numpy(), labels.numpy())
    total += float(value)
    timed.iteration()
timed.report(loss=round(total / STEPS, 3))
