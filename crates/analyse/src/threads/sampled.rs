//! Samples of a thread's Python stack, beside what was recorded of the thread.
//!
//! Recorders that do not see Python functions (PyTorch's without stacks) leave a thread's operators on its lane; our sampler
//! leaves what it saw of the same thread on another. A moment of the one is looked up in the other.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{CallTree, Domain, Kind, LaneId, LaneKey, Ns, SAMPLES_OF, SliceId, StrId, Tag, Trace};

use crate::threads::callers::Callers;

/// The lanes of samples, by the lane of their thread.
pub(crate) struct SampleLanes {
    lanes: Vec<(LaneId, LaneId)>,
}

impl SampleLanes {
    pub(crate) fn new(trace: &Trace) -> SampleLanes {
        let thread_of = |key: LaneKey| -> Option<i64> {
            let Tag::Str(text) = key.thread else { return None };
            trace.text(text).strip_prefix(SAMPLES_OF)?.parse().ok()
        };
        let mut lanes: Vec<(LaneId, LaneId)> = trace
            .lanes()
            .iter()
            .filter(|(_, lane)| lane.key.domain == Domain::Host)
            .filter_map(|(samples, lane)| {
                let key = LaneKey { thread: Tag::Int(thread_of(lane.key)?), ..lane.key };
                Some((trace.lanes().find(key)?, samples))
            })
            .collect();
        lanes.sort_unstable();
        SampleLanes { lanes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The lane of a thread's samples.
    pub(crate) fn samples_of(&self, lane: LaneId) -> Option<LaneId> {
        let found = self.lanes.binary_search_by_key(&lane, |pair| pair.0).ok()?;
        Some(self.lanes[found].1)
    }

    /// When a thread was looked at: a stretch of samples ends just after the moment that it saw.
    pub(crate) fn moments(&self, trace: &Trace, lane: LaneId) -> Vec<Ns> {
        let slices = trace.slices();
        let samples = self.samples_of(lane).into_iter().flat_map(|samples| slices.of_lane(samples));
        let mut moments: Vec<Ns> = samples.map(|id| Ns(slices.end(id).0.saturating_sub(1))).collect();
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// The innermost function seen on a thread at a moment.
    pub(crate) fn at(&self, trace: &Trace, tree: &CallTree, lane: LaneId, at: Ns) -> Option<SliceId> {
        let seen = innermost(trace, tree, self.samples_of(lane)?, at)?;
        std::iter::successors(Some(seen), |&id| tree.parent(id))
            .take(MAX_DEPTH)
            .find(|&id| trace.slices().kind(id) == Kind::PythonFunction)
    }

    /// Who calls which operators and calls of the runtime; `place` says whose a stack is, by its innermost frame.
    pub(crate) fn callers_of<P: Fn(SliceId) -> Option<u32>>(
        self,
        trace: &Trace,
        callers: &Callers,
        place: P,
    ) -> SampledCallers<P> {
        let (slices, tree) = (trace.slices(), callers.tree());
        let mut found: HashMap<(LaneId, StrId), Vec<(u32, u64)>, RandomState> = HashMap::default();
        let mut periods = HashMap::default();
        for &(lane, samples) in &self.lanes {
            let mut before = Ns::MIN;
            let mut lasted = Vec::new();
            for id in slices.of_lane(samples).filter(|&id| slices.kind(id) == Kind::PythonFunction) {
                // A stretch ends with a sample, just after the moment that it saw; those around it may end with the same one.
                let look = slices.end(id);
                lasted.push(slices.dur(id));
                if look == before {
                    continue;
                }
                before = look;
                let at = Ns(look.0.saturating_sub(1));
                let (stack, doing) = (innermost(trace, tree, samples, at), innermost(trace, tree, lane, at));
                let (Some(place), Some(doing)) = (stack.and_then(&place), doing) else { continue };
                let seen = found.entry((lane, slices.name(callers.blamed(doing)))).or_default();
                match seen.iter().position(|(known, _)| *known == place) {
                    Some(at) => seen[at].1 += 1,
                    None if seen.len() < MAX_CALLERS => seen.push((place, 1)),
                    None => {}
                }
            }
            // The shortest stretches are of one sample.
            lasted.sort_unstable();
            periods.insert(lane, lasted.get(lasted.len() / 10).copied().unwrap_or(Ns::MAX));
        }
        SampledCallers { sampled: self, place, periods, found, given: HashMap::default() }
    }
}

/// Finds the caller of an operator from samples.
///
/// A sample represents the time since the sample before it, in which a hundred operators may have run for others, and a whole step
/// may have gone by. Two things are known better: what ran at the very moment of a sample was called by the stack that it saw, as
/// were, likely, other calls of the same name; and what ran while sample after sample saw the same function was that function's.
pub(crate) struct SampledCallers<P> {
    sampled: SampleLanes,
    place: P,
    /// From one sample to the next.
    periods: HashMap<LaneId, Ns, RandomState>,
    /// Whose stacks were seen to call an operator, and how often.
    found: HashMap<(LaneId, StrId), Vec<(u32, u64)>, RandomState>,
    given: HashMap<(LaneId, StrId), Vec<u64>, RandomState>,
}

impl<P: Fn(SliceId) -> Option<u32>> SampledCallers<P> {
    /// Whose a call is.
    pub(crate) fn caller(&mut self, trace: &Trace, callers: &Callers, call: SliceId) -> Option<u32> {
        let (slices, tree) = (trace.slices(), callers.tree());
        let (lane, at) = (slices.lane(call), slices.start(call));
        let period = *self.periods.get(&lane)?;
        let seen = self.sampled.at(trace, tree, lane, at)?;
        self.alike(trace, callers, call).or_else(|| {
            // It was there at the looks before, too. One sample alone may have been in an earlier step.
            let since = at.0.saturating_sub(period.0.saturating_mul(MIN_SAMPLES_IN_A_ROW));
            let around = std::iter::successors(Some(seen), |&id| tree.parent(id)).take(MAX_DEPTH);
            around.filter(|&id| slices.start(id).0 < since).find_map(&self.place)
        })
    }

    /// One of those who were seen to make such calls, each as often as it was seen.
    fn alike(&mut self, trace: &Trace, callers: &Callers, call: SliceId) -> Option<u32> {
        let slices = trace.slices();
        let key = (slices.lane(call), slices.name(callers.blamed(call)));
        let seen = self.found.get(&key)?;
        let given = self.given.entry(key).or_insert_with(|| vec![0; seen.len()]);
        // The one that is furthest behind its share.
        let behind = |at: &usize| (given[*at] as f64 + 0.5) / seen[*at].1 as f64;
        let next = (0..seen.len()).min_by(|a, b| behind(a).total_cmp(&behind(b)))?;
        given[next] += 1;
        Some(seen[next].0)
    }
}

/// The innermost slice of a lane that is open at a moment.
fn innermost(trace: &Trace, tree: &CallTree, lane: LaneId, at: Ns) -> Option<SliceId> {
    let slices = trace.slices();
    let range = slices.lane_range(lane);
    let before = slices.starts()[range.clone()].partition_point(|&start| start <= at);
    let last = SliceId::from_index(range.start + before.checked_sub(1)?);
    std::iter::successors(Some(last), |&id| tree.parent(id)).take(MAX_DEPTH).find(|&id| slices.end(id) > at)
}

/// Frames that may have ended before a moment is found to be in none.
const MAX_DEPTH: usize = 512;
/// Looks in a row that must have seen a function before a call is taken for its.
const MIN_SAMPLES_IN_A_ROW: i64 = 3;
/// Functions that are distinguished for one operator.
const MAX_CALLERS: usize = 256;
