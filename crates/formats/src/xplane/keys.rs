//! What the names of stats mean.

use stepscope_model::{ArgValue, Attr, Decimal, StrId, TraceBuilder};

use crate::argument_keys::declare_keys;

/// What a stat says about its event, beyond being kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Ties device work to the call that launched it.
    Correlation,
    StepNumber,
    /// Whether the event is the root of a group.
    Root,
    /// The kind of an arrow that begins here.
    ProducerKind,
    Producer,
    /// The kind of an arrow that ends here.
    ConsumerKind,
    Consumer,
    /// The instruction of a compiled program.
    Instruction,
    /// How a kernel was launched, as one text.
    KernelDetails,
    /// What a copy moved, as one text.
    CopyDetails,
    /// What a memset wrote, as one text.
    FillDetails,
    Allocator,
    /// Bytes an allocation took.
    AllocationBytes,
    /// A range around TensorFlow's own calls.
    TensorFlow,
    /// A region or a step that our own recorder marked.
    Ours,
    /// The system's number of the thread, which our own recorder marked.
    Thread,
    /// The path of an operator, or the name of a dataset.
    Name,
    Plain,
}

/// What a stat of this name says.
pub(super) fn role(name: &str) -> Role {
    match name {
        "correlation_id" => Role::Correlation,
        "step_num" => Role::StepNumber,
        "_r" => Role::Root,
        "_pt" => Role::ProducerKind,
        "_p" => Role::Producer,
        "_ct" => Role::ConsumerKind,
        "_c" => Role::Consumer,
        "hlo_op" => Role::Instruction,
        "kernel_details" => Role::KernelDetails,
        "memcpy_details" => Role::CopyDetails,
        "memset_details" => Role::FillDetails,
        "allocator_name" => Role::Allocator,
        "allocation_bytes" => Role::AllocationBytes,
        "tf_function_call" | "eager_op" => Role::TensorFlow,
        "stepscope" => Role::Ours,
        "stepscope_thread" => Role::Thread,
        "name" => Role::Name,
        _ => Role::Plain,
    }
}

/// What the keys of other traces are under which the same things are kept here, so that a trace can be written as JSON
/// and read again.
fn key_of(name: &str) -> &str {
    match name {
        "correlation_id" => "correlation",
        "cuda_graph_id" => "graph id",
        "cuda_graph_node_id" => "graph node id",
        "addr" => "Addr",
        "bytes_allocated" => "Total Allocated",
        other => other,
    }
}

/// What the keys mean under which stats are kept.
const KEY_ATTRIBUTES: [(&str, Attr); 28] = [
    ("hlo_op", Attr::Instruction),
    ("program_id", Attr::Program),
    ("parallelism", Attr::Parallelism),
    ("autotune", Attr::Autotuned),
    ("buffered_elements", Attr::BufferedElements),
    ("tracing_count", Attr::TracingCount),
    ("hlo_module", Attr::ProgramName),
    ("run_id", Attr::Run),
    ("tf_function_call", Attr::FunctionCall),
    ("recorded name", Attr::RecordedName),
    ("_r", Attr::Root),
    ("step_num", Attr::StepNumber),
    ("id", Attr::GraphRun),
    ("iter_num", Attr::Iteration),
    ("_a", Attr::Asynchronous),
    ("_pt", Attr::ProducerKind),
    ("_p", Attr::Producer),
    ("_ct", Attr::ConsumerKind),
    ("_c", Attr::Consumer),
    ("_ipl_stage_name", Attr::InputStage),
    ("tf_op", Attr::FrameworkOp),
    ("allocator_name", Attr::Allocator),
    ("bytes_reserved", Attr::StackBytes),
    ("bytes_available", Attr::FreeBytes),
    ("peak_bytes_in_use", Attr::PeakBytes),
    ("fragmentation", Attr::Fragmentation),
    ("op path", Attr::OpPath),
    ("theoretical occupancy %", Attr::TheoreticalOccupancy),
];

/// Tells a builder what these keys mean; before the first event.
pub(crate) fn declare(builder: &mut TraceBuilder) {
    for (key, attr) in KEY_ATTRIBUTES {
        builder.key(key, attr);
    }
}

/// Keys of what is taken out of the texts in which details are written, and of what names are changed to.
pub(super) struct Keys {
    pub(super) recorded_name: StrId,
    pub(super) grid: StrId,
    pub(super) block: StrId,
    pub(super) registers: StrId,
    pub(super) shared: StrId,
    pub(super) private: StrId,
    pub(super) bytes: StrId,
    pub(super) from: StrId,
    pub(super) to: StrId,
    pub(super) allocated: StrId,
    pub(super) external: StrId,
    pub(super) device: StrId,
    pub(super) device_kind: StrId,
    pub(super) op_path: StrId,
    pub(super) occupancy: StrId,
}

impl Keys {
    /// Tells the builder what keys mean; before the first event.
    pub(super) fn declare(builder: &mut TraceBuilder) -> Keys {
        declare_keys(builder);
        declare(builder);
        Keys {
            recorded_name: builder.intern("recorded name"),
            grid: builder.intern("grid"),
            block: builder.intern("block"),
            registers: builder.intern("registers per thread"),
            shared: builder.intern("shared memory"),
            private: builder.intern("private memory"),
            bytes: builder.intern("bytes"),
            from: builder.intern("from"),
            to: builder.intern("to"),
            allocated: builder.intern("Bytes"),
            external: builder.intern("External id"),
            device: builder.intern("Device Id"),
            device_kind: builder.intern("Device Type"),
            op_path: builder.intern("op path"),
            occupancy: builder.intern("theoretical occupancy %"),
        }
    }
}

/// The key under which a stat is kept.
pub(super) fn key(builder: &mut TraceBuilder, name: &str) -> StrId {
    builder.intern(key_of(name))
}

/// A float as digits; none if it is not a number or has too many of them.
pub(super) fn decimal(value: f64) -> Option<ArgValue> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    let scale = u8::try_from(fraction.len()).ok()?;
    Some(ArgValue::Decimal(Decimal { mantissa, scale }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_digits() {
        let of = |value| match decimal(value) {
            Some(ArgValue::Decimal(Decimal { mantissa, scale })) => Some((mantissa, scale)),
            _ => None,
        };
        assert_eq!(of(6.25), Some((625, 2)));
        assert_eq!(of(-0.5), Some((-5, 1)));
        assert_eq!(of(100.0), Some((100, 0)));
        assert_eq!(of(f64::NAN), None);
        assert_eq!(of(1e300), None);
    }
}
