//! How well steps use the arithmetic they pay for.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Ns, Trace};

use super::cost::Cost;
use super::costs::{OpCost, OpCosts};
use super::number::{Pipe, Precision};
use crate::scope::selection::Selection;
use crate::steps::Steps;

/// One step's use of the devices' arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepUse {
    /// Its number.
    pub step: i64,
    /// Its wall time, device work included.
    pub wall_ns: i64,
    /// Whether the recording probably lacks device work of it.
    pub partial: bool,
    /// FLOPs of products, convolutions and attention, less what is recomputed.
    pub model_flops: u64,
    /// What fused attention recomputes.
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
}

/// The steps of a trace that are selected whole, and their mean by wall time.
pub(super) fn step_use(trace: &Trace, selection: &Selection, costs: &OpCosts) -> (Vec<StepUse>, Option<f64>) {
    let slices = trace.slices();
    let steps = Steps::find(trace);
    let matrix = costs.ops.iter().filter(|op| op.cost.pipe == Pipe::Matrix && op.cost.flops > 0);
    let mut ops: Vec<(Ns, &OpCost)> = matrix.map(|op| (slices.start(op.slice), op)).collect();
    ops.sort_by_key(|&(start, op)| (start, op.slice));
    let mut uses = Vec::new();
    for step in &steps.steps {
        let (start, end) = (Ns(step.host_start_ns), Ns(step.host_end_ns));
        let whole =
            selection.contains_time(start) && selection.contains_time(Ns(end.0.saturating_sub(1)).max(start));
        if !whole && !steps.synthetic {
            continue;
        }
        let from = ops.partition_point(|(at, _)| *at < start);
        // The one step of a trace without any is closed: a call may start at its very end.
        let to = if steps.synthetic { ops.len() } else { ops.partition_point(|(at, _)| *at < end) };
        let wall = Ns(step.end_ns) - Ns(step.start_ns);
        uses.push(use_of(step.step, wall, step.partial, ops.get(from..to).unwrap_or_default()));
    }
    let counted = uses.iter().filter(|u| !u.partial).filter_map(|u| Some((u.mfu?, u.wall_ns as f64)));
    let (weighted, wall) = counted.fold((0.0, 0.0), |(sum, all), (mfu, wall)| (sum + mfu * wall, all + wall));
    (uses, (wall > 0.0).then(|| weighted / wall))
}

fn use_of(step: i64, wall: Ns, partial: bool, ops: &[(Ns, &OpCost)]) -> StepUse {
    let mut by_precision: Vec<(Precision, u64)> = Vec::new();
    let mut devices: HashSet<Option<i64>, RandomState> = HashSet::default();
    let (mut flops, mut recomputed) = (0u64, 0u64);
    for (_, op) in ops {
        let Cost { flops: all, recomputed: again, .. } = op.cost;
        flops = flops.saturating_add(all);
        recomputed = recomputed.saturating_add(again);
        match by_precision.iter_mut().find(|(precision, _)| *precision == op.precision) {
            Some((_, sum)) => *sum = sum.saturating_add(all),
            None => by_precision.push((op.precision, all)),
        }
        devices.insert(op.device);
    }
    // Of equals the narrower, so that the answer does not depend on the order.
    let precision = by_precision.iter().max_by_key(|(precision, sum)| (*sum, *precision)).map(|(p, _)| *p);
    // The slowest device bounds nothing here: all of one kind is the rule, and the first stands for all.
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
    }
}
