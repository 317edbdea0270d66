//! What rules look at in programs of JAX and TensorFlow only: what their input waits for and how arrays get to the device.

mod input;
pub(super) mod staging;

pub(super) use input::input;

/// Batches that are made while the device computes.
pub(super) const TF_PIPELINE: &str = "dataset = dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)  # batches are made during the step";

/// Batches that are on the device when a step needs them.
pub(super) const JAX_PREFETCH: &str =
    "from flax.jax_utils import prefetch_to_device  # or grain, or a thread and a queue
batches = prefetch_to_device(loader, size=2)   # the next batch is on its way during the step";
