//! torch.compile: what runs compiled, where graphs break, what guards and compiling cost, and which code was generated.
//!
//! A compiled frame leaves a range around each of its calls. A frame that breaks goes on in another one, which is entered
//! inside of it, so a region inside of a region is a break of the graph.

mod definitions;
mod rows;
mod walk;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Trace;

use crate::scope::selection::Selection;
use crate::steps::Steps;

pub use definitions::DEFINITIONS;

/// A compiled frame in one version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CompiledRegion {
    /// Frame and version, `3/1`; `?` if the producer does not say.
    pub region: String,
    /// The function, where Python calls were recorded.
    pub function: Option<String>,
    /// How often it was entered.
    pub calls: u64,
    /// Of those, inside of another region.
    pub breaks: u64,
    pub host_ns: i64,
    /// Device time of what it launched.
    pub device_ns: i64,
    /// Time of its compiled backward pass on the host.
    pub backward_host_ns: i64,
    /// Device time of what that launched.
    pub backward_device_ns: i64,
    /// Kernels, copies and memsets, of both passes.
    pub device_slices: u64,
    /// How long compiling it took; none if that is not in the trace.
    pub compile_ns: Option<i64>,
}

/// An operator that ran without being compiled between compiled parts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EagerRow {
    pub name: String,
    pub calls: u64,
    /// How often in a step.
    pub calls_per_step: f64,
    /// Of the calls, inside of a region: where its graph breaks.
    pub in_regions: u64,
    pub host_ns: i64,
    /// Device time of what it launched.
    pub device_ns: i64,
}

/// A kernel that the compiler generated.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GeneratedRow {
    pub kernel: String,
    /// The region that runs it, where known; with `backward` behind it in the backward pass.
    pub region: Option<String>,
    pub backend: Option<String>,
    /// Sizes chosen for it.
    pub config: Option<String>,
    /// The file with its source.
    pub file: Option<String>,
    pub calls: u64,
    pub total_ns: i64,
    /// That of a call on average.
    pub mean_ns: f64,
    /// Its share of all device time.
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CompilePhase {
    pub phase: String,
    pub calls: u64,
    pub total_ns: i64,
    /// Its time without phases inside of it.
    pub self_ns: i64,
}

/// How torch.compile does as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Health {
    /// Steps that were looked at.
    pub steps: u64,
    /// Different regions that were entered.
    pub regions: u64,
    /// How often one was entered in a step.
    pub calls_per_step: f64,
    /// How often inside of another in a step.
    pub breaks_per_step: f64,
    /// Operators between compiled parts in a step.
    pub eager_per_step: f64,
    /// Host time in regions and compiled backward passes.
    pub host_ns: i64,
    /// Device time of what they launched.
    pub device_ns: i64,
    /// Its share of all device time; none without any.
    pub device_share: Option<f64>,
    /// How often compiled code was looked for.
    pub lookups: u64,
    pub lookup_ns: i64,
    /// Frames compiled within the trace.
    pub compiles: u64,
    /// Of those, frames that had been compiled before.
    pub recompiles: u64,
    pub compile_ns: i64,
}

/// What torch.compile left in a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Compiled {
    /// As a whole; none without any sign of torch.compile.
    pub health: Option<Health>,
    /// The regions, those with most time first.
    pub regions: Vec<CompiledRegion>,
    /// Operators between compiled parts, those with most time first.
    pub eager: Vec<EagerRow>,
    /// Generated kernels, those with most time first.
    pub generated: Vec<GeneratedRow>,
    /// Phases of the compiler, those with most time of their own first.
    pub phases: Vec<CompilePhase>,
}

/// Looks for torch.compile in a part of a trace.
pub fn compiled(trace: &Trace, steps: &Steps, selection: &Selection) -> Compiled {
    match walk::Walk::new(trace, selection) {
        Some(walk) => rows::report(trace, steps, selection, &walk),
        None => Compiled::default(),
    }
}
