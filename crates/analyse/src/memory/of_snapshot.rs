//! A snapshot as a profile of memory: by stack, what was held at the peak and at the end.

use stepscope_model::{
    Frame, HeapFacts, HeapPoint, Ns, Profile, Sample, Snapshot, StackId, StackTable, heap_values,
};

use super::history::History;

/// Points of the curve.
const POINTS: usize = 2_000;

/// The memory of one device.
pub fn profile(snapshot: &Snapshot, history: &History) -> Profile {
    let mut profile = Profile::new(heap_values());
    profile.source = snapshot.source.clone();
    profile.notes = snapshot.notes.clone();
    let stacks = python_alone(&snapshot.stacks, &mut profile.stacks);
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
        for (sum, more) in sums[stacks[allocation.stack.index()].index()].iter_mut().zip(amounts) {
            *sum = sum.saturating_add(more);
        }
    }
    for (stack, amounts) in
        std::iter::once(StackId::EMPTY).chain(snapshot.stacks.nodes().map(|n| n.0)).zip(&sums)
    {
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

/// What stacks say where the engine of the backward pass ran without Python.
const BACKWARD: &str = "(backward pass)";

/// The stacks with their frames of Python alone, by the number they have in the snapshot: those of C++ say the same in many
/// words.
pub(crate) fn python_alone(stacks: &StackTable, python: &mut StackTable) -> Vec<StackId> {
    let name = python.intern(BACKWARD);
    let backward = python.frame(Frame { name, ..Frame::default() });
    let backward = python.push(StackId::EMPTY, backward);
    let mut alone = vec![StackId::EMPTY; stacks.len()];
    let mut in_backward = vec![false; stacks.len()];
    for (stack, below, frame) in stacks.nodes() {
        let Frame { name, file, line } = stacks.get(frame);
        let (name, file) = (stacks.text(name), stacks.text(file));
        in_backward[stack.index()] = in_backward[below.index()] || name.starts_with("torch::autograd::Engine");
        alone[stack.index()] = if is_python(file) {
            let (name, file) = (python.intern(name), python.intern(file));
            let frame = python.frame(Frame { name, file, line });
            python.push(alone[below.index()], frame)
        } else {
            alone[below.index()]
        };
    }
    for (alone, in_backward) in alone.iter_mut().zip(in_backward) {
        if *alone == StackId::EMPTY && in_backward {
            *alone = backward;
        }
    }
    alone
}

/// Whether a file is Python's: frames of libraries have sources of C++, or none.
pub(crate) fn is_python(file: &str) -> bool {
    const OTHERS: [&str; 6] = [".cpp", ".cc", ".c", ".cu", ".h", ".so"];
    !file.is_empty() && file != "??" && !OTHERS.iter().any(|ending| file.ends_with(ending))
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
