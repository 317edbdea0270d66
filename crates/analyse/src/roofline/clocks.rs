//! How much slower a GPU runs in a long run than in a short recording.
//!
//! Dense matrix work draws more power than a GPU may use for long: after some 30 ms its clocks go down. A recording of a few
//! short steps shows the clocks before that. A fix that leaves the GPU with denser work therefore saves less in a long
//! run than in the recording. A heuristic, fitted to 80 programs timed on an H200 over 0.2 s per turn: those that reach
//! over 60% of the peak run 12% slower than they were recorded, those below 33% no slower. Devices other than Hopper's
//! were not measured, and none is assumed to slow down.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use stepscope_model::{Kind, SliceId, Trace};

use super::costs::{NoCost, OpCosts};
use super::hardware::Devices;
use super::number::{Pipe, Precision};
use crate::names::by_name::ByName;
use crate::names::tensor_core::kernel_uses_tensor_cores;
use crate::scope::selection::device_of;

/// Shares of the peak, over a whole step, between which a GPU gets slower, and by how much at most.
const SLOWDOWN_FROM_SHARE: f64 = 0.33;
const SLOWDOWN_TO_SHARE: f64 = 0.60;
const MAX_SLOWDOWN: f64 = 0.12;
/// Device work until the clocks go down.
const FULL_CLOCK_NS: f64 = 30e6;
/// What a kernel on tensor cores reaches of the peak if its sizes are not recorded: products, and convolutions, which
/// reach less.
const PRODUCT_REACHES: f64 = 0.6;
const CONVOLUTION_REACHES: f64 = 0.4;
/// The compute capability of the devices that were measured.
const MEASURED_CAPABILITY: i64 = 9;

/// The matrix work of a recording, on devices that slow down.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// Kernels, how long they take, and what each reaches of its device's peak.
    kernels: Vec<(SliceId, i64, f64)>,
    devices: usize,
    steps: usize,
    /// How much of the recording is from before the clocks went down.
    before: f64,
}

impl Clocks {
    /// Looks at the matrix work of some steps.
    pub fn new(trace: &Trace, costs: &OpCosts, steps: usize) -> Clocks {
        let slices = trace.slices();
        let slows = |device: Option<i64>| {
            let described = trace.meta().described(device);
            described.and_then(|d| d.compute_major) == Some(MEASURED_CAPABILITY)
        };
        let mut clocks = Clocks { steps: steps.max(1), ..Clocks::default() };
        let mut devices: HashSet<Option<i64>, RandomState> = HashSet::default();
        let tensor = |p: Precision| !matches!(p, Precision::Fp64 | Precision::Fp32);
        for op in &costs.ops {
            let peak = op.hardware.and_then(|h| h.peak_tflops(op.precision, Pipe::Matrix));
            let (Some(peak), true) = (peak, op.cost.pipe == Pipe::Matrix && tensor(op.precision)) else {
                continue;
            };
            if !slows(op.device) || op.device_ns <= 0 {
                continue;
            }
            let reached = (op.cost.flops as f64 / (peak * 1e3) / op.device_ns as f64).min(1.0);
            devices.insert(op.device);
            let kernels = costs.kernels_of(op).iter();
            clocks.kernels.extend(kernels.map(|&kernel| (kernel, slices.dur(kernel).0, reached)));
        }
        let mut on_tensor_cores = ByName::new(trace, kernel_uses_tensor_cores);
        let mut convolves = ByName::new(trace, |name| CONVOLUTIONS.iter().any(|word| name.contains(word)));
        let mut known = Devices::new(trace);
        // What no operator launched here was launched by steps before the recording.
        for &(kernel, _, _) in costs.without.iter().filter(|without| without.2 != NoCost::NoOperator) {
            let (name, device) = (slices.name(kernel), device_of(trace, kernel));
            if slices.kind(kernel) == Kind::Kernel
                && on_tensor_cores.get(name)
                && slows(device)
                && known.get(device).is_some()
            {
                let reached = if convolves.get(name) { CONVOLUTION_REACHES } else { PRODUCT_REACHES };
                devices.insert(device);
                clocks.kernels.push((kernel, slices.dur(kernel).0, reached));
            }
        }
        clocks.devices = devices.len();
        let device_ns = costs.device_ns as f64 / clocks.devices.max(1) as f64;
        clocks.before = (FULL_CLOCK_NS / device_ns.max(1.0)).min(1.0);
        clocks
    }

    /// How many times as long steps of so many nanoseconds take in a long run, with the matrix work of these lengths.
    fn slowdown(&self, step_ns: i64, length: impl Fn(SliceId, i64) -> i64) -> f64 {
        let could = self.steps as f64 * self.devices as f64 * step_ns as f64;
        if could <= 0.0 {
            return 1.0;
        }
        let used: f64 =
            self.kernels.iter().map(|&(kernel, ns, reached)| length(kernel, ns) as f64 * reached).sum();
        1.0 + MAX_SLOWDOWN
            * self.before
            * ((used / could - SLOWDOWN_FROM_SHARE) / (SLOWDOWN_TO_SHARE - SLOWDOWN_FROM_SHARE)).clamp(0.0, 1.0)
    }

    /// How long a step of `after` nanoseconds with some work changed really takes, if the one without the change
    /// takes `before`: longer where the change leaves denser work.
    pub fn in_a_long_run(&self, before: i64, after: i64, length: impl Fn(SliceId, i64) -> i64) -> i64 {
        if self.kernels.is_empty() || after >= before {
            return after;
        }
        let slower = self.slowdown(after, length) / self.slowdown(before, |_, ns| ns);
        (after as f64 * slower.max(1.0)).min(before as f64) as i64
    }
}

/// Words in the names of kernels that convolve.
const CONVOLUTIONS: [&str; 6] = ["conv", "fprop", "dgrad", "wgrad", "winograd", "cudnn"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denser_work_runs_slower_for_long() {
        let kernel = SliceId::from_index(0);
        let clocks = Clocks { kernels: vec![(kernel, 10_000, 0.6)], devices: 1, steps: 2, before: 1.0 };
        let same = |_, ns| ns;
        // 3 µs at the peak of a step of 15 µs, later of 6 µs: a fifth of the peak, later half of it.
        let slower =
            1.0 + MAX_SLOWDOWN * (0.5 - SLOWDOWN_FROM_SHARE) / (SLOWDOWN_TO_SHARE - SLOWDOWN_FROM_SHARE);
        assert_eq!(clocks.in_a_long_run(15_000, 6_000, same), (6_000.0 * slower) as i64);
        // As dense as it was: no slower.
        assert_eq!(clocks.in_a_long_run(6_000, 3_000, |_, ns| ns / 2), 3_000);
        // Never slower than without the change, and never faster than replayed.
        assert!((5_991..=6_000).contains(&clocks.in_a_long_run(6_000, 5_990, same)));
        assert_eq!(clocks.in_a_long_run(6_000, 7_000, same), 7_000);
        assert_eq!(Clocks::default().in_a_long_run(15_000, 6_000, same), 6_000);
    }
}
