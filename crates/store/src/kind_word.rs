//! The words for what a slice means.

use stepscope_model::Kind;

/// The word of a kind in a table.
pub(crate) fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::HostOp => "host_op",
        Kind::HostAnnotation => "host_annotation",
        Kind::FrameworkCall => "framework_call",
        Kind::PythonFunction => "python_function",
        Kind::Runtime => "runtime",
        Kind::Driver => "driver",
        Kind::Overhead => "overhead",
        Kind::Kernel => "kernel",
        Kind::Memcpy => "memcpy",
        Kind::Memset => "memset",
        Kind::DeviceAnnotation => "device_annotation",
        Kind::DeviceSync => "device_sync",
        Kind::Collective => "collective",
        Kind::Span => "span",
        Kind::Other => "other",
    }
}
