//! What a run is bound by.

use super::Run;
use crate::causes::verdict::{Circumstances, Verdict, verdict};
use crate::names::by_name::ByName;
use crate::names::calls::is_launch;

impl Run {
    /// What the account says in one sentence; of a program without operators, what its functions say.
    pub fn verdict(&self) -> Option<Verdict> {
        if let Some(hot) = self.hot() {
            return Some(hot.verdict());
        }
        let circumstances = Circumstances {
            unprofiled_share: self.unprofiled().step_ns as f64 / self.step_ns().max(1) as f64,
            launches_without_work: match self.streams().is_empty() {
                true => self.launching_calls(),
                false => 0,
            },
        };
        let mut verdict = verdict(self.account(), &circumstances)?;
        if let Some(words) = verdict.in_python.and_then(|of| Some(of.sentence(&self.python_place()?))) {
            verdict.text.push_str(&words);
        }
        Some(verdict)
    }

    /// Calls that hand work to a device.
    pub(super) fn launching_calls(&self) -> u64 {
        let slices = self.trace().slices();
        let mut launches = ByName::new(self.trace(), is_launch);
        let calls = slices.ids().filter(|&id| slices.kind(id).is_runtime());
        calls.filter(|&id| launches.get(slices.name(id))).count() as u64
    }
}
