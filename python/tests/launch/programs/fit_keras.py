"""Keras's ``fit``, with whatever backend it is told to use."""

from __future__ import annotations

import json
import sys

import keras
import numpy as np

BATCHES = int(sys.argv[1]) if len(sys.argv) > 1 else 200
random = np.random.default_rng(0)
model = keras.Sequential([keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
inputs, labels = random.normal(size=(32 * BATCHES, 256)).astype(np.float32), random.integers(10, size=32 * BATCHES)
history = model.fit(inputs, labels, batch_size=32, epochs=1, verbose=0)
print(json.dumps({"batches": BATCHES, "losses": len(history.history["loss"])}))
