//! How far a trace reaches.

use stepscope_model::{Kind, Ns, Trace};

/// Earliest start and latest end of the slices whose kind counts; `None` without any.
pub(crate) fn extent(trace: &Trace, counts: impl Fn(Kind) -> bool) -> Option<(Ns, Ns)> {
    let slices = trace.slices();
    let counted = slices.ids().filter(|&id| counts(slices.kind(id)));
    counted.fold(None, |reach: Option<(Ns, Ns)>, id| {
        let (start, end) = (slices.start(id), slices.end(id));
        Some(reach.map_or((start, end), |(from, to)| (from.min(start), to.max(end))))
    })
}
