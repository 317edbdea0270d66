//! What the categories of Kineto traces mean, from 2021 to today.

use stepscope_model::{FlowKind, Kind, PointKind};

/// The meaning of a slice by its category and name.
pub(super) fn kind_of(category: &str) -> Kind {
    match category {
        "cpu_op" | "Operator" | "cpu_op_async" => Kind::HostOp,
        // Written by us, of what JAX and TensorFlow record.
        "framework_call" => Kind::FrameworkCall,
        "user_annotation" | "cpu_user_annotation" => Kind::HostAnnotation,
        // The last two are VizTracer's and py-spy's.
        "python_function" | "PythonFunction" | "FEE" | "fee" | "py-spy" => Kind::PythonFunction,
        "cuda_runtime"
        | "Runtime"
        | "runtime"
        | "hip_runtime"
        | "xpu_runtime"
        | "mtia_runtime"
        | "privateuse1_runtime"
        | "glow_runtime" => Kind::Runtime,
        "cuda_driver" | "xpu_driver" | "privateuse1_driver" => Kind::Driver,
        "overhead" | "Overhead" => Kind::Overhead,
        "kernel" | "Kernel" | "concurrent_kernel" | "mtia_ccp_events" | "xpu_kernel" => Kind::Kernel,
        "gpu_memcpy" | "Memcpy" | "xpu_memcpy" => Kind::Memcpy,
        "gpu_memset" | "Memset" | "xpu_memset" => Kind::Memset,
        "gpu_user_annotation" | "mtia_user_annotation" | "xpu_user_annotation" => Kind::DeviceAnnotation,
        "cuda_sync" | "gpu_sync" | "xpu_sync" => Kind::DeviceSync,
        "collective_comm" => Kind::Collective,
        "Trace" => Kind::Span,
        _ => Kind::Other,
    }
}

/// The meaning of an arrow by its category.
pub(super) fn flow_kind_of(category: &str) -> FlowKind {
    match category {
        "fwdbwd" => FlowKind::ForwardBackward,
        "ac2g" => FlowKind::Launch,
        _ => FlowKind::Other,
    }
}

/// The meaning of an event without a length by its phase.
pub(super) fn point_kind_of(phase: u8) -> PointKind {
    match phase {
        b'i' => PointKind::Instant,
        b'C' => PointKind::Counter,
        b'M' => PointKind::Metadata,
        other => PointKind::Other(other),
    }
}

/// Until 2022 ranges shared the operators' category; the profiler's own step marks are recognized by name.
pub(super) fn is_step(name: &str) -> bool {
    name.starts_with("ProfilerStep#")
}

/// Name and overload of an operator recorded with its overload: `aten::add.Tensor`.
pub(super) fn split_overload(name: &str) -> Option<(&str, &str)> {
    let (base, overload) = name.rsplit_once('.')?;
    let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let (space, op) = base.split_once("::")?;
    (word(space) && word(op) && word(overload)).then_some((base, overload))
}

/// The number in a stream's text (`stream 7`), as older files write it.
pub(super) fn stream_number(text: &str) -> Option<i64> {
    text.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloads_are_told_from_other_dots() {
        assert_eq!(split_overload("aten::add_.Tensor"), Some(("aten::add_", "Tensor")));
        assert_eq!(split_overload("my_lib::op.out"), Some(("my_lib::op", "out")));
        for name in ["aten::mm", "Optimizer.step#AdamW.step", "a::b.c d", "std::x<1.5>", "aten::.x", "v1.2"] {
            assert_eq!(split_overload(name), None, "{name}");
        }
    }
}
