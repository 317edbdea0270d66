//! What a sampler saw beside what was recorded.

use stepscope_model::{LaneId, Ns};

use super::Run;
use crate::threads::sampled::Sampled;

impl Run {
    /// Python frames that a sampler saw on a thread at a moment, innermost first; the first few.
    pub fn sampled_stack(&self, lane: LaneId, at: Ns) -> Vec<&str> {
        let tree = self.callers().tree();
        let seen = self.sampled.get_or_init(|| Sampled::new(self.trace())).at(self.trace(), tree, lane, at);
        let frames = std::iter::successors(seen, |&frame| tree.parent(frame));
        frames.take(64).map(|frame| self.trace().name(frame)).collect()
    }
}
