//! How close operators come to what their device can do: FLOPs, bytes, and the time both take at peak.
//!
//! For each call of an operator a model counts from the recorded inputs what it must compute and move at the
//! least ([`Cost`]). Divided by the device's peaks that is the roofline time, which no implementation of the
//! operator can beat by much; divided by the measured time, the rates achieved. Work that has no model, or
//! whose inputs were not recorded, is listed with its share of device time. A device that the table does not
//! know gets rates without shares of a peak: nothing is guessed.
//!
//! These counts are not those of [`crate::tables::flops`], which are PyTorch's `with_flops` to the digit; where both
//! count an operator (`mm`, `addmm`, `bmm`, `baddbmm`, convolutions), they agree.

mod call;
mod clocks;
mod cost;
mod costs;
mod definitions;
pub mod efficiency;
mod hardware;
pub mod instructions;
mod mfu;
mod models;
mod number;
mod report;
mod rows;

#[cfg(test)]
mod tests;

use stepscope_model::Trace;

pub use clocks::Clocks;
pub use cost::{Bound, Cost, Family, Ideal, ideal, ideal_ns};
pub use costs::{NoCost, OpCost, OpCosts, op_costs, op_costs_of};
pub use definitions::{DEFINITIONS, HARDWARE_DEFINITIONS, STEP_DEFINITIONS};
pub use hardware::{Hardware, PeaksBy, known as known_hardware};
pub use mfu::{MeanUse, StepUse};
pub use number::{Pipe, Precision};
pub use report::{OverPeak, Roofline, RooflineDevice, RooflineRow, UnmodeledRow};

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::scope::selection::Selection;

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum RooflineBy {
    Name,
    /// The operator, the sizes and types of its inputs, and the arithmetic it ran in.
    #[default]
    NameAndShape,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RooflineQuery {
    /// The part of the trace that counts.
    pub selection: Selection,
    pub by: RooflineBy,
}

/// How close the operators of a trace come to what their devices can do.
pub fn roofline(trace: &Trace, query: &RooflineQuery) -> Roofline {
    roofline_of(trace, query, &op_costs(trace, &query.selection))
}

/// The same from costs that are known already; they must be those of the query's selection.
pub fn roofline_of(trace: &Trace, query: &RooflineQuery, costs: &OpCosts) -> Roofline {
    let rows = rows::rows(trace, costs, query.by);
    let modeled_ns = rows.iter().fold(0i64, |sum, row| sum.saturating_add(row.device_ns));
    let ideals: Vec<i64> = rows.iter().filter_map(|row| row.ideal_ns).collect();
    let (steps, mean) = mfu::step_use(trace, &query.selection, costs);
    let bytes = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.bytes));
    Roofline {
        devices: devices(trace, costs),
        unmodeled: rows::unmodeled(trace, costs),
        device_ns: costs.device_ns,
        modeled_ns,
        modeled_share: crate::scope::share::known_share(modeled_ns, costs.device_ns),
        flops: rows.iter().fold(0, |sum, row| sum.saturating_add(row.flops)),
        bytes,
        modeled_gbs: (modeled_ns > 0).then(|| bytes as f64 / modeled_ns as f64),
        ideal_ns: (!ideals.is_empty()).then(|| ideals.iter().fold(0, |sum, ns| ns.saturating_add(sum))),
        steps,
        mean,
        rows,
    }
}

fn devices(trace: &Trace, costs: &OpCosts) -> Vec<RooflineDevice> {
    let mut devices: Vec<RooflineDevice> = Vec::new();
    let mut known: HashSet<Option<i64>, RandomState> = HashSet::default();
    for op in &costs.ops {
        if known.insert(op.device) {
            let name = trace.meta().device_name(op.device).map(str::to_owned);
            let described = trace.meta().described(op.device);
            let peaks_by = described.and_then(Hardware::for_device).map(|(_, by)| by);
            devices.push(RooflineDevice { device: op.device, name, hardware: op.hardware, peaks_by });
        }
    }
    devices.sort_by_key(|device| device.device);
    devices
}
