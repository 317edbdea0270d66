//! What a sampler saw beside what was recorded.

use stepscope_model::{LaneId, Ns};

use super::Run;
use crate::threads::activity::Activity;
use crate::threads::python_places::{PythonPlace, PythonPlaces, python_places};
use crate::threads::sampled::SampleLanes;

/// A function with less of the time in Python than this is not most of it.
const MIN_MAIN_SHARE: f64 = 0.4;

impl Run {
    fn sampled(&self) -> &SampleLanes {
        self.sampled.get_or_init(|| SampleLanes::new(self.trace()))
    }

    /// Where the main thread is while it runs Python between operators, in the steps that means are over.
    pub fn python_places(&self) -> &PythonPlaces {
        self.places.get_or_init(|| self.places_of(Activity::Python))
    }

    fn places_of(&self, activity: Activity) -> PythonPlaces {
        let windows: Vec<(Ns, Ns)> = self.steps().counted().map(|step| step.window()).collect();
        python_places(self.trace(), self.host(), self.callers(), self.sampled(), &windows, activity)
    }

    /// The function of the program in which most of that time goes by, where there is one.
    pub(super) fn python_place(&self) -> Option<String> {
        self.python_places().leading(MIN_MAIN_SHARE).map(PythonPlace::describe)
    }

    /// The function of the program in which most of the main thread's loading of data goes by, where there is one.
    pub(crate) fn loading_place(&self) -> Option<String> {
        self.places_of(Activity::DataLoading).leading(MIN_MAIN_SHARE).map(PythonPlace::describe)
    }

    /// Python frames that a sampler saw on a thread at a moment, innermost first; the first few.
    pub fn sampled_stack(&self, lane: LaneId, at: Ns) -> Vec<&str> {
        let tree = self.callers().tree();
        let seen = self.sampled().at(self.trace(), tree, lane, at);
        let frames = std::iter::successors(seen, |&frame| tree.parent(frame));
        frames.take(64).map(|frame| self.trace().name(frame)).collect()
    }
}
