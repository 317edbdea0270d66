//! The steps replayed: what decided how long they took, how long they take without the profiler, and what a change saves.

use std::sync::Arc;

use super::{Run, bare};
use crate::replay::critical_path::{CriticalPath, critical_path};
use crate::replay::recording::{Recording, WithoutProfiler};
use crate::replay::what_if::{Change, WhatIf, what_if_for_long};
use crate::replay::{self, Replay, Replayed, Scenario, Unchanged};
use crate::roofline::Clocks;

/// The mean step as it is without the profiler, and where it may lie.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Unprofiled {
    pub step_ns: i64,
    pub low_ns: i64,
    pub high_ns: i64,
    /// Whether steps were timed before the recording; else all of this is an estimate.
    pub measured: bool,
    /// The same by replay alone: what changes are measured against.
    replayed_ns: i64,
    /// How much of the estimated cost of recording is taken out for that.
    cost_share: f64,
    /// What the replay itself is off by.
    off_ns: i64,
}

impl Unprofiled {
    /// What is left of a saving by replay where the step was timed, and took less than recording explains.
    fn saved_ns(&self, by_replay_ns: i64) -> i64 {
        let replayed_ns = self.replayed_ns.saturating_add(self.off_ns);
        if !self.measured || self.step_ns >= replayed_ns {
            return by_replay_ns;
        }
        (by_replay_ns as f64 * self.step_ns as f64 / replayed_ns as f64) as i64
    }
}

/// What a change saves of a mean step.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Saving {
    /// Of the run as it was recorded.
    pub recorded_ns: i64,
    /// Of the run without the profiler.
    pub unprofiled_ns: i64,
}

impl Run {
    /// The steps, ready to be replayed with a change.
    pub fn replay(&self) -> &Replay {
        let make = || {
            let recording = self.recording();
            replay::build(self.trace(), &self.steps, self.host(), self.streams(), self.waits(), recording)
        };
        self.cached.replay.get_or_init(make)
    }

    /// What recording cost the host.
    pub fn recording(&self) -> &Arc<Recording> {
        self.whole.cached.recording.get_or_init(|| Arc::new(Recording::new(self.trace(), self.host())))
    }

    /// The mean step without the profiler: as it was timed, or else by replay (see [`crate::replay::recording`]).
    pub fn unprofiled(&self) -> &Unprofiled {
        self.cached.unprofiled.get_or_init(|| {
            let replayed =
                |share: f64| self.replay().run(&WithoutProfiler { change: &Unchanged, share }).replayed_ns;
            // What the replay is off by stays as it is.
            let off = self.step_ns() - self.replay().unchanged().replayed_ns;
            let timed = self.trace().meta().bare_steps.as_ref().filter(|_| !self.steps.synthetic);
            if let Some(bare) = timed.and_then(bare::mean_step) {
                let cost_share = bare::cost_share(bare.step_ns - off, replayed);
                let bare::BareStep { step_ns, low_ns, high_ns } = bare;
                let replayed_ns = replayed(cost_share);
                return Unprofiled {
                    step_ns,
                    low_ns,
                    high_ns,
                    measured: true,
                    replayed_ns,
                    cost_share,
                    off_ns: off,
                };
            }
            let replayed_ns = replayed(1.0);
            let off_by = self.recording().uncertainty();
            let [step_ns, low_ns, high_ns] = [replayed_ns, replayed(1.0 + off_by), replayed(1.0 - off_by)]
                .map(|ns| ns.saturating_add(off).max(0));
            Unprofiled { step_ns, low_ns, high_ns, measured: false, replayed_ns, cost_share: 1.0, off_ns: off }
        })
    }

    /// What slow steps add to the mean step without the profiler, where enough steps were timed.
    pub fn bare_unevenness_ns(&self) -> Option<i64> {
        self.trace().meta().bare_steps.as_ref().filter(|_| !self.steps.synthetic).and_then(bare::unevenness_ns)
    }

    /// The steps without the profiler, by replay.
    pub fn without_recording(&self) -> Replayed {
        self.replay().run(&WithoutProfiler { change: &Unchanged, share: self.unprofiled().cost_share })
    }

    /// How far the replay without any change is from the measured time, as a share of it.
    pub fn replay_error(&self) -> f64 {
        let unchanged = self.replay().unchanged();
        (unchanged.replayed_ns - unchanged.measured_ns).abs() as f64 / unchanged.measured_ns.max(1) as f64
    }

    /// How much slower the devices run when this goes on for long.
    fn clocks(&self) -> &Clocks {
        self.cached.clocks.get_or_init(|| Clocks::new(self.trace(), self.costs(), self.steps.steps.len()))
    }

    /// The run replayed with some changes. A change that touches nothing is an error that names it.
    pub fn what_if(&self, changes: &[Change]) -> Result<WhatIf, String> {
        let in_a_long_run = |before, after, scenario: &dyn Scenario| {
            self.clocks().in_a_long_run(before, after, |work, ns| scenario.device(work, ns))
        };
        let unprofiled = self.unprofiled();
        let mut answer =
            what_if_for_long(self.trace(), self.replay(), changes, unprofiled.cost_share, in_a_long_run)?;
        answer.saves_unprofiled_ns = unprofiled.saved_ns(answer.saves_unprofiled_ns);
        answer.saves_unprofiled_share = answer.saves_unprofiled_ns as f64 / unprofiled.step_ns.max(1) as f64;
        Ok(answer)
    }

    /// What a change would save of a mean step, by replay; never below zero. What the replay itself is off by is in
    /// neither: the run is replayed with the change and without.
    pub fn saves(&self, scenario: &impl Scenario) -> Saving {
        let replay = self.replay();
        let recorded = replay.unchanged().replayed_ns.saturating_sub(replay.run(scenario).replayed_ns);
        let unprofiled = self.unprofiled();
        let (before, share) = (unprofiled.replayed_ns, unprofiled.cost_share);
        let after = replay.run(&WithoutProfiler { change: scenario, share }).replayed_ns;
        let after = self.clocks().in_a_long_run(before, after, |work, ns| scenario.device(work, ns));
        let saved = unprofiled.saved_ns(before.saturating_sub(after));
        Saving { recorded_ns: recorded.max(0), unprofiled_ns: saved.max(0) }
    }

    /// The chain of work and waiting that decided how long the steps took.
    pub fn critical_path(&self) -> &CriticalPath {
        self.cached.path.get_or_init(|| critical_path(self.trace(), &self.steps, self.replay()))
    }
}
