"""A TensorFlow training loop: a tf.data pipeline, a step that is a tf.function, a second function beside it."""

from __future__ import annotations

import sys

import tensorflow as tf
from timed import Timed

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
tf.random.set_seed(0)
first, second = tf.Variable(tf.random.normal((256, 512)) / 16), tf.Variable(tf.random.normal((512, 10)) / 16)


@tf.function
def augment(batch):
    return batch + 0.01 * tf.random.normal(tf.shape(batch))


@tf.function
def train_step(batch, labels):
    with tf.GradientTape() as tape:
        values = tf.nn.relu(batch @ first) @ second
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, values))
    for variable, slope in zip((first, second), tape.gradient(loss, (first, second))):
        variable.assign_sub(0.1 * slope)
    return loss


data = tf.data.Dataset.range(STEPS).map(lambda number: (tf.random.normal((64, 256)), tf.repeat(number % 10, 64)))
timed = Timed()
for batch, labels in data:
    loss = train_step(augment(batch), labels)
    timed.iteration()
timed.report(loss=round(float(loss), 1) > 0)
