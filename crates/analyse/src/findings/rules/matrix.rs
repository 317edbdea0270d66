//! What the rules about matrix work share.

use stepscope_model::SliceId;

use crate::findings::{Context, Edit};
use crate::roofline::{OpCost, Precision};
use crate::tensor_cores::{Efficiency, scaled};

pub(super) use crate::tensor_cores::is_matrix;

/// How long a well-made kernel would take, by the assumptions in force.
pub(super) fn good_ns(context: &Context<'_>, op: &OpCost, precision: Precision, narrower: f64) -> Option<f64> {
    let efficiency = Efficiency {
        matrix: context.limit("assume.matrix_efficiency"),
        attention: context.limit("assume.attention_efficiency"),
        memory: context.limit("assume.memory_efficiency"),
    };
    efficiency.ns(op, precision, narrower)
}

/// Gives the kernels of a call a new summed length.
pub(super) fn scale(context: &Context<'_>, edit: &mut Edit, op: &OpCost, ns: f64) {
    scaled(context.trace, context.costs(), op, ns).for_each(|(kernel, ns)| edit.device_length(kernel, ns));
}

/// Device time of calls, and all their kernels.
pub(super) fn total<'a>(ops: impl IntoIterator<Item = &'a OpCost>) -> i64 {
    ops.into_iter().map(|op| op.device_ns).sum()
}

/// The kernels of calls, longest calls first.
pub(super) fn kernels(context: &Context<'_>, ops: &[&OpCost]) -> Vec<SliceId> {
    ops.iter().flat_map(|op| context.costs().kernels_of(op).iter().copied()).collect()
}

/// Names of operators by device time, each once: the few largest.
pub(super) fn names(context: &Context<'_>, ops: &[&OpCost], most: usize) -> String {
    let mut sums: Vec<(&str, i64)> = Vec::new();
    for op in ops {
        let name = context.trace.name(op.slice);
        match sums.iter_mut().find(|s| s.0 == name) {
            Some(sum) => sum.1 += op.device_ns,
            None => sums.push((name, op.device_ns)),
        }
    }
    sums.sort_by_key(|s| (std::cmp::Reverse(s.1), s.0));
    sums.iter().take(most).map(|s| s.0).collect::<Vec<_>>().join(", ")
}
