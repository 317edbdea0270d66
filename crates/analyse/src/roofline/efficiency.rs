//! How long matrix work would take on tensor cores in a narrower format: an estimate from the device's peaks and what
//! well-made kernels reach of them.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{SliceId, Trace};

use crate::replay::what_if::Change;
use crate::roofline::{Cost, Family, OpCost, OpCosts, Precision, ideal, op_costs};
use crate::scope::selection::Selection;

/// What well-made kernels reach of a device's peaks.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Efficiency {
    /// Matrix products and convolutions, of the peak rate.
    pub matrix: f64,
    /// Fused attention, of the peak rate.
    pub attention: f64,
    /// Kernels bound by memory, of the bandwidth.
    pub memory: f64,
}

impl Efficiency {
    /// What is assumed unless someone knows better: what large kernels reach on an H200.
    pub const ASSUMED: Efficiency = Efficiency { matrix: 0.65, attention: 0.4, memory: 0.8 };
}

impl Default for Efficiency {
    fn default() -> Self {
        Efficiency::ASSUMED
    }
}

impl Efficiency {
    /// How long a well-made kernel would take for a call in a precision; none if the device is not known. `narrower`
    /// is how many times fewer bytes its operands have then.
    pub fn ns(&self, op: &OpCost, precision: Precision, narrower: f64) -> Option<f64> {
        let at_peak = ideal(&Cost { precision, ..op.cost }, op.hardware?, precision)?;
        let reached = if op.cost.family == Family::Attention { self.attention } else { self.matrix };
        Some((at_peak.compute_ns / reached).max(at_peak.memory_ns / narrower / self.memory))
    }
}

/// Whether an operator is matrix work.
pub fn is_matrix(op: &OpCost) -> bool {
    matches!(op.cost.family, Family::Gemm | Family::Convolution | Family::Attention)
}

/// Gives the kernels of a call a new summed length, each its share of it. Never zero, which would mean that a kernel
/// is not launched any more; never longer than they are.
pub fn scaled(trace: &Trace, costs: &OpCosts, op: &OpCost, ns: f64) -> impl Iterator<Item = (SliceId, i64)> {
    let factor = (ns / op.device_ns.max(1) as f64).min(1.0);
    let length = move |kernel: SliceId| ((trace.slices().dur(kernel).0 as f64 * factor).round() as i64).max(1);
    costs.kernels_of(op).iter().map(move |&kernel| (kernel, length(kernel)))
}

/// The change in which all matrix work in 32 bits runs in bfloat16. `None` if there is none, or none on a device whose
/// peaks are known.
pub fn change(trace: &Trace, efficiency: Efficiency) -> Option<Change> {
    let costs = op_costs(trace, &Selection::all());
    let mut lengths: HashMap<SliceId, i64, RandomState> = HashMap::default();
    for op in costs.ops.iter().filter(|op| is_matrix(op)) {
        if matches!(op.precision, Precision::Fp32 | Precision::Tf32)
            && let Some(ns) = efficiency.ns(op, Precision::Bf16, 2.0)
        {
            lengths.extend(scaled(trace, &costs, op, ns));
        }
    }
    let what = "matrix work on tensor cores in bf16".to_owned();
    (!lengths.is_empty()).then_some(Change::Lengths { what, ns: lengths })
}
