//! What the name of an event on a host thread says. JAX, TensorFlow and XLA give no categories: the name is all there is,
//! with the event's stats and what it lies in.

/// What a name alone says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A mark that says nothing of its own.
    Mark,
    /// A change of an allocator's level.
    Memory { allocates: bool },
    /// A Python call: `$train.py:12 step`.
    Python,
    /// A TensorFlow operator: `mlp/matmul:MatMul`.
    Operator,
    /// A call of the device's runtime or driver: `cuGraphLaunch (CudaGraph:18)`.
    Call,
    /// The device profiler's own time.
    Overhead,
    /// XLA handing a module's operators to a device, one below the other.
    Module,
    /// The framework's own.
    Framework,
    /// `Profiled batch`: Keras's step, with or without a number.
    Batch,
    /// A user's range, or one of the framework's that says nothing of itself.
    Range,
}

/// What a name says.
pub(super) fn named(name: &str) -> Named {
    match name {
        "MemoryAllocation" => return Named::Memory { allocates: true },
        "MemoryDeallocation" => return Named::Memory { allocates: false },
        "<UNKNOWN>" | "BUFFER_FLUSH" | "INSTRUMENTATION" | "RESOURCE" | "DRIVER_COMPILER" => {
            return Named::Overhead;
        }
        _ => {}
    }
    if name.starts_with("end: ") || name.starts_with("ThreadpoolListener::") {
        Named::Mark
    } else if name.starts_with('$') {
        Named::Python
    } else if name.starts_with("Profiled batch") {
        Named::Batch
    } else if is_call(name) {
        Named::Call
    } else if name.ends_with(":XLA GPU module") {
        Named::Module
    } else if is_framework(name) {
        Named::Framework
    } else if operator(name).is_some() {
        Named::Operator
    } else {
        Named::Range
    }
}

/// Name and type of a TensorFlow operator: `mlp/matmul:MatMul`.
pub(super) fn operator(name: &str) -> Option<(&str, &str)> {
    let (path, kind) = name.split_once(':')?;
    let first = |text: &str, ok: fn(u8) -> bool| text.bytes().next().is_some_and(ok);
    let all = |text: &str, ok: fn(u8) -> bool| text.bytes().all(ok);
    let in_kind = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'>';
    let in_path = |b: u8| b.is_ascii_alphanumeric() || b"_.\\/>-".contains(&b);
    (first(path, |b| b.is_ascii_alphanumeric() || b == b'.')
        && all(path, in_path)
        && first(kind, |b| b.is_ascii_uppercase() || b == b'_')
        && all(kind, in_kind))
    .then_some((path, kind))
}

/// `cuLaunchKernel`, `hipMemcpyAsync`, `cudaMalloc`.
fn is_call(name: &str) -> bool {
    ["cuda", "cu", "hip"].iter().any(|library| {
        name.strip_prefix(library).is_some_and(|rest| {
            let word = rest.split([' ', '(']).next().unwrap_or_default();
            word.bytes().next().is_some_and(|b| b.is_ascii_uppercase())
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    })
}

/// Ranges that JAX, TensorFlow and XLA open around their own code. What lies inside of one is theirs too, so that only
/// those matter which Python calls directly.
fn is_framework(name: &str) -> bool {
    const BEGINNINGS: [&str; 26] = [
        "PjitFunction(",
        "ParseArguments",
        "DevicePut",
        "BatchedDevicePut",
        "shard_args",
        "cpp_pjit_",
        "PJRT_",
        "PjRt",
        "TFE_",
        "Eager",
        "FunctionRun",
        "RunGraph",
        "Executor",
        "ThenExecuteCallback",
        "H2D Dispatch",
        "D2H Dispatch",
        "backend_compile",
        "lower_sharding_computation",
        "trace_to_jaxpr",
        "convert_to_tensor",
        "tf.constant",
        "MapAndBatch",
        "Prefetch",
        "ParallelMap",
        "ParallelInterleave",
        "XlaCompile",
    ];
    name.contains("::") || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// A Python call's name as other traces write it: `train.py(12): step`. Functions without a line are `$module name`.
pub(super) fn python_name(name: &str) -> Option<String> {
    let (place, function) = name.strip_prefix('$')?.split_once(' ')?;
    match place.rsplit_once(':').filter(|(_, line)| line.bytes().all(|b| b.is_ascii_digit())) {
        Some((file, line)) if !file.is_empty() && !line.is_empty() => {
            Some(format!("{file}({line}): {function}"))
        }
        _ => Some(format!("<built-in method {place}.{function}>")),
    }
}

/// What a call is named that carries the name of what it launched. `copy` tells what it does.
pub(super) fn call_name(name: &str, asynchronous: bool) -> &str {
    if is_call(name) {
        return name.split([' ', '(']).next().unwrap_or(name);
    }
    let lower = name.to_ascii_lowercase();
    match (lower.starts_with("memcpy") || lower.starts_with("copy"), lower.starts_with("memset")) {
        (true, _) if asynchronous => "MemcpyAsync",
        (true, _) => "cudaMemcpy",
        (_, true) => "MemsetAsync",
        _ => "LaunchKernel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_events_are() {
        for (name, is) in [
            ("end: dot.4", Named::Mark),
            ("ThreadpoolListener::StartRegion", Named::Mark),
            ("MemoryDeallocation", Named::Memory { allocates: false }),
            ("$jax_train.py:32 batch", Named::Python),
            ("mlp/matmul:_MklMatMul", Named::Operator),
            ("PyFunc:PyFunc", Named::Operator),
            ("cuGraphLaunch (CudaGraph:18)", Named::Call),
            ("hipModuleLaunchKernel", Named::Call),
            ("cuLaunchHostFunc", Named::Call),
            ("cudnn-conv.1", Named::Range),
            ("custom-call.1", Named::Range),
            ("BUFFER_FLUSH", Named::Overhead),
            ("jit_loss_fn:XLA GPU module", Named::Module),
            ("Iterator::Root", Named::Framework),
            ("ThenExecuteCallback:GetEvent", Named::Framework),
            ("PjitFunction(step)", Named::Framework),
            ("Profiled batch", Named::Batch),
            ("load_batch", Named::Range),
            ("HLO Transforms:jit_stage", Named::Range),
        ] {
            assert_eq!(named(name), is, "{name}");
        }
    }

    #[test]
    fn python_calls_read_as_in_other_traces() {
        assert_eq!(python_name("$core.py:686 bind").as_deref(), Some("core.py(686): bind"));
        assert_eq!(python_name("$time sleep").as_deref(), Some("<built-in method time.sleep>"));
        assert_eq!(python_name("$<string>:3 f").as_deref(), Some("<string>(3): f"));
        assert_eq!(python_name("$alone"), None);
        assert_eq!(python_name("plain name"), None);
    }

    #[test]
    fn calls_named_after_their_work_say_what_they_do() {
        assert_eq!(call_name("cuGraphLaunch (CudaGraph:18)", false), "cuGraphLaunch");
        assert_eq!(call_name("MemcpyH2D", true), "MemcpyAsync");
        assert_eq!(call_name("MemcpyH2D", false), "cudaMemcpy");
        assert_eq!(call_name("loop_transpose_fusion", false), "LaunchKernel");
    }
}
