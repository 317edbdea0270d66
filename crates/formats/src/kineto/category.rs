//! What the categories of Kineto traces mean, from 2021 to today.

use stepscope_model::Kind;

/// The meaning of a slice by its category and name.
pub(super) fn kind_of(category: &str) -> Kind {
    match category {
        "cpu_op" | "Operator" | "cpu_op_async" => Kind::HostOp,
        "user_annotation" | "cpu_user_annotation" => Kind::HostAnnotation,
        "python_function" | "PythonFunction" => Kind::PythonFunction,
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

/// Until 2022 ranges shared the operators' category; the profiler's own step marks are told by name.
pub(super) fn refine(kind: Kind, name: &str) -> Kind {
    if kind == Kind::HostOp && name.starts_with("ProfilerStep#") { Kind::HostAnnotation } else { kind }
}

/// The number in a stream's text (`stream 7`), as older files write it.
pub(super) fn stream_number(text: &str) -> Option<i64> {
    text.rsplit(' ').next()?.parse().ok()
}
