//! Operators: PyTorch's `key_averages()`, from the file alone.
//!
//! Every call of an operator on any thread goes to one row by its name (and shapes, stack or overload). Host time
//! is wall time on the thread; self time leaves out everything called from there, runtime calls and the profiler's
//! own pauses included. Device time is the work that carries the operator's id. Named ranges (`record_function`,
//! `ProfilerStep*`) are answered apart from operators, and the shadows they cast on the device are never counted
//! as device time.
//!
//! It refuses to guess: device work without an operator's id is counted in the ledger, not given away, unless
//! [`Attribution::Launch`] is asked for.

mod definitions;
pub(crate) mod device;
mod extra;
pub(crate) mod names;
mod rows;
mod stacks;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Trace;

pub use definitions::{DEFINITIONS, TOTALS};

use crate::scope::selection::Selection;

/// What makes two calls the same row.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpGroup {
    #[default]
    Name,
    /// The name and the shapes of all inputs, a list of tensors counting as `[]`: PyTorch's rule.
    Shapes,
    /// The name and the shapes of all inputs, those inside lists of tensors too: `cat` of two is not `cat` of five.
    ShapesWithLists,
    /// The name and this many Python frames, from the innermost.
    Stack(usize),
    /// The name and the overload (`add.Tensor`), where the file has it.
    Overload,
}

/// Whose device time it is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The operator the device work names by its `External id`: PyTorch's rule.
    #[default]
    PyTorch,
    /// As before; and where it names none, the innermost operator or range around the call that launched it.
    /// Kernels of CUDA graphs and of files without ids find an owner so.
    Launch,
}

/// On which thread a runtime call is that names no operator.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StrayCalls {
    /// The main thread: PyTorch's rule. A data loader's pinning thread then takes its time from whatever the main
    /// thread did meanwhile, down to self times below zero.
    #[default]
    MainThread,
    OwnThread,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpsQuery {
    pub by: OpGroup,
    /// Which part of the trace counts.
    pub selection: Selection,
    /// Whose device time it is.
    pub attribution: Attribution,
    /// On which thread runtime calls without an operator stand.
    pub stray_calls: StrayCalls,
}

/// What a row is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    Op,
    Annotation,
    Runtime,
    Driver,
    /// The profiler's own time.
    Overhead,
    Kernel,
    Memcpy,
    Memset,
    /// Allocations outside of everything else.
    Memory,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpRow {
    /// The name; steps share `ProfilerStep*`.
    pub name: String,
    /// The shapes of the inputs, if asked for.
    pub input_shapes: Option<String>,
    /// Python frames from the innermost, if asked for.
    pub stack: Option<Vec<String>>,
    /// The overload, if asked for and known.
    pub overload: Option<String>,
    pub kind: OpKind,
    /// Calls, with those folded into their caller of the same name left out.
    pub calls: u64,
    /// Host time from start to end, over all calls.
    pub host_total_ns: i64,
    /// Host time less that of everything called directly.
    pub host_self_ns: i64,
    pub device_total_ns: i64,
    /// Device time of the calls themselves.
    pub device_self_ns: i64,
    /// Host total of one call, on average.
    pub host_mean_ns: f64,
    /// Device total of one call, on average.
    pub device_mean_ns: f64,
    /// Half of the calls take no longer on the host; none for rows of device work.
    pub host_p50_ns: Option<i64>,
    /// 95% of the calls take no longer.
    pub host_p95_ns: Option<i64>,
    /// 99% of the calls take no longer.
    pub host_p99_ns: Option<i64>,
    /// The longest call on the host.
    pub host_max_ns: Option<i64>,
    /// Standard deviation of the calls' host times / their mean.
    pub host_cv: Option<f64>,
    /// Host bytes allocated less those freed while the calls ran, on any thread.
    pub host_memory_bytes: i64,
    /// The same less that of everything called directly.
    pub host_self_memory_bytes: i64,
    /// Device bytes allocated less those freed while the calls ran, on any thread.
    pub device_memory_bytes: i64,
    /// The same less that of everything called directly.
    pub device_self_memory_bytes: i64,
    /// Floating-point operations, where a formula is known.
    pub flops: u64,
    /// Can use tensor cores, or called something that can.
    pub tc_eligible: bool,
    /// The part of `device_self_ns` on tensor cores; none without device time.
    pub tc_self_share: Option<f64>,
    /// The part of `device_total_ns` on tensor cores; none without device time.
    pub tc_total_share: Option<f64>,
}

/// The answer. Rows are ordered by device self time, then host self time, then name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OpsReport {
    pub ops: Vec<OpRow>,
    pub annotations: Vec<OpRow>,
    /// Runtime and driver calls, and the profiler's own pauses.
    pub calls: Vec<OpRow>,
    /// Kernels, copies and memsets by name.
    pub device: Vec<OpRow>,
    /// Allocations at moments at which nothing above ran.
    pub memory_outside: Option<OpRow>,
    /// Host self time of operators, ranges, calls and pauses together.
    pub total_host_self_ns: i64,
    /// Device time of all kernels, copies and memsets, each once. The next four add up to it.
    pub total_device_self_ns: i64,
    /// Of that, in the operators' self times.
    pub device_time_in_ops_ns: i64,
    /// Of that, in the ranges' self times.
    pub device_time_in_annotations_ns: i64,
    /// Of that, without an operator.
    pub device_time_unlinked_ns: i64,
    /// Of that, belonging to an operator that has no row here: one that began outside of the selection.
    pub device_time_elsewhere_ns: i64,
    /// Device time that passed while other work ran on the same device: by so much the sum exceeds busy time.
    pub device_time_overlap_ns: i64,
    /// Device time that only the launching call ties to an operator. [`Attribution::Launch`] counts it there;
    /// otherwise it is part of the unlinked time.
    pub device_time_by_launch_ns: i64,
    pub folded_calls: u64,
}

pub fn ops(trace: &Trace, query: &OpsQuery) -> OpsReport {
    rows::report(trace, query)
}
