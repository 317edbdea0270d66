//! How well each device is used: utilization, SM efficiency, occupancy, tensor cores, streams.
//!
//! The estimates rest on what the profiler wrote beside each kernel. Where it wrote nothing (ROCm), the number is
//! `None`, never a guess.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, LaneId, Ns, Tag, Trace};

use crate::devices::busy::device_lanes;
use crate::devices::clocks::{Clock, clocks};
use crate::devices::kernel_estimates::Estimates;
use crate::devices::kernel_kinds::KernelKinds;
use crate::names::tensor_core::TensorCores;
use crate::scope::definition::{Definition, definitions};
use crate::scope::intervals::Collector;
use crate::scope::share::known_share;
use crate::steps::Steps;

/// What the numbers of a device mean.
pub const DEFINITIONS: &[Definition] = definitions! {
    "window_ns", "Window" =>
        "From the start of the first step to the end of the last. All times and shares of a device and its streams count \
         only what lies inside it; slices that reach out are clipped.";
    "busy_ns", "Busy" => "Time in the window during which at least one kernel, copy or memset ran; overlaps count once.";
    "kernel_busy_ns", "Kernel busy" =>
        "Time in the window during which at least one kernel ran, communication included; overlaps count once.";
    "utilization", "Utilization" => "Kernel busy / window, as a fraction. It says that something ran, not how well.";
    "sm_efficiency", "SM efficiency" =>
        "The sum of \"blocks per SM\" over the kernels running at a moment, at most 1, averaged over the window, moments \
         without kernels included. An upper bound on the share of multiprocessors at work.";
    "sm_known_ns", "Blocks per SM known" =>
        "The part of kernel time in kernels that record their blocks per SM: what the SM efficiency is based on.";
    "occupancy", "Occupancy" =>
        "Warps that a launch keeps resident / the most that the multiprocessors hold, averaged over kernels, weighted by \
         their time in the window, as a fraction; not measured. The profiler's \"est. achieved occupancy %\"; where it \
         writes 0 because a block has over 48 KiB of shared memory, the same estimate from threads, registers, shared \
         memory, grid and the device's limits. Kernels for which neither is known are left out.";
    "occupancy_known_ns", "Occupancy known" =>
        "The part of kernel time in kernels whose occupancy is recorded or can be estimated: what the achieved occupancy \
         is based on.";
    "memory_bandwidth_share", "Memory bandwidth" =>
        "Measured: the recorded counter of the device's memory bandwidth in use (NVML's GPM), averaged over the window, as \
         a fraction of the most it can be. Unknown without such a counter; what operators must have moved is in \
         `roofline`.";
    "sm_clock_min_mhz", "Lowest clock" =>
        "The lowest clock of the multiprocessors in the window, in MHz, of the samples that a monitor recorded beside the \
         trace; none without any.";
    "sm_clock_mean_mhz", "Mean clock" =>
        "The mean of those samples, in MHz. Kernels take longer in proportion when a device lowers its clock.";
    "kernel_ns", "Kernel time" => "The sum of kernel durations in the window; overlapping kernels each count in full.";
    "kernels", "Kernels" => "How many kernels the stream ran in the whole trace, also outside the window.";
    "memcpy", "Copies" => "How many copies the stream ran in the whole trace, also outside the window.";
    "memset", "Memsets" => "How many memsets the stream ran in the whole trace, also outside the window.";
    "tensor_core_ns", "Tensor core time" =>
        "The part of kernel time in kernels whose names say that they use tensor cores.";
    "tensor_core_share", "Tensor core share" =>
        "Tensor core time / kernel time, as a fraction: the least it can be, since the names of some kernels do not say.";
    "tensor_core_unknown_ns", "Tensor cores unknown" =>
        "The part of kernel time in kernels whose names say neither that they use tensor cores nor that they do not: \
         Triton's products, and kernels written by hand.";
    "tensor_core_unknown_share", "Tensor cores unknown" =>
        "Time in kernels whose names do not say whether they use tensor cores / kernel time, as a fraction.";
    "eligible_ns", "Eligible time" =>
        "The part of kernel time launched by an operator that could use tensor cores at a lower precision (matrix \
         products, convolutions, …) or from inside one.";
    "eligible_share", "TC eligible" => "Eligible time / kernel time, as a fraction.";
};

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamUse {
    pub stream: Option<i64>,
    pub busy_ns: i64,
    pub kernel_busy_ns: i64,
    /// Kernel busy / window.
    pub utilization: Option<f64>,
    /// How many kernels, in the whole trace.
    pub kernels: u64,
    /// How many copies, in the whole trace.
    pub memcpy: u64,
    /// How many fills, in the whole trace.
    pub memset: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GpuRow {
    pub device: Option<i64>,
    /// Its product name, if the file says.
    pub name: Option<String>,
    /// The length of the window.
    pub window_ns: i64,
    pub busy_ns: i64,
    pub kernel_busy_ns: i64,
    /// Kernel busy / window.
    pub utilization: Option<f64>,
    /// Estimated share of multiprocessors at work; `None` if kernels do not say their blocks per SM.
    pub sm_efficiency: Option<f64>,
    /// Estimated achieved occupancy; `None` if kernels do not say.
    pub occupancy: Option<f64>,
    /// Tensor core time / kernel time, at the least; `None` without kernels.
    pub tensor_core_share: Option<f64>,
    /// The share of kernel time in kernels that may use tensor cores or not.
    pub tensor_core_unknown_share: Option<f64>,
    /// Eligible time / kernel time; `None` without kernels.
    pub eligible_share: Option<f64>,
    /// The share of its memory's bandwidth in use; `None` if no counter of it was recorded.
    pub memory_bandwidth_share: Option<f64>,
    /// The lowest clock of the multiprocessors; `None` where no monitor recorded it.
    pub sm_clock_min_mhz: Option<f64>,
    /// Their mean clock; `None` where no monitor recorded it.
    pub sm_clock_mean_mhz: Option<f64>,
    /// Sum of kernel durations.
    pub kernel_ns: i64,
    /// The part of it in tensor core kernels.
    pub tensor_core_ns: i64,
    /// The part of it in kernels whose names do not say.
    pub tensor_core_unknown_ns: i64,
    /// The part of it launched by operators that could use tensor cores.
    pub eligible_ns: i64,
    /// The part of it in kernels that say their blocks per SM: what the SM efficiency rests on.
    pub sm_known_ns: i64,
    /// The part of it in kernels that say their occupancy: what the occupancy rests on.
    pub occupancy_known_ns: i64,
    pub streams: Vec<StreamUse>,
}

/// How well each device is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct GpuReport {
    pub start_ns: i64,
    /// One row per device, by number.
    pub devices: Vec<GpuRow>,
}

/// How well each device is used from the first step to the last.
pub fn gpu(trace: &Trace, steps: &Steps) -> GpuReport {
    let devices = device_lanes(trace);
    let Some(window) = steps.window() else { return GpuReport::default() };
    let mut kernels = KernelKinds::new(trace);
    let clocks = clocks(trace, window);
    let rows = devices.into_iter().map(|(device, lanes)| {
        let clock = device.as_int().and_then(|device| clocks.get(&device)).copied();
        with_clock(row(trace, window, &mut kernels, device, &lanes), clock)
    });
    GpuReport { start_ns: window.0.0, devices: rows.filter(|row| !row.streams.is_empty()).collect() }
}

fn with_clock(row: GpuRow, clock: Option<Clock>) -> GpuRow {
    let (sm_clock_min_mhz, sm_clock_mean_mhz) = (clock.map(|c| c.min_mhz), clock.map(|c| c.mean_mhz));
    GpuRow { sm_clock_min_mhz, sm_clock_mean_mhz, ..row }
}

fn row(trace: &Trace, window: (Ns, Ns), kinds: &mut KernelKinds<'_>, device: Tag, lanes: &[LaneId]) -> GpuRow {
    let slices = trace.slices();
    let window_ns = window.1 - window.0;
    let [mut busy, mut kernel_busy]: [Collector; 2] = Default::default();
    let [mut kernel_ns, mut tensor_core_ns, mut unknown_ns, mut eligible_ns] = [Ns::ZERO; 4];
    let mut kernels = Vec::new();
    let mut streams = Vec::new();
    for &lane in lanes {
        let [mut stream_busy, mut stream_kernels]: [Collector; 2] = Default::default();
        let mut counts = [0; 3];
        for id in slices.of_lane(lane) {
            let kind = slices.kind(id);
            match kind {
                Kind::Kernel => counts[0] += 1,
                Kind::Memcpy => counts[1] += 1,
                Kind::Memset => counts[2] += 1,
                _ => continue,
            }
            let (start, end) = (slices.start(id).max(window.0), slices.end(id).min(window.1));
            if start >= end {
                continue;
            }
            stream_busy.add(start, end);
            busy.add(start, end);
            if kind == Kind::Kernel {
                let time = end - start;
                stream_kernels.add(start, end);
                kernel_busy.add(start, end);
                kernel_ns += time;
                let is = kinds.traits_of(id);
                match is.tensor_core {
                    TensorCores::Yes => tensor_core_ns += time,
                    TensorCores::Unknown => unknown_ns += time,
                    TensorCores::No => {}
                }
                eligible_ns += if is.eligible { time } else { Ns::ZERO };
                kernels.push((id, start, end));
            }
        }
        if counts == [0; 3] {
            continue;
        }
        let kernel_busy_ns = stream_kernels.finish().length();
        streams.push(StreamUse {
            stream: trace.lanes().get(lane).key.thread.as_int(),
            busy_ns: stream_busy.finish().length().0,
            kernel_busy_ns: kernel_busy_ns.0,
            utilization: known_share(kernel_busy_ns.0, window_ns.0),
            kernels: counts[0],
            memcpy: counts[1],
            memset: counts[2],
        });
    }
    let kernel_busy_ns = kernel_busy.finish().length();
    let estimates = Estimates::for_kernels(trace, &kinds.occupancy, &kernels, window_ns);
    let device = device.as_int();
    GpuRow {
        device,
        name: trace.meta().device_name(device).map(str::to_owned),
        window_ns: window_ns.0,
        busy_ns: busy.finish().length().0,
        kernel_busy_ns: kernel_busy_ns.0,
        utilization: known_share(kernel_busy_ns.0, window_ns.0),
        sm_efficiency: estimates.sm_efficiency,
        occupancy: estimates.occupancy,
        tensor_core_share: known_share(tensor_core_ns.0, kernel_ns.0),
        tensor_core_unknown_share: known_share(unknown_ns.0, kernel_ns.0),
        eligible_share: known_share(eligible_ns.0, kernel_ns.0),
        memory_bandwidth_share: kinds.memory.share(device, window),
        sm_clock_min_mhz: None,
        sm_clock_mean_mhz: None,
        kernel_ns: kernel_ns.0,
        tensor_core_ns: tensor_core_ns.0,
        tensor_core_unknown_ns: unknown_ns.0,
        eligible_ns: eligible_ns.0,
        sm_known_ns: estimates.sm_known.0,
        occupancy_known_ns: estimates.occupancy_known.0,
        streams,
    }
}
