//! What rules say about programs of JAX and TensorFlow: the same mistakes, with other remedies.

mod input;
pub(super) mod staging;

use crate::causes::cause::Cause;
use crate::findings::{Confidence, Context, Finding};
use crate::threads::activity::Activity;

pub(super) use input::input;

/// Rules that have something to say about these programs. All others look for what PyTorch does and name its remedies.
pub(in super::super) const RULES: [&str; 14] = [
    "communication_exposed",
    "compilation",
    "data_loading",
    "donation",
    "double_precision",
    "eager_operations",
    "exposed_copies",
    "host_stalls",
    "launch_bound",
    "mixed_precision",
    "start_up",
    "synchronization",
    "tf32_off",
    "uneven_steps",
];

/// What to do about a finding in a program of JAX or TensorFlow. Rules with more to look at than words do it themselves.
pub(in super::super) fn reword(context: &Context<'_>, finding: &mut Finding) {
    let Some(framework) = &context.trace().meta().framework else { return };
    let Some(words) = advice(finding.rule, framework.name == "TensorFlow") else { return };
    finding.why = words.why.to_owned();
    finding.fix = words.fix.to_owned();
    finding.code = (!words.code.is_empty()).then(|| words.code.to_owned());
    finding.verify = words.verify.to_owned();
    if matches!(finding.rule, "mixed_precision" | "tf32_off") && finding.confidence == Confidence::Low {
        finding.why.push_str(
            " The compiler launches these products as a graph, so the saving is estimated from kernel names and what such \
             kernels usually reach.",
        );
    }
    if finding.rule == "host_stalls" {
        finding.fix = match &finding.source {
            Some(line) => format!("Look at {line}. {}", finding.fix),
            None => format!(
                "Record with the Python tracer on (python_tracer_level=1) to find the line. {}",
                finding.fix
            ),
        };
    }
}

struct Advice {
    why: &'static str,
    fix: &'static str,
    code: &'static str,
    verify: &'static str,
}

fn advice(rule: &str, tensorflow: bool) -> Option<Advice> {
    let choose = |of_tensorflow, of_jax| if tensorflow { of_tensorflow } else { of_jax };
    Some(match rule {
        "communication_exposed" => Advice {
            why: "Arrays travel between devices, and the device has nothing to compute until they arrive. Some of this time \
                  may be waiting for a device that is late.",
            fix: "Let XLA start collectives early and compute meanwhile, give each device more work per collective (a larger \
                  batch, gradients summed over several steps), and check that arrays are sharded the way the next operation \
                  needs them, so that nothing is gathered only to be split again.",
            code: choose(
                "strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())",
                "# before the first import of jax\n\
                 os.environ[\"XLA_FLAGS\"] = \"--xla_gpu_enable_latency_hiding_scheduler=true\"",
            ),
            verify: "Record again: communication in `stepscope account` should shrink.",
        },
        "exposed_copies" => Advice {
            why: "Arrays of the host go to the device when the step needs them: threads of the runtime first put them into \
                  memory that the device can read, then they are copied. Meanwhile the device computes nothing, although it \
                  can copy and compute at the same time.",
            fix: "Put the next batch on the device while it computes this one, and keep what does not change there. Send \
                  fewer bytes: 8-bit images rather than 32-bit floats, converted on the device.",
            code: choose(TF_PREFETCH_TO_DEVICE, JAX_PREFETCH),
            verify: "Record again: `stepscope transfers` should show most of the copy time hidden.",
        },
        "host_stalls" => Advice {
            why: "Between two steps the program does something long of its own in Python, and the device has nothing to do \
                  until it is done.",
            fix: "If it prepares the next batch, do that on another thread or in other processes while the device computes. \
                  Otherwise do it less often, or where nothing waits for it.",
            code: choose(TF_PIPELINE, JAX_PREFETCH),
            verify: "Record again: `stepscope gaps` should no longer list these gaps.",
        },
        "launch_bound" => Advice {
            why: "Each call of a compiled function costs the host time in Python and in the runtime, and each kernel some more. \
                  The device often finishes its work before the next launch arrives, and then waits.",
            fix: "Do more per call: run several steps in one compiled function, give each step a larger batch, and compile what \
                  is still called piece by piece.",
            code: choose(
                "model.compile(..., jit_compile=True, steps_per_execution=16)  # Keras: 16 steps per call",
                "@functools.partial(jax.jit, donate_argnums=0)\n\
                 def train_steps(state, batches):          # several steps in one call\n\
                 \x20   return jax.lax.scan(train_step, state, batches)",
            ),
            verify: "Record again after warm-up: `stepscope launches` should show a longer queue. The profiler itself slows \
                     launches down, so time the loop without it too.",
        },
        "mixed_precision" => Advice {
            why: "Tensor cores multiply 16-bit numbers several times faster than 32-bit ones, and half as many bytes move. \
                  Sums stay in 32 bits.",
            fix: "Compute in bfloat16, and keep the weights that the optimizer updates in 32 bits. Check the loss.",
            code: choose(
                "keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")  # before the model is built",
                "half = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)  # in the loss; params stay float32\n\
                 logits = model.apply(half, batch[\"x\"].astype(jnp.bfloat16))\n\
                 return loss(logits.astype(jnp.float32), batch[\"y\"])",
            ),
            verify: "Record again: `stepscope roofline` should show bf16 for these products. The estimate assumes that they \
                     reach the share of the peak in assume.matrix_efficiency.",
        },
        "synchronization" => Advice {
            why: choose(
                "Operations are handed to the device and run later. Reading a value (.numpy(), float(), print) stops the host \
                 until the device has caught up, and when it continues, the device has run out of work.",
                "JAX hands work to the device and goes on. Reading a value (float(), print, np.asarray) or calling \
                 block_until_ready stops the host until the device has caught up, and when it continues, the device has run \
                 out of work.",
            ),
            fix: "Keep losses and metrics on the device and read them rarely, or read those of an earlier step, which are \
                  ready. Wait once around many steps when you measure time.",
            code: choose(
                "total.assign_add(loss)                # a tf.Variable: no wait\n\
                 if step % 100 == 99:\n\
                 \x20   print(total.numpy() / 100)        # one wait in a hundred steps\n\
                 \x20   total.assign(0.0)",
                "losses.append(loss)                   # no wait\n\
                 if step % 100 == 99:\n\
                 \x20   print(np.mean(jax.device_get(losses)))  # one wait in a hundred steps\n\
                 \x20   losses.clear()",
            ),
            verify: "Record again: `stepscope waits` should list hardly any. The wait at the very end of a loop has to stay.",
        },
        "tf32_off" => Advice {
            why: "Products of 32-bit numbers run in full precision, on the ordinary cores. TF32 rounds the inputs of a product \
                  to 10 bits of mantissa, keeps range and sums in 32 bits, and runs on tensor cores.",
            fix: "Ask for full precision only where it matters: drop precision=\"highest\" and the global setting. bfloat16 \
                  computes faster still, but changes more numbers.",
            code: choose(
                "tf.config.experimental.enable_tensor_float_32_execution(True)",
                "jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\")\n\
                 # and no precision=\"highest\" in jnp.dot, jnp.einsum or a model's layers",
            ),
            verify: "Record again: `stepscope roofline` should show tf32 for these products.",
        },
        "double_precision" => Advice {
            why: "NumPy's default is 64 bits, and arrays made from it keep that where 64 bits are allowed. Twice as many bytes \
                  move, and processors compute half as many such numbers at once, GPUs made for graphics far fewer.",
            fix: "Convert data once where it enters the program. Keep 64 bits only where the last digits matter.",
            code: choose(
                "x = tf.cast(x, tf.float32)  # or array.astype(np.float32) when it is loaded",
                "jax.config.update(\"jax_enable_x64\", False)  # the default\n\
                 x = jnp.asarray(array, dtype=jnp.float32)",
            ),
            verify: "Record again: `stepscope roofline` should show no fp64.",
        },
        _ => return None,
    })
}

/// Why some steps of such a program take longer, and what to do: by what there is more of in them.
pub(super) fn uneven(cause: Option<Cause>, first: bool) -> (&'static str, &'static str, Option<&'static str>) {
    match cause {
        Some(Cause::Host(Activity::DataLoading)) => (
            "A batch came late in these steps.",
            "Let the input pipeline work ahead: more in parallel, and a deeper buffer of finished batches.",
            None,
        ),
        Some(Cause::Host(Activity::GarbageCollection)) => (
            "Python's garbage collector goes through all objects of the program while the device has nothing to do.",
            "Freeze the objects created at start-up (gc.freeze()), and collect between epochs.",
            None,
        ),
        Some(Cause::Kernel | Cause::Copy | Cause::Fill) => (
            "The device itself had more to do in these steps.",
            "Compare the kernels of a slow step with those of a usual one (`stepscope kernels --step N`).",
            None,
        ),
        Some(Cause::DEVICE_UNRECORDED) => (
            "The host waited for the device in these steps; what the device did is not recorded in full.",
            "Compare a slow step with a usual one (`stepscope account --step N`), and record what is missing if the profiler can.",
            None,
        ),
        _ if first => (
            "The first recorded steps are still warming up: code is loaded, the profiler starts. A long run pays that once; \
             here it raises the averages.",
            "Run more steps before recording, and judge by the later steps of this profile.",
            None,
        ),
        _ => (
            "In these steps the host did something extra, such as logging, a checkpoint or an evaluation, or another program took \
             the processor.",
            "Look at what the host does in the slow step. Do such work less often, or on another thread.",
            None,
        ),
    }
}

const TF_PIPELINE: &str = "dataset = dataset.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)  # batches are made during the step";

const TF_WITHOUT_PYTHON: &str =
    "dataset = dataset.map(prepare_with_tf_operators, num_parallel_calls=tf.data.AUTOTUNE)  # no tf.py_function
dataset = dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)";

const JAX_PREFETCH: &str = "from flax.jax_utils import prefetch_to_device  # or grain, or a thread and a queue
batches = prefetch_to_device(loader, size=2)   # the next batch is on its way during the step";

const TF_PREFETCH_TO_DEVICE: &str =
    "dataset = dataset.apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\", buffer_size=2))";

/// What to do where code is compiled inside the steps.
pub(super) fn compilation(framework: &str, again: bool, finding: &mut Finding) {
    if let Some(evidence) = finding.evidence.first_mut() {
        evidence.definition = "Time in all steps in which the host traced, lowered or compiled functions, by the ranges and \
                               Python functions of the framework's compiler.";
    }
    if again {
        finding.why = "A function is traced and compiled again whenever the shapes, types or static arguments of its inputs \
                       differ from all those before."
            .to_owned();
        finding.fix = "Keep shapes the same from step to step: pad batches to a few lengths and drop the last small one. Pass \
                       numbers that change as arrays, and make jitted functions once, outside of the loop."
            .to_owned();
    } else {
        finding.why = "A function is traced and compiled when it first runs. A long run pays that once; in this profile it hides \
                       what a usual step costs."
            .to_owned();
        finding.fix = "Run a few steps before the profiler starts. If start-up itself is too slow, keep compiled code on a \
                       disk that persists."
            .to_owned();
    }
    finding.code = Some(match (framework, again) {
        ("TensorFlow", true) => TF_SIGNATURE.to_owned(),
        ("TensorFlow", false) => TF_WARM.to_owned(),
        (_, true) => JAX_RECOMPILES.to_owned(),
        (_, false) => JAX_WARM.to_owned(),
    });
    finding.verify =
        "Record again: no step should compile, and the first should take as long as the others.".to_owned();
}

const JAX_WARM: &str = "jax.block_until_ready(train_step(state, batch))  # compiles, before the profiler starts
with jax.profiler.trace(\"logs\"):
    ...
# jax.config.update(\"jax_compilation_cache_dir\", \"cache\") keeps compiled code between runs";

const JAX_RECOMPILES: &str = "jax.config.update(\"jax_log_compiles\", True)     # says what is compiled
jax.config.update(\"jax_explain_cache_misses\", True)  # and why";

const TF_WARM: &str = "train_step(batch)  # traces, before the profiler starts
tf.profiler.experimental.start(\"logs\")";

const TF_SIGNATURE: &str =
    "@tf.function(reduce_retracing=True)  # or input_signature=[tf.TensorSpec([None, 64])]
def train_step(batch): ...";
