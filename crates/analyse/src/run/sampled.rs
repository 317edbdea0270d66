//! What a sampler saw beside what was recorded.

use stepscope_model::{LaneId, Ns};

use super::Run;
use crate::threads::python_places::{PythonPlaces, loading_place, python_places};
use crate::threads::sampled::SampleLanes;

/// A function with less of the time in Python than this is not most of it.
const MIN_MAIN_SHARE: f64 = 0.4;

impl Run {
    fn sampled(&self) -> &SampleLanes {
        self.cached.sampled.get_or_init(|| SampleLanes::new(self.trace()))
    }

    /// Where the main thread is while it runs Python between operators, in the steps that means are over.
    pub fn python_places(&self) -> &PythonPlaces {
        self.cached.places.get_or_init(|| {
            python_places(self.trace(), self.host(), self.callers(), self.sampled(), &self.counted_windows())
        })
    }

    fn counted_windows(&self) -> Vec<(Ns, Ns)> {
        self.steps().counted().map(|step| step.window()).collect()
    }

    /// The function of the program in which most of that time goes by, where there is one.
    pub(super) fn python_place(&self) -> Option<String> {
        let places = self.python_places();
        let most = places.places.first().filter(|most| most.ns as f64 >= MIN_MAIN_SHARE * places.ns as f64)?;
        Some(most.describe())
    }

    /// The function of the program that the main thread's loading of data mostly runs, where samples show one.
    pub(crate) fn loading_place(&self) -> Option<String> {
        loading_place(self.trace(), self.host(), self.callers(), self.sampled(), &self.counted_windows())
    }

    /// Python frames that a sampler saw on a thread at a moment, innermost first; the first few.
    pub fn sampled_stack(&self, lane: LaneId, at: Ns) -> Vec<&str> {
        let tree = self.callers().tree();
        let seen = self.sampled().at(self.trace(), tree, lane, at);
        let frames = std::iter::successors(seen, |&frame| tree.parent(frame));
        frames.take(64).map(|frame| self.trace().name(frame)).collect()
    }
}
