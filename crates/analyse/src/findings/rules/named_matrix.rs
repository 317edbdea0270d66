//! Matrix kernels of operators whose sizes are not recorded: what their names say, which is less but not nothing.
//!
//! How fast they could be follows from what such kernels usually reach of the peak, so it is a bound more than a forecast.

use stepscope_model::{Ns, SliceId, StrId};

use crate::findings::{Amount, Context, Edit, Evidence};
use crate::names::by_name::ByName;
use crate::names::kernel_family::{KernelFamily, kernel_family};
use crate::names::tensor_core::precision;
use crate::roofline::{Hardware, NoCost, Pipe, Precision};

/// What kernels of a kind usually reach of their peak: large products, measured on an H200.
const FP32_REACHES: f64 = 0.8;
const TF32_REACHES: f64 = 0.55;
const HALF_REACHES: f64 = 0.65;
/// Kernels that load element by element.
const MISALIGNED_REACHES: f64 = 0.1;

/// A kernel and what its name says.
#[derive(Copy, Clone)]
pub(super) struct NamedMatrixKernel {
    pub(super) kernel: SliceId,
    pub(super) precision: Precision,
    pub(super) attention: bool,
    /// Made for rows that do not start where tensor cores load.
    pub(super) misaligned: bool,
    pub(super) hardware: &'static Hardware,
}

/// The matrix kernels of the steps whose operators' sizes are not recorded.
pub(super) fn named(context: &Context<'_>) -> Vec<NamedMatrixKernel> {
    let trace = context.trace();
    let slices = trace.slices();
    let mut words = ByName::new(trace, |name| {
        let precision = match precision(name)? {
            "fp32" => Precision::Fp32,
            "tf32" => Precision::Tf32,
            "fp16" => Precision::Fp16,
            "bf16" => Precision::Bf16,
            _ => return None,
        };
        let misaligned = ["_align1", "_align2"].iter().any(|mark| name.contains(mark));
        Some((precision, kernel_family(name) == KernelFamily::Attention, misaligned))
    });
    // What XLA launches as a graph has no operator of its own, but a name.
    let graphs = trace.meta().framework.is_some();
    let unknown = |why: NoCost| {
        matches!(why, NoCost::NotRecorded | NoCost::NoModel) || graphs && why == NoCost::NoOperator
    };
    let mut found = Vec::new();
    for &(kernel, _, _) in context.costs().without.iter().filter(|row| unknown(row.2)) {
        let name: StrId = slices.name(kernel);
        let Some((precision, attention, misaligned)) = words.get(name) else { continue };
        let device = trace.lanes().get(slices.lane(kernel)).key.process.as_int();
        if let Some((hardware, _)) = trace.meta().described(device).and_then(Hardware::for_device) {
            found.push(NamedMatrixKernel { kernel, precision, attention, misaligned, hardware });
        }
    }
    found
}

impl NamedMatrixKernel {
    /// How long it would take at another precision and well aligned; `None` if the device lacks that.
    pub(super) fn ns(&self, context: &Context<'_>, to: Precision) -> Option<i64> {
        let now = self.hardware.peak_tflops(self.precision, Pipe::Matrix)?;
        let reaches = match self.precision {
            _ if self.misaligned && self.precision != Precision::Fp32 => MISALIGNED_REACHES,
            Precision::Fp32 => FP32_REACHES,
            Precision::Tf32 => TF32_REACHES,
            _ => HALF_REACHES,
        };
        let assumed = if self.attention { "assume.attention_efficiency" } else { "assume.matrix_efficiency" };
        let then = self.hardware.peak_tflops(to, Pipe::Matrix)? * context.threshold(assumed);
        let share = (now * reaches / then).min(1.0);
        Some((context.trace().slices().dur(self.kernel).0 as f64 * share) as i64)
    }

    /// Gives it that length.
    pub(super) fn change(&self, context: &Context<'_>, edit: &mut Edit<'_>, to: Precision) {
        if let Some(ns) = self.ns(context, to) {
            edit.device_length(self.kernel, ns);
        }
    }
}

/// Device time of kernels.
pub(super) fn time(context: &Context<'_>, kernels: &[NamedMatrixKernel]) -> Ns {
    kernels.iter().map(|named| context.trace().slices().dur(named.kernel)).sum()
}

/// All device time of which such kernels take a share: that of operators, and of graphs where those have none.
pub(super) fn device_time(context: &Context<'_>) -> i64 {
    let graphs = context.trace().meta().framework.is_some();
    let whole = if graphs { context.costs().device_ns } else { context.attributed_ns() };
    whole.max(1)
}

/// What findings say that rest on names alone.
pub(super) const BY_NAME: &str = "Sizes were not recorded, so the saving is estimated from kernel names and what such kernels usually reach: record \
     with record_shapes=True for a better estimate.";

/// The same where a compiler launches such kernels as a graph.
pub(super) const BY_NAME_IN_GRAPHS: &str = "The compiler launches these products as a graph, so the saving is estimated \
     from kernel names and what such kernels usually reach.";

/// The longest of some kernels, as evidence.
pub(super) fn example(context: &Context<'_>, kernels: &[NamedMatrixKernel]) -> Evidence {
    let trace = context.trace();
    let longest = kernels.iter().max_by_key(|named| trace.slices().dur(named.kernel));
    let name = longest.map(|named| trace.name(named.kernel).to_owned()).unwrap_or_default();
    Evidence::new("for example", Amount::Text(name), "The longest of these kernels.")
}
