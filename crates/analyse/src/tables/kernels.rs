//! Kernels: which ones take the device's time, launched by which operator and in which form.
//!
//! Copies and memsets have their own answer in [`crate::devices::copies`]. Numbers the producer did not write (AMD's files
//! have no registers, blocks per SM or occupancy) are absent, never zero.

mod rows;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Trace;

use crate::devices::copies::{CALLS, MAX, MEAN, MIN, TOTAL};
use crate::names::tensor_core::TensorCores;
use crate::scope::definition::{Definition, definitions};
use crate::scope::selection::Selection;
use crate::tables::ops::Attribution;

/// What makes two kernels the same row, beside their name.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KernelGroup {
    /// The operator they belong to.
    pub op: bool,
    /// Grid, block, registers and shared memory.
    pub launch: bool,
    pub stream: bool,
}

impl KernelGroup {
    pub const NAME: KernelGroup = KernelGroup { op: false, launch: false, stream: false };
    /// By name, operator and form of launch.
    pub const LAUNCH: KernelGroup = KernelGroup { op: true, launch: true, stream: false };
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelsQuery {
    pub by: KernelGroup,
    /// Only kernels of the operator or range of this name.
    pub op: Option<String>,
    /// Which part of the trace counts.
    pub selection: Selection,
    /// How a kernel's operator is found.
    pub attribution: Attribution,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KernelRow {
    /// The name as the file has it; [`crate::names::kernel_name::short`] makes it readable.
    pub name: String,
    /// The operator, if asked for and known.
    pub op: Option<String>,
    /// Where the framework says it comes from (`jit(step)/mlp/dot_general`), if the file has its compiled program.
    pub op_path: Option<String>,
    /// The line of source code it comes from (`train.py:12`), if the file has its compiled program.
    pub source: Option<String>,
    /// Blocks of the grid, if asked for and known.
    pub grid: Option<String>,
    /// Threads of a block, if asked for and known.
    pub block: Option<String>,
    /// Registers of a thread, if asked for and known.
    pub registers: Option<i64>,
    /// Shared memory of a block, if asked for and known.
    pub shared_memory_bytes: Option<i64>,
    /// Devices it ran on, by number.
    pub devices: Vec<i64>,
    /// Streams it ran on, by number.
    pub streams: Vec<i64>,
    pub calls: u64,
    pub total_ns: i64,
    /// Time of a call on average.
    pub mean_ns: f64,
    /// Time of the shortest call.
    pub min_ns: i64,
    /// Time of the longest call.
    pub max_ns: i64,
    /// Half of the calls take no longer.
    pub p50_ns: i64,
    /// 95% of the calls take no longer.
    pub p95_ns: i64,
    /// 99% of the calls take no longer.
    pub p99_ns: i64,
    /// Standard deviation of the calls' times / their mean; none if that is zero.
    pub cv: Option<f64>,
    /// The part of all selected kernels' time.
    pub share: f64,
    /// Blocks per multiprocessor, a mean weighted by duration.
    pub blocks_per_sm: Option<f64>,
    /// Estimated achieved occupancy in percent, a mean weighted by duration.
    pub occupancy_percent: Option<f64>,
    /// Whether it uses tensor cores, recognized by its name.
    pub tensor_core: TensorCores,
}

/// The answer. Rows are ordered by total time, then calls, then name and the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct KernelsReport {
    pub rows: Vec<KernelRow>,
    /// Calls of all rows.
    pub calls: u64,
    /// Time of all rows: what `share` is a part of.
    pub total_ns: i64,
    /// Of that, in kernels that use tensor cores.
    pub tensor_core_ns: i64,
    /// Of that, in kernels whose names do not say whether they do.
    pub tensor_core_unknown_ns: i64,
    /// Of that, without an operator.
    pub unlinked_ns: i64,
}

pub fn kernels(trace: &Trace, query: &KernelsQuery) -> KernelsReport {
    rows::report(trace, query)
}

const P50: Definition = Definition {
    field: "p50_ns",
    label: "p50",
    text: "The median by nearest rank: the shortest duration of a call that at least half of the calls do not exceed.",
};

const P95: Definition = Definition {
    field: "p95_ns",
    label: "p95",
    text: "The shortest duration of a call that at least 95% of the calls do not exceed; with fewer than 20 calls, the \
           longest.",
};

/// All but the worst.
const P99: Definition = Definition {
    field: "p99_ns",
    label: "p99",
    text: "The shortest duration of a call that at least 99% of the calls do not exceed; with fewer than 100 calls, the \
           longest.",
};

const CV: Definition = Definition {
    field: "cv",
    label: "Variation",
    text: "Coefficient of variation: standard deviation of the calls' durations (over all of them, not a sample) / \
           their mean. 0 means that all calls take the same time.",
};

/// What the numbers of a row mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    CALLS;
    TOTAL;
    MEAN;
    MIN;
    MAX;
    P50;
    P95;
    P99;
    CV;
    "share", "% kernels" =>
        "Total / the total of all selected kernels (of one operator's, if asked for one), as a fraction. Copies and \
         memsets are in neither.";
    "devices", "Devices" => "The numbers of the devices it ran on, in order.";
    "streams", "Streams" => "The numbers of the streams it ran on, in order.";
    "registers", "Registers" => "Registers per thread, as recorded for the launch; only when rows are by launch.";
    "shared_memory_bytes", "Shared mem" =>
        "Bytes of shared memory per block, as recorded for the launch; only when rows are by launch.";
    "blocks_per_sm", "Blocks/SM" =>
        "Blocks of the launch divided by the device's multiprocessors, weighted by each call's duration. Under 1, some \
         multiprocessors had nothing to do.";
    "occupancy_percent", "Occupancy" =>
        "Warps that the launch keeps resident against the most the multiprocessors hold, from its threads, registers, \
         shared memory and grid; not measured. The profiler's estimate; where it writes 0 because a block has over 48 KiB \
         of shared memory, the same estimate made here. Weighted by each call's duration.";
    "tensor_core", "TC" =>
        "Whether the kernel uses tensor cores (or AMD's matrix cores), by its name: yes, no, or unknown where the name \
         does not say.";
};
