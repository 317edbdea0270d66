//! How well steps use the arithmetic they pay for.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Kind, Ns, SliceId, Trace};

use super::cost::Cost;
use super::costs::{OpCost, OpCosts};
use super::number::{Pipe, Precision};
use crate::names::by_name::ByName;
use crate::names::comm::is_comm_kernel;
use crate::names::tensor_core::multiplies_nothing;
use crate::scope::selection::Selection;
use crate::steps::Steps;

/// Coverage under which a utilization is a lower bound and is shown as one.
const MIN_COVERED_SHARE: f64 = 0.8;

/// One step's use of the devices' arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepUse {
    pub step: i64,
    /// Its wall time, device work included.
    pub wall_ns: i64,
    /// Whether the recording probably lacks device work of it.
    pub partial: bool,
    /// FLOPs of products, convolutions and attention, less what is recomputed.
    pub model_flops: u64,
    /// What fused attention and activation checkpointing compute again.
    pub recomputed_flops: u64,
    /// The arithmetic that has most of them.
    pub precision: Option<Precision>,
    /// Its peak on one device.
    pub peak_tflops: Option<f64>,
    /// Devices that ran any.
    pub devices: u64,
    /// Model FLOPs / what the devices could do in the wall time.
    pub mfu: Option<f64>,
    /// The same with the recomputed ones.
    pub hfu: Option<f64>,
    /// The share of kernel time whose FLOPs are known; `None` without kernels.
    pub coverage: Option<f64>,
    /// Whether so little is covered that both utilizations are lower bounds.
    pub lower_bound: bool,
}

/// All steps together, without partial ones.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MeanUse {
    /// The steps' MFU weighted by their wall time.
    pub mfu: Option<f64>,
    pub hfu: Option<f64>,
    /// The share of their kernel time whose FLOPs are known.
    pub coverage: Option<f64>,
    /// Whether so little is covered that both are lower bounds.
    pub lower_bound: bool,
}

/// Kernel time, and the part of it whose FLOPs are known.
#[derive(Copy, Clone, Default)]
struct KernelCoverage {
    known: i64,
    all: i64,
}

impl KernelCoverage {
    fn add(&mut self, other: KernelCoverage) {
        self.known = self.known.saturating_add(other.known);
        self.all = self.all.saturating_add(other.all);
    }

    fn share(self) -> Option<f64> {
        (self.all > 0).then(|| self.known as f64 / self.all as f64)
    }
}

/// Kernels by when the host asked for them. Communication is left out: it computes nothing.
fn coverage(trace: &Trace, costs: &OpCosts) -> Vec<(Ns, KernelCoverage)> {
    let slices = trace.slices();
    let mut communicates = ByName::new(trace, is_comm_kernel);
    let mut plain = ByName::new(trace, multiplies_nothing);
    let mut is_computation =
        |id: SliceId| slices.kind(id) == Kind::Kernel && !communicates.get(slices.name(id));
    let mut work = Vec::new();
    for op in &costs.ops {
        let kernels = costs.kernels_of(op).iter().filter(|&&id| is_computation(id));
        let all = kernels.fold(0i64, |sum, &id| sum.saturating_add(slices.dur(id).0));
        work.push((slices.start(op.slice), KernelCoverage { known: all, all }));
    }
    for &(id, op, _) in costs.without.iter().filter(|without| is_computation(without.0)) {
        let all = slices.dur(id).0;
        let known = if plain.get(slices.name(id)) { all } else { 0 };
        let asked = op.or_else(|| trace.links().launch(id)).unwrap_or(id);
        work.push((slices.start(asked), KernelCoverage { known, all }));
    }
    work.sort_by_key(|&(at, _)| at);
    work
}

/// The steps of a trace that are selected whole, and all of them together.
pub(super) fn step_use(trace: &Trace, selection: &Selection, costs: &OpCosts) -> (Vec<StepUse>, MeanUse) {
    let slices = trace.slices();
    let steps = Steps::find(trace);
    let matrix = costs.ops.iter().filter(|op| op.cost.pipe == Pipe::Matrix && op.cost.flops > 0);
    let mut ops: Vec<(Ns, &OpCost)> = matrix.map(|op| (slices.start(op.slice), op)).collect();
    ops.sort_by_key(|&(start, op)| (start, op.slice));
    let work = coverage(trace, costs);
    let mut uses = Vec::new();
    let (mut covered, mut wall_ns, mut mean_mfu, mut mean_hfu) = (KernelCoverage::default(), 0.0, 0.0, 0.0);
    for step in &steps.steps {
        let (start, end) = (Ns(step.host_start_ns), Ns(step.host_end_ns));
        let whole =
            selection.contains_time(start) && selection.contains_time(Ns(end.0.saturating_sub(1)).max(start));
        if !whole && !steps.synthetic {
            continue;
        }
        // The one step of a trace without any is closed: a call may start at its very end.
        let ops = within(&ops, start, end, steps.synthetic);
        let mut here = KernelCoverage::default();
        within(&work, start, end, steps.synthetic).iter().for_each(|(_, work)| here.add(*work));
        let wall = Ns(step.end_ns) - Ns(step.start_ns);
        let of = use_of(step.step, wall, step.partial, ops, here);
        if let (false, Some(mfu), Some(hfu)) = (of.partial, of.mfu, of.hfu) {
            covered.add(here);
            wall_ns += wall.0 as f64;
            mean_mfu += mfu * wall.0 as f64;
            mean_hfu += hfu * wall.0 as f64;
        }
        uses.push(of);
    }
    let mean = |sum: f64| (wall_ns > 0.0).then(|| sum / wall_ns);
    let coverage = covered.share();
    let lower_bound = is_low(coverage);
    (uses, MeanUse { mfu: mean(mean_mfu), hfu: mean(mean_hfu), coverage, lower_bound })
}

/// What starts in a step; `all` of it where there are none.
fn within<T>(sorted: &[(Ns, T)], start: Ns, end: Ns, all: bool) -> &[(Ns, T)] {
    let from = if all { 0 } else { sorted.partition_point(|(at, _)| *at < start) };
    let to = if all { sorted.len() } else { sorted.partition_point(|(at, _)| *at < end) };
    sorted.get(from..to).unwrap_or_default()
}

fn is_low(coverage: Option<f64>) -> bool {
    coverage.is_some_and(|share| share < MIN_COVERED_SHARE)
}

fn use_of(step: i64, wall: Ns, partial: bool, ops: &[(Ns, &OpCost)], covered: KernelCoverage) -> StepUse {
    let mut by_precision: Vec<(Precision, u64)> = Vec::new();
    let mut devices: HashSet<Option<i64>, RandomState> = HashSet::default();
    let (mut flops, mut recomputed) = (0u64, 0u64);
    for (_, op) in ops {
        let Cost { flops: all, recomputed: again, .. } = op.cost;
        flops = flops.saturating_add(all);
        recomputed = recomputed.saturating_add(if op.recomputed { all } else { again });
        match by_precision.iter_mut().find(|(precision, _)| *precision == op.precision) {
            Some((_, sum)) => *sum = sum.saturating_add(all),
            None => by_precision.push((op.precision, all)),
        }
        devices.insert(op.device);
    }
    // Of equals the narrower, so that the answer does not depend on the order.
    let precision = by_precision.iter().max_by_key(|(precision, sum)| (*sum, *precision)).map(|(p, _)| *p);
    // The slowest device bounds nothing here: all of one kind is the rule, and the first represents all.
    let hardware = ops.iter().find_map(|(_, op)| op.hardware);
    let peak = precision.and_then(|p| hardware?.peak_tflops(p, Pipe::Matrix));
    let devices = devices.len() as u64;
    let model_flops = flops.saturating_sub(recomputed);
    let share = |flops: u64| {
        let could = peak? * 1e3 * wall.0 as f64 * devices as f64;
        (could > 0.0).then(|| flops as f64 / could)
    };
    StepUse {
        step,
        wall_ns: wall.0,
        partial,
        model_flops,
        recomputed_flops: recomputed,
        precision,
        peak_tflops: peak,
        devices,
        mfu: share(model_flops),
        hfu: share(flops),
        coverage: covered.share(),
        lower_bound: is_low(covered.share()),
    }
}
