//! Iterations that a serving engine names, with the kind that most of them have.

use stepscope_model::{Ns, Trace};

use super::{FoundBy, MIN_REPEATS, Repeats, cover_most, median};
use crate::names::serving::IterationKind;
use crate::steps::serving::{self, marked};

/// The engine waits for requests where the next iteration begins later than this many usual periods.
const MAX_PERIODS: i64 = 2;

/// The iterations of the engine: those that decode, or else of the kind that most have.
pub(super) fn iterations(trace: &Trace) -> Option<Repeats> {
    let (marks, all, _) = marked::iterations(trace);
    use serving::FoundBy::{ForwardPass, PythonCall, Range};
    if !matches!(marks, Range | PythonCall | ForwardPass) {
        return None;
    }
    let of = |kind: IterationKind| all.iter().filter(|one| one.said.kind == kind).count();
    let kinds = [IterationKind::Decode, IterationKind::Mixed, IterationKind::Prefill, IterationKind::Unknown];
    let kind = kinds.into_iter().find(|&kind| of(kind) >= MIN_REPEATS)?;
    let periods: Vec<i64> = all.windows(2).map(|pair| (pair[1].start - pair[0].start).0).collect();
    let usual = median(&periods);
    let ends = all.iter().skip(1).map(|next| Some(next.start)).chain([None]);
    let windows: Vec<(Ns, Ns)> = (all.iter().zip(ends))
        .filter(|(one, _)| one.said.kind == kind)
        .map(|(one, next)| {
            let near = next.filter(|next| (*next - one.start).0 <= usual.saturating_mul(MAX_PERIODS));
            (one.start, near.unwrap_or(one.end))
        })
        .filter(|window| window.0 < window.1)
        .collect();
    let apart = (all.len() - of(kind)) as u64;
    let name = trace.text(all.first()?.name).to_owned();
    let enough = windows.len() >= MIN_REPEATS && cover_most(trace, &windows);
    enough.then_some(Repeats { by: FoundBy::Engine, name, windows, on_device: false, apart })
}
