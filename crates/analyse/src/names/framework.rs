//! What the names of JAX's, TensorFlow's and XLA's own ranges and functions say.

use crate::names::ranges::looks_like_data_loading;

/// Packages that a program which imports them cannot do without: importing them later saves nothing.
pub const FRAMEWORK_PACKAGES: [&str; 10] = [
    "torch",
    "jax",
    "jaxlib",
    "tensorflow",
    "keras",
    "transformers",
    "diffusers",
    "accelerate",
    "lightning",
    "pytorch_lightning",
];

/// What the framework does in a range of this name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FrameworkCall {
    /// Traces, lowers or compiles a function.
    Compiles,
    /// Gets the next batch from an input pipeline.
    Loads,
    /// Waits for work that was handed over.
    Waits,
    /// Anything else: takes arguments apart, hands work over, makes buffers.
    Runs,
}

/// What a range of the framework's own does.
pub fn framework_call(name: &str) -> FrameworkCall {
    if name.contains("ompile")
        || name.ends_with("graph_building")
        || name == "lower_sharding_computation"
        || name.starts_with("trace_to_jaxpr")
    {
        FrameworkCall::Compiles
    } else if name.starts_with("Iterator::") || looks_like_data_loading(name) {
        FrameworkCall::Loads
    } else if [
        "wait for completion",
        "BlockHostUntilReady",
        "BlockUntilReady",
        "::Await",
        "np.asarray(jax.Array)",
    ]
    .iter()
    .any(|word| name.contains(word))
    {
        FrameworkCall::Waits
    } else {
        FrameworkCall::Runs
    }
}

/// What JAX does in a Python function of this name (`compiler.py(429): compile_or_get_cached`), if it is one of those that
/// compile or wait. JAX's profiler writes files without their folders.
pub fn jax_function(name: &str) -> Option<FrameworkCall> {
    let (place, function) = name.split_once("): ")?;
    let file = place.split('(').next()?;
    let compiles = match file {
        "compiler.py" => function.contains("compile"),
        "pxla.py" => {
            matches!(function, "compile" | "from_hlo" | "_cached_compilation" | "lower_sharding_computation")
        }
        "pjit.py" => matches!(function, "_create_pjit_jaxpr" | "_infer_params" | "_pjit_lower" | "trace"),
        "partial_eval.py" => function.starts_with("trace_to_jaxpr"),
        "mlir.py" => function.starts_with("lower_"),
        _ => false,
    };
    let waits =
        matches!((file, function), ("api.py", "block_until_ready" | "try_to_block") | ("array.py", "_value"));
    match (compiles, waits) {
        (true, _) => Some(FrameworkCall::Compiles),
        (_, true) => Some(FrameworkCall::Waits),
        _ => None,
    }
}

/// The function that a call of JAX or TensorFlow runs compiled: `train_step` of `PjitFunction(train_step)`.
pub fn compiled_function(name: &str) -> Option<&str> {
    if let Some(function) = name.strip_prefix("PjitFunction(") {
        return function.strip_suffix(')');
    }
    let function = name.strip_prefix("EagerLocalExecute: __inference_")?;
    // TensorFlow numbers what it traces.
    let (function, number) = function.rsplit_once('_')?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(function)
}

/// The operation that TensorFlow runs by itself: `MatMul` of `EagerLocalExecute: MatMul`. Getting a batch is none, and
/// compiled functions are [`compiled_function`]'s.
pub fn eager_operation(name: &str) -> Option<&str> {
    let operation = name.strip_prefix("EagerLocalExecute: ")?;
    (!operation.starts_with("__inference_") && framework_call(name) == FrameworkCall::Runs).then_some(operation)
}

/// Whether the framework prepares a copy to the device in a range of this name.
pub fn stages_a_copy(name: &str) -> bool {
    name == "DevicePut"
        || name == "H2D Dispatch"
        || ["BufferFromHostBuffer", "LinearizeInto", "Transpose::Execute", "EagerCopyToDevice"]
            .iter()
            .any(|word| name.contains(word))
}

/// Whether a program of TensorFlow fetches its batches on a thread of this name, while the step waits: Keras does.
pub fn is_fetching_thread(thread: &str) -> bool {
    thread.starts_with("tf_data_iterator_get_next")
}

/// Whether a thread of this name belongs to TensorFlow's input pipeline.
pub fn is_input_thread(thread: &str) -> bool {
    thread.starts_with("tf_data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_say_what_the_framework_does() {
        use FrameworkCall::*;
        for (name, does) in [
            ("PjRtCApiClient::CompileAndLoad(jit_stage)", Compiles),
            ("backend_compile_and_load", Compiles),
            ("tf.function-graph_building", Compiles),
            ("IteratorGetNextOp::DoCompute", Loads),
            ("EagerLocalExecute: IteratorGetNext", Loads),
            ("Iterator::Root::Prefetch", Loads),
            ("ThunkExecutor::Execute (wait for completion)", Waits),
            ("PjitFunction(step)", Runs),
            ("ExecutorState::Process", Runs),
        ] {
            assert_eq!(framework_call(name), does, "{name}");
        }
        assert_eq!(jax_function("api.py(2757): block_until_ready"), Some(Waits));
        assert_eq!(jax_function("compiler.py(429): compile_or_get_cached"), Some(Compiles));
        assert_eq!(jax_function("train.py(3): compile"), None);
        assert_eq!(jax_function("api.py(10): jit"), None);
    }

    #[test]
    fn compiled_functions_have_the_users_names() {
        assert_eq!(compiled_function("PjitFunction(train_step)"), Some("train_step"));
        assert_eq!(compiled_function("EagerLocalExecute: __inference_step_74"), Some("step"));
        assert_eq!(compiled_function("EagerLocalExecute: IteratorGetNext"), None);
        assert_eq!(compiled_function("PjitFunction(cut"), None);
        assert_eq!(eager_operation("EagerLocalExecute: MatMul"), Some("MatMul"));
        assert_eq!(eager_operation("EagerLocalExecute: IteratorGetNext"), None);
        assert_eq!(eager_operation("EagerLocalExecute: __inference_step_74"), None);
    }
}
