//! Samples of a thread's Python stack, beside what was recorded of the thread.
//!
//! Recorders that do not see Python functions (PyTorch's without stacks) leave a thread's operators on its lane; our sampler
//! leaves what it saw of the same thread on another. A moment of the one is looked up in the other.

use stepscope_model::{CallTree, Domain, Kind, LaneId, LaneKey, Ns, SliceId, Tag, Trace};

/// Threads whose stacks were sampled are named so by our recordings.
pub(crate) const SAMPLES_OF: &str = "samples of ";

/// The lanes of samples, by the lane of their thread.
pub(crate) struct Sampled {
    lanes: Vec<(LaneId, LaneId)>,
}

impl Sampled {
    pub(crate) fn new(trace: &Trace) -> Sampled {
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
        Sampled { lanes }
    }

    /// The innermost function seen on a thread at a moment.
    pub(crate) fn at(&self, trace: &Trace, tree: &CallTree, lane: LaneId, at: Ns) -> Option<SliceId> {
        let found = self.lanes.binary_search_by_key(&lane, |pair| pair.0).ok()?;
        let slices = trace.slices();
        let range = slices.lane_range(self.lanes[found].1);
        let before = slices.starts()[range.clone()].partition_point(|&start| start <= at);
        let last = SliceId::from_index(range.start + before.checked_sub(1)?);
        let around = std::iter::successors(Some(last), |&id| tree.parent(id));
        around.take(MAX_DEPTH).find(|&id| slices.end(id) > at && slices.kind(id) == Kind::PythonFunction)
    }
}

/// Frames that may have ended before a moment is found to be in none.
const MAX_DEPTH: usize = 512;
