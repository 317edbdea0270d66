//! The shape of the answer.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Distributed, ProfilerOptions};

use super::LaneInfo;

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunInfo {
    /// The path as given.
    pub path: String,
    /// What the content turned out to be.
    pub format: String,
    pub stored_bytes: u64,
    /// Bytes of text after decompression.
    pub text_bytes: u64,
    /// The worker, from a TensorBoard-style file name.
    pub worker: Option<String>,
    /// The span, from a TensorBoard-style file name.
    pub span: Option<String>,
    /// The framework, if the file shows it.
    pub framework: Option<String>,
    /// Its version, if the file says.
    pub framework_version: Option<String>,
    /// Other versions the file gives (`cuda_runtime_version`, …), in file order.
    pub versions: Vec<(String, String)>,
    /// Devices as the profiler described them.
    pub devices: Vec<DeviceInfo>,
    /// Place in a distributed job, if any.
    pub distributed: Option<Distributed>,
    /// What the profiler was asked to record.
    pub options: ProfilerOptions,
    /// Nanoseconds since the Unix epoch at which the file's clock starts, if the file says.
    pub base_ns: Option<i64>,
    /// The trace's first event on the file's clock; all times count from it.
    pub origin_ns: i64,
    /// Earliest start of any slice but recording windows.
    pub first_ns: Option<i64>,
    /// Latest end of any slice but recording windows.
    pub last_ns: Option<i64>,
    pub extent_ns: i64,
    pub recordings: Vec<RecordingInfo>,
    /// Names of the profiler's steps in order of time, each once.
    pub steps: Vec<String>,
    /// Slices and points by category and meaning, sorted.
    pub categories: Vec<CategoryInfo>,
    /// Host processes with slices.
    pub processes: u64,
    /// Host threads with slices.
    pub threads: u64,
    /// Device streams with work.
    pub streams: u64,
    /// Every lane: host first, in order of process and thread.
    pub lanes: Vec<LaneInfo>,
    /// What was kept, repaired and set aside, the gravest first.
    pub notes: Vec<NoteInfo>,
    /// Whether everything in the file is accounted for.
    pub ledger: EventsLedger,
    /// Bytes held in memory.
    pub heap_bytes: u64,
    /// The same by slice, point and flow end; `None` without any.
    pub bytes_per_event: Option<f64>,
}

/// A device as the profiler described it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceInfo {
    /// Its number on its host.
    pub index: i64,
    pub name: String,
    pub total_memory_bytes: Option<i64>,
    /// Compute capability (`9.0`).
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors or compute units.
    pub sms: Option<i64>,
    /// Threads in a warp or wavefront.
    pub warp_size: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordingInfo {
    pub name: String,
    pub start_ns: i64,
    pub dur_ns: i64,
}

/// How many events of one category there are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct CategoryInfo {
    /// As the file spells it.
    pub category: String,
    /// What it means: a kind of slice, or `point`.
    pub kind: &'static str,
    pub count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoteInfo {
    pub code: &'static str,
    /// `lost`, `repaired` or `info`.
    pub severity: &'static str,
    pub count: u64,
    pub sentence: &'static str,
    /// Byte offsets in the text of the first few.
    pub offsets: Vec<u64>,
    /// What was seen at the first of them.
    pub detail: String,
}

/// Whether everything in the file is accounted for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventsLedger {
    /// Events found in the file.
    pub events_in_file: u64,
    /// Kept with a length.
    pub slices: u64,
    /// Begin and end events joined into one slice each: one event more than slices per pair.
    pub joined_pairs: u64,
    /// Kept without a length.
    pub points: u64,
    /// Ends of arrows kept.
    pub flows: u64,
    /// Not kept; the notes say why.
    pub set_aside: u64,
    /// Bytes between events that belong to no event.
    pub skipped_bytes: u64,
    /// Whether the parts add up to the events in the file.
    pub closes: bool,
}
