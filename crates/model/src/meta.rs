//! What a file says about its run: devices, ranks, options, versions.

use crate::ProgramPhases;

/// A device as the profiler described it. Numbers the producer did not give are `None`, never guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Device {
    /// The device's number on its host.
    pub index: i64,
    pub name: String,
    pub total_memory_bytes: Option<i64>,
    /// Compute capability, major.
    pub compute_major: Option<i64>,
    /// Compute capability, minor.
    pub compute_minor: Option<i64>,
    /// Streaming multiprocessors or compute units.
    pub sms: Option<i64>,
    /// Threads in a warp or wavefront.
    pub warp_size: Option<i64>,
    /// Most threads one multiprocessor holds.
    pub max_threads_per_sm: Option<i64>,
    /// Most threads in one block.
    pub max_threads_per_block: Option<i64>,
    /// Registers of one multiprocessor.
    pub registers_per_sm: Option<i64>,
    /// Shared memory of one multiprocessor in bytes.
    pub shared_memory_per_sm_bytes: Option<i64>,
}

/// The run's place in a distributed job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Distributed {
    /// The communication library (`nccl`, `gloo`).
    pub backend: Option<String>,
    /// This process's rank.
    pub rank: Option<i64>,
    /// How many ranks there are.
    pub world_size: Option<i64>,
    pub nccl_version: Option<String>,
}

/// What the profiler was asked to record. `None`: the file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct ProfilerOptions {
    /// Input shapes.
    pub record_shapes: Option<bool>,
    /// Python stacks.
    pub with_stack: Option<bool>,
    /// Allocations.
    pub profile_memory: Option<bool>,
    /// FLOP counts.
    pub with_flops: Option<bool>,
    /// Module hierarchy.
    pub with_modules: Option<bool>,
}

/// Where the trace came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Source {
    /// The path as given, or `-`.
    pub path: String,
    /// What the content turned out to be, and how it was packed.
    pub format: String,
    /// Bytes read, as stored.
    pub stored_bytes: u64,
    /// Bytes of text after decompression.
    pub text_bytes: u64,
    /// The worker, from a TensorBoard-style file name.
    pub worker: Option<String>,
    /// The span, from a TensorBoard-style file name.
    pub span: Option<String>,
}

/// What ran: its profiler wrote the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Framework {
    /// Its name (`JAX`).
    pub name: String,
    /// Its version, if the file says.
    pub version: Option<String>,
}

/// Steps that ran before the recording, while no profiler was attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BareSteps {
    /// What each took on the host, in order.
    pub host_ns: Vec<i64>,
    /// What one took on the device, on average.
    pub device_ns: Option<i64>,
}

/// A change to the program of a trace, whose saving `stepscope try` has measured.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct TriedFix {
    /// Its name, as rules know it.
    pub name: String,
    /// The mean iteration without the change.
    pub without_ns: i64,
    /// The mean iteration with it.
    pub with_ns: i64,
    /// What it saves as a share of an iteration.
    pub saves_share: f64,
    /// From where to where that may lie.
    pub saves_interval: Option<(f64, f64)>,
    /// `faster`, `slower`, `no_difference` or `inconclusive`.
    pub verdict: String,
    /// What it does to results: `same`, `within_noise`, `differs`, `not_a_number` or `unknown`.
    pub numbers: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Meta {
    /// Where the trace came from.
    pub source: Source,
    /// What ran, if the file says so itself.
    pub framework: Option<Framework>,
    /// Nanoseconds since the Unix epoch at which the trace's times start, if the file says.
    pub base_ns: Option<i64>,
    pub devices: Vec<Device>,
    /// Place in a distributed job, if any.
    pub distributed: Option<Distributed>,
    pub options: ProfilerOptions,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub bare_steps: Option<BareSteps>,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub phases: Option<ProgramPhases>,
    /// What else the producer wrote about the run, by name and as text, in file order.
    pub extra: Vec<(String, String)>,
    /// Events found in the file: slices, points, flows and what was set aside.
    pub events_in_file: u64,
    /// Events found but not kept; the notes say why.
    pub events_set_aside: u64,
    /// Begin and end events that were joined into slices (two events each).
    pub joined_pairs: u64,
    /// Bytes between events that belong to no event.
    pub skipped_bytes: u64,
}

impl Meta {
    /// What the producer wrote under this name, as text.
    pub fn extra(&self, name: &str) -> Option<&str> {
        self.extra.iter().rev().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    /// The described device with this number.
    pub fn device(&self, index: i64) -> Option<&Device> {
        self.devices.iter().find(|d| d.index == index)
    }

    /// The description of a device. A job that sees one device of many counts it from 0 where it describes it and from
    /// the host's count where it ran: if all described devices have one name, this one is like them.
    pub fn described(&self, device: Option<i64>) -> Option<&Device> {
        if let Some(described) = device.and_then(|device| self.device(device)) {
            return Some(described);
        }
        let first = self.devices.first()?;
        self.devices.iter().all(|d| d.name == first.name).then_some(first)
    }

    /// The name of a device, if it has one; see [`Meta::described`].
    pub fn device_name(&self, device: Option<i64>) -> Option<&str> {
        self.described(device).map(|described| described.name.trim()).filter(|name| !name.is_empty())
    }
}
