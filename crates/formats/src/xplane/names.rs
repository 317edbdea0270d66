//! What the name of an event on a host thread says. JAX, TensorFlow and XLA give no categories: the name is all there is,
//! with the event's stats and what it lies in.

/// What a name alone says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A mark that says nothing of its own.
    Mark,
    /// A change of an allocator's level.
    Memory {
        allocates: bool,
    },
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
    Framework,
    /// `Profiled batch`: Keras's step, with or without a number.
    Batch,
    /// A user's range, or one of the framework's that says nothing of itself.
    Range,
}

pub(super) fn named(name: &str) -> NameKind {
    match name {
        "MemoryAllocation" => return NameKind::Memory { allocates: true },
        "MemoryDeallocation" => return NameKind::Memory { allocates: false },
        "<UNKNOWN>" | "BUFFER_FLUSH" | "INSTRUMENTATION" | "RESOURCE" | "DRIVER_COMPILER" => {
            return NameKind::Overhead;
        }
        _ => {}
    }
    if name.starts_with("end: ") || name.starts_with("ThreadpoolListener::") {
        NameKind::Mark
    } else if name.starts_with('$') {
        NameKind::Python
    } else if name.starts_with("Profiled batch") {
        NameKind::Batch
    } else if is_call(name) {
        NameKind::Call
    } else if name.ends_with(":XLA GPU module") {
        NameKind::Module
    } else if is_framework(name) {
        NameKind::Framework
    } else if operator(name).is_some() {
        NameKind::Operator
    } else {
        NameKind::Range
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
    const BEGINNINGS: [&str; 29] = [
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
        "np.asarray(jax.Array)",
        "Wait for donation holds",
        "Wait for usage holds",
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
            ("end: dot.4", NameKind::Mark),
            ("ThreadpoolListener::StartRegion", NameKind::Mark),
            ("MemoryDeallocation", NameKind::Memory { allocates: false }),
            ("$jax_train.py:32 batch", NameKind::Python),
            ("mlp/matmul:_MklMatMul", NameKind::Operator),
            ("PyFunc:PyFunc", NameKind::Operator),
            ("cuGraphLaunch (CudaGraph:18)", NameKind::Call),
            ("hipModuleLaunchKernel", NameKind::Call),
            ("cuLaunchHostFunc", NameKind::Call),
            ("cudnn-conv.1", NameKind::Range),
            ("custom-call.1", NameKind::Range),
            ("BUFFER_FLUSH", NameKind::Overhead),
            ("jit_loss_fn:XLA GPU module", NameKind::Module),
            ("Iterator::Root", NameKind::Framework),
            ("ThenExecuteCallback:GetEvent", NameKind::Framework),
            ("PjitFunction(step)", NameKind::Framework),
            ("np.asarray(jax.Array)", NameKind::Framework),
            ("Profiled batch", NameKind::Batch),
            ("load_batch", NameKind::Range),
            ("HLO Transforms:jit_stage", NameKind::Range),
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
