//! What the rules about matrix work share.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Ns, Order, SliceId};

use crate::findings::{Context, Edit};
use crate::roofline::efficiency::{Efficiency, scaled};
use crate::roofline::{OpCost, Precision};

pub(super) use crate::roofline::efficiency::is_matrix;

/// How long a well-made kernel would take, by the assumptions in force.
pub(super) fn good_ns(context: &Context<'_>, op: &OpCost, precision: Precision, narrower: f64) -> Option<f64> {
    let efficiency = Efficiency {
        matrix: context.threshold("assume.matrix_efficiency"),
        attention: context.threshold("assume.attention_efficiency"),
        memory: context.threshold("assume.memory_efficiency"),
    };
    efficiency.ns(op, precision, narrower)
}

/// Gives the kernels of a call a new summed length.
pub(super) fn scale(context: &Context<'_>, edit: &mut Edit<'_>, op: &OpCost, ns: f64) {
    scaled(context.trace(), context.costs(), op, ns).for_each(|(kernel, ns)| edit.device_length(kernel, ns));
}

/// Device time of calls, and all their kernels.
pub(super) fn total<'a>(ops: impl IntoIterator<Item = &'a OpCost>) -> Ns {
    ops.into_iter().map(|op| Ns(op.device_ns)).sum()
}

/// The kernels of calls, longest calls first.
pub(super) fn kernels(context: &Context<'_>, ops: &[&OpCost]) -> Vec<SliceId> {
    ops.iter().flat_map(|op| context.costs().kernels_of(op).iter().copied()).collect()
}

/// Names of operators by device time, each once: the few largest.
pub(super) fn names(context: &Context<'_>, ops: &[&OpCost], most: usize) -> String {
    let mut sums: HashMap<&str, Ns, RandomState> = HashMap::default();
    for op in ops {
        *sums.entry(context.trace().name(op.slice)).or_default() += Ns(op.device_ns);
    }
    let mut sums: Vec<(&str, Ns)> = sums.into_iter().collect();
    sums.order_by_key(|s| (std::cmp::Reverse(s.1), s.0));
    sums.iter().take(most).map(|s| s.0).collect::<Vec<_>>().join(", ")
}
