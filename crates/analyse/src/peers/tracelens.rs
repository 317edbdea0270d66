//! What each device did: computed, communicated, copied, or nothing.
//!
//! Two peers' views of the same slices under their own names: [`device_timeline`] follows TraceLens' gpu_timeline,
//! [`temporal_breakdown`] HTA's. Both differ from theirs in one thing: by default no device work is left out.
//! TraceLens leaves out what no recorded call launched ([`TimelineOptions::linked_only`]).

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Ns, Trace};

use crate::devices::busy::Work;
pub use crate::devices::busy::WorkOptions as TimelineOptions;
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::exclusive;
use crate::steps::Steps;

/// What the numbers of a timeline mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "computation_ns", "Computation" =>
        "Time during which a kernel other than communication, or a memset, ran on the device.";
    "exposed_comm_ns", "Exposed comm" => "Time during which a communication kernel ran and no computation did.";
    "exposed_memcpy_ns", "Exposed memcpy" => "Time during which a copy ran and neither computation nor communication did.";
    "busy_ns", "Busy" =>
        "Time during which any kernel, copy or memset ran; computation, exposed communication and exposed memcpy add up to \
         it.";
    "idle_ns", "Idle" => "Total less busy: the time during which nothing ran on the device.";
    "total_ns", "Total" =>
        "From the start of the device's first kernel, copy or memset to the end of its last; for a step, the step's wall \
         time.";
    "total_comm_ns", "Total comm" => "Time during which a communication kernel ran, hidden or not.";
    "total_memcpy_ns", "Total memcpy" => "Time during which a copy ran, hidden or not.";
    "slices", "Device work" => "How many of the device's kernels, copies and memsets are counted, in the whole trace.";
    "unlinked", "Unlinked" =>
        "How many of the device's slices have no recorded launching call, counted or not, in the whole trace.";
};

/// One device's time, or that of all devices together.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TimelineRow {
    /// The device; `None` for all together.
    pub device: Option<i64>,
    /// Where the total begins, since the trace's first event.
    pub start_ns: i64,
    /// Kernels that compute, and fills.
    pub computation_ns: i64,
    /// Communication that no computation hides.
    pub exposed_comm_ns: i64,
    /// Copies that nothing hides.
    pub exposed_memcpy_ns: i64,
    pub busy_ns: i64,
    pub idle_ns: i64,
    pub total_ns: i64,
    /// Communication, hidden or not.
    pub total_comm_ns: i64,
    /// Copies, hidden or not.
    pub total_memcpy_ns: i64,
    pub slices: u64,
    /// Slices without a recorded launching call, counted or not.
    pub unlinked: u64,
}

/// The time of each device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceTimeline {
    /// One row per device, by number.
    pub rows: Vec<TimelineRow>,
    /// All devices as if they were one; `None` without device work.
    pub all: Option<TimelineRow>,
    /// Whether device work without a recorded launching call was left out.
    pub linked_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepTimeline {
    /// The step's number; -1 for a whole trace.
    pub step: i64,
    pub name: String,
    /// One row per device, by number. Slices are clipped to the step; counts are of the whole trace.
    pub rows: Vec<TimelineRow>,
}

/// One device's time as HTA's temporal breakdown names it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TemporalRow {
    pub device: Option<i64>,
    pub idle_ns: i64,
    pub compute_ns: i64,
    /// Other work that no compute kernel hides.
    pub non_compute_ns: i64,
    pub kernel_time_ns: i64,
}

/// The time of each device over its whole reach.
pub fn device_timeline(trace: &Trace, options: &TimelineOptions) -> DeviceTimeline {
    let devices = Work::of_devices(trace, options);
    let row = |work: &Work| rows_in(work, &[work.reach?]).first().copied();
    let rows: Vec<TimelineRow> = devices.iter().filter_map(row).collect();
    let all = match devices.len() {
        1 => rows.first().map(|row| TimelineRow { device: None, ..*row }),
        _ => row(&Work::together(&devices)),
    };
    DeviceTimeline { rows, all, linked_only: options.linked_only }
}

/// The time of each device in each step.
pub fn timeline_of_steps(trace: &Trace, steps: &Steps, options: &TimelineOptions) -> Vec<StepTimeline> {
    let windows = steps.windows();
    let of_devices: Vec<_> = Work::of_devices(trace, options).iter().map(|w| rows_in(w, &windows)).collect();
    let of_step = |i: usize| of_devices.iter().map(|rows| rows[i]).collect();
    let rows = steps.steps.iter().enumerate();
    rows.map(|(i, s)| StepTimeline { step: s.step, name: s.name.clone(), rows: of_step(i) }).collect()
}

/// HTA's temporal breakdown of each device.
pub fn temporal_breakdown(trace: &Trace, options: &TimelineOptions) -> Vec<TemporalRow> {
    Work::of_devices(trace, options).iter().filter_map(temporal).collect()
}

fn rows_in(work: &Work, windows: &[(Ns, Ns)]) -> Vec<TimelineRow> {
    let (comm, copies) = (work.comm.lengths_in(windows), work.copies.lengths_in(windows));
    let shares = exclusive(windows, [&work.kernels, &work.fills, &work.comm, &work.copies]);
    let rows = windows.iter().zip(shares).zip(comm.into_iter().zip(copies));
    rows.map(|((window, ([kernels, fills, comm, memcpy], idle)), (total_comm, total_memcpy))| TimelineRow {
        device: work.device,
        start_ns: window.0.0,
        // Fills outside of kernels complete the union of the two.
        computation_ns: (kernels + fills).0,
        exposed_comm_ns: comm.0,
        exposed_memcpy_ns: memcpy.0,
        busy_ns: (kernels + fills + comm + memcpy).0,
        idle_ns: idle.0,
        total_ns: (window.1 - window.0).0,
        total_comm_ns: total_comm.0,
        total_memcpy_ns: total_memcpy.0,
        slices: work.slices,
        unlinked: work.unlinked,
    })
    .collect()
}

fn temporal(work: &Work) -> Option<TemporalRow> {
    let reach = work.reach?;
    let shares = exclusive(&[reach], [&work.kernels, &work.fills, &work.comm, &work.copies]);
    let &([compute, fills, comm, copies], idle) = shares.first()?;
    Some(TemporalRow {
        device: work.device,
        idle_ns: idle.0,
        compute_ns: compute.0,
        non_compute_ns: (fills + comm + copies).0,
        kernel_time_ns: (reach.1 - reach.0).0,
    })
}
