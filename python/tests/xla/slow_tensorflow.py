"""A training loop in TensorFlow with one planted mistake, or its twin: `slow_tensorflow.py NAME slow|fast FOLDER`.

Prints the seconds per step without a profiler, then records six steps with TensorFlow's own.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np
import tensorflow as tf

NAME, SLOW, FOLDER = sys.argv[1], sys.argv[2] == "slow", sys.argv[3]
KERAS = NAME == "keras"
WIDTH = 128 if NAME == "eager" else 512  # a step long enough that getting a batch that is ready is nothing
weights = [tf.Variable(tf.random.normal((WIDTH, WIDTH)) * 0.02) for _ in range(4)]


def update(batch, scale=1.0):
    with tf.GradientTape() as tape:
        value = batch
        for weight in weights:
            value = tf.nn.gelu(value @ weight)
        loss = tf.reduce_mean(value**2) * scale
    for weight, slope in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.01 * slope)
    return loss


def slowly(rows):
    time.sleep(0.02)
    return rows


def prepare(rows):
    return tf.ensure_shape(tf.numpy_function(slowly, [rows], tf.float32), (64, WIDTH))


data = tf.data.Dataset.from_tensor_slices(np.ones((4096, WIDTH), np.float32)).batch(64, drop_remainder=True)
if NAME in ("input", "keras") and SLOW:
    data = data.map(prepare)
data = data.repeat()
if not SLOW:
    data = data.prefetch(tf.data.AUTOTUNE)

if KERAS:
    import keras

    model = keras.Sequential([keras.layers.Input((WIDTH,)), keras.layers.Dense(WIDTH), keras.layers.Dense(WIDTH)])
    model.compile(loss="mse", optimizer="sgd")
    pairs = data.map(lambda rows: (rows, rows))

    class Times(keras.callbacks.Callback):
        """When batches end."""

        ends: list[float] = []

        def on_train_batch_end(self, batch, logs=None):
            self.ends.append(time.perf_counter())

    times = Times()
    model.fit(pairs, steps_per_epoch=20, verbose=0, callbacks=[times])
    print(statistics.median(np.diff(times.ends[3:])))
    from stepscope.integrations.keras import StepscopeCallback

    callback = StepscopeCallback(FOLDER, profile_batch=(5, 10), monitor=False)
    model.fit(pairs, steps_per_epoch=12, verbose=0, callbacks=[callback])
    sys.exit()

train_step = update if NAME == "eager" and SLOW else tf.function(update)
batches = iter(data)


def step(number):
    if NAME == "retracing" and SLOW:
        train_step(next(batches), float(number))  # a Python number: another function for each
    else:
        train_step(next(batches))


def seconds(first, count):
    began = time.perf_counter()
    for number in range(first, first + count):
        step(number)
    return (time.perf_counter() - began) / count


seconds(0, 3)
print(statistics.median(seconds(10 + turn * 5, 5) for turn in range(3)))
tf.profiler.experimental.start(FOLDER)
for number in range(60, 66):
    with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
        step(number)
tf.profiler.experimental.stop()
