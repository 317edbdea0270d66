//! A snapshot as a profile of memory: by stack, what was held at the peak and at the end.

use stepscope_model::{HeapFacts, HeapPoint, Ns, Profile, Sample, Snapshot, StackId, heap_values};

use super::history::History;
use super::places::Places;

/// Points of the curve.
const POINTS: usize = 2_000;

/// The memory of one device.
pub fn profile(snapshot: &Snapshot, history: &History, places: &Places) -> Profile {
    let mut profile = Profile::new(heap_values());
    profile.source = snapshot.source.clone();
    profile.notes = snapshot.notes.clone();
    profile.stacks = places.python.clone();
    let times = Times::new(history);
    let middle = (history.levels.len() / 2) as u32;
    let end = history.levels.len().saturating_sub(1) as u32;
    let mut sums = vec![[0i64; 7]; profile.stacks.len()];
    for allocation in &history.allocations {
        let bytes = i64::try_from(allocation.bytes).unwrap_or(i64::MAX);
        let lives = |at: Option<u32>| match at {
            Some(at) => allocation.lives_at(at),
            None => allocation.before,
        };
        let [at_peak, at_middle, at_end] =
            [lives(history.peak_moment), lives(Some(middle)), lives(Some(end))].map(i64::from);
        let amounts = [1, bytes, at_end, at_peak, bytes * at_middle, bytes * at_end, bytes * at_peak];
        for (sum, more) in sums[places.python(allocation.stack).index()].iter_mut().zip(amounts) {
            *sum = sum.saturating_add(more);
        }
    }
    let stacks: Vec<StackId> =
        std::iter::once(StackId::EMPTY).chain(places.python.nodes().map(|node| node.0)).collect();
    for (stack, amounts) in stacks.into_iter().zip(&sums) {
        if amounts[0] > 0 {
            profile.add(Sample::new(0, stack, amounts));
        }
    }
    let last = history.levels.last().copied().unwrap_or(history.at_start);
    profile.heap = Some(HeapFacts {
        sample_bytes: 0,
        on_device: true,
        duration: times.of(end),
        peak_bytes: history.peak.allocated,
        peak_at: history.peak_moment.map_or(Ns(0), |moment| times.of(moment)),
        end_bytes: last.allocated,
        earlier_at: (middle > 0).then(|| times.of(middle)),
        unfinished: false,
        curve: curve(history, &times),
        lines: Vec::new(),
    });
    profile
}

/// When entries happened, since the first; their numbers where the history has no times.
struct Times<'a> {
    history: &'a History,
    first: Option<Ns>,
}

impl<'a> Times<'a> {
    fn new(history: &'a History) -> Times<'a> {
        Times { history, first: history.times.iter().copied().find_map(|at| at) }
    }

    fn of(&self, moment: u32) -> Ns {
        let at = self.history.times.get(moment as usize).copied().flatten();
        match (at, self.first) {
            (Some(at), Some(first)) => at - first,
            _ => Ns(moment.into()),
        }
    }
}

/// What was allocated, the most of every few entries.
fn curve(history: &History, times: &Times<'_>) -> Vec<HeapPoint> {
    let each = history.levels.len().div_ceil(POINTS).max(1);
    let pieces = history.levels.chunks(each).enumerate();
    pieces
        .map(|(piece, levels)| HeapPoint {
            at: times.of((piece * each) as u32),
            live_bytes: levels.iter().map(|level| level.allocated).max(),
            rss_bytes: None,
        })
        .collect()
}
