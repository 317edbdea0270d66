//! A snapshot as a profile of memory: by stack, what was held at the peak and at the end.

use stepscope_model::{HeapFacts, HeapPoint, Ns, Profile, Sample, Snapshot, StackId, heap_values};

use super::history::History;
use super::places::Places;

/// Points of the curve.
const MAX_POINTS: usize = 2_000;
const NO_SUMS: u32 = u32::MAX;

/// The memory of one device.
pub fn profile(snapshot: &Snapshot, history: &History, places: &Places) -> Profile {
    let mut profile = Profile::new(heap_values());
    profile.source = snapshot.source.clone();
    profile.notes = snapshot.notes.clone();
    profile.stacks = places.python.clone();
    let times = Times::new(history);
    let middle = (history.levels.len() / 2) as u32;
    let end = history.levels.len().saturating_sub(1) as u32;
    // Few of the stacks ask for memory themselves; most only lead to those that do.
    let mut places_of_sums = vec![NO_SUMS; profile.stacks.len()];
    let mut sums: Vec<[i64; 7]> = Vec::new();
    for allocation in &history.allocations {
        let bytes = i64::try_from(allocation.bytes).unwrap_or(i64::MAX);
        let lives = |at: Option<u32>| match at {
            Some(at) => allocation.lives_at(at),
            None => allocation.before,
        };
        let [at_peak, at_middle, at_end] =
            [lives(history.peak_moment), lives(Some(middle)), lives(Some(end))].map(i64::from);
        // What was there before the history was not allocated in it.
        let made = i64::from(!allocation.before);
        let amounts = [made, bytes * made, at_end, at_peak, bytes * at_middle, bytes * at_end, bytes * at_peak];
        let place = &mut places_of_sums[places.python(allocation.stack).index()];
        if *place == NO_SUMS {
            *place = sums.len() as u32;
            sums.push([0; 7]);
        }
        for (sum, more) in sums[*place as usize].iter_mut().zip(amounts) {
            *sum = sum.saturating_add(more);
        }
    }
    let stacks = std::iter::once(StackId::EMPTY).chain(places.python.nodes().map(|node| node.0));
    for (stack, place) in stacks.zip(places_of_sums) {
        if let Some(amounts) = sums.get(place as usize) {
            profile.add(Sample::new(0, stack, amounts));
        }
    }
    let last = history.levels.last().copied().unwrap_or(history.at_start);
    profile.heap = Some(HeapFacts {
        sample_bytes: 0,
        on_device: true,
        duration: times.time_of(end),
        peak_bytes: history.peak.allocated,
        peak_at: history.peak_moment.map_or(Ns(0), |moment| times.time_of(moment)),
        end_bytes: last.allocated,
        earlier_at: (middle > 0).then(|| times.time_of(middle)),
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
        Times { history, first: history.times.first() }
    }

    fn time_of(&self, moment: u32) -> Ns {
        match (self.history.times.get(moment as usize), self.first) {
            (Some(at), Some(first)) => at - first,
            _ => Ns(moment.into()),
        }
    }
}

/// What was allocated, the most of every few entries.
fn curve(history: &History, times: &Times<'_>) -> Vec<HeapPoint> {
    let count = history.levels.len();
    let each = count.div_ceil(MAX_POINTS).max(1);
    let point = |from: usize| HeapPoint {
        at: times.time_of(from as u32),
        live_bytes: history.levels.allocated(from..from + each).max(),
        rss_bytes: None,
    };
    (0..count).step_by(each).map(point).collect()
}
