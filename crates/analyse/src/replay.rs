//! The dependency graph of a run, and its replay.
//!
//! Nodes are moments: where a piece of host work begins or ends, where device work starts and ends. Edges are what
//! lies between and what one waits for: host work in the order of its thread, a launch on its way, the order of
//! a stream, a call that waits for the device, one stream that waits for another, the main thread handing over to
//! the backward pass. Every edge carries the time it took, so that replaying the graph unchanged gives
//! the measured times, and replaying it with some edges shortened gives what the run would have taken.
//!
//! Limits, by design: the host does the same calls in the same order; device work does not slow down what it
//! newly overlaps; data loader workers, other ranks and hardware queues are not modeled. A prediction is an estimate.

mod build;
pub mod critical_path;
mod device;
mod graph;
mod host;
pub mod recording;
pub mod what_if;

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{Ns, SliceId, Trace};

use crate::steps::Steps;
use crate::threads::activity::Activity;
use crate::threads::host_time::HostTime;

pub(crate) use build::build;
pub(crate) use graph::{EdgeWork, Graph};
use recording::Recording;

/// A piece of host work between two moments of the graph.
#[derive(Copy, Clone, Debug)]
pub struct HostPiece {
    /// What the thread was doing.
    pub activity: Activity,
    /// The innermost slice around it.
    pub slice: Option<SliceId>,
    pub start: Ns,
    /// How long it took by itself, waiting left out.
    pub ns: i64,
    /// How much of that recording is estimated to have taken.
    pub recording_ns: i64,
    /// How long the thread goes on around it from one launch, wait or handover to the next.
    pub stretch_ns: i64,
}

impl HostPiece {
    /// Host work between two launches that a CUDA graph, or a compiler, may take away: not what waits, loads, compiles
    /// or collects garbage, and not what goes on for so long that it must be something of the program's own.
    pub fn is_launching(&self) -> bool {
        const MAX_STRETCH_NS: i64 = 1_000_000;
        matches!(self.activity, Activity::Operator | Activity::Python | Activity::Launch | Activity::Runtime)
            && self.stretch_ns < MAX_STRETCH_NS
    }
}

/// What is different in a replay. Everything left alone takes as long as it did.
pub trait Scenario {
    /// How long a piece of host work takes.
    fn host(&self, piece: &HostPiece) -> i64 {
        piece.ns
    }

    /// How long a kernel, copy or fill takes. Work that takes no time any more also frees its place in the queue.
    fn device(&self, work: SliceId, ns: i64) -> i64 {
        let _ = work;
        ns
    }

    /// Whether a call still waits for the device.
    fn waits(&self, call: SliceId) -> bool {
        let _ = call;
        true
    }

    /// How long launched work takes to reach the device.
    fn latency(&self, work: SliceId, ns: i64) -> i64 {
        let _ = work;
        ns
    }
}

/// Nothing is different.
pub struct Unchanged;

impl Scenario for Unchanged {}

/// The graph of a trace with its steps, ready to be replayed.
pub struct Replay {
    pub(crate) graph: Graph,
    steps: Vec<StepNodes>,
    /// Device work of each step, by step: (step, node of its end).
    ends: Vec<(u32, u32)>,
    unchanged: OnceLock<Replayed>,
}

struct StepNodes {
    number: i64,
    partial: bool,
    measured: (Ns, Ns),
    host_start: (u32, Ns),
    host_end: (u32, Ns),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReplayedStep {
    pub step: i64,
    pub measured_ns: i64,
    /// How long it takes in the replay.
    pub replayed_ns: i64,
    /// Whether the recording probably lacks device work of it.
    pub partial: bool,
}

/// A replay of all steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Replayed {
    pub steps: Vec<ReplayedStep>,
    /// Measured time of the steps that are not partial (of all, if all are), on average.
    pub measured_ns: i64,
    /// Replayed time of the same, on average.
    pub replayed_ns: i64,
}

impl Replayed {
    fn from_steps(steps: Vec<ReplayedStep>) -> Replayed {
        let all_partial = steps.iter().all(|s| s.partial);
        let counted = || steps.iter().filter(|s| all_partial || !s.partial);
        let count = (counted().count() as i64).max(1);
        let measured_ns = counted().map(|s| Ns(s.measured_ns)).sum::<Ns>().0 / count;
        let replayed_ns = counted().map(|s| Ns(s.replayed_ns)).sum::<Ns>().0 / count;
        Replayed { steps, measured_ns, replayed_ns }
    }

    /// The part of the measured time that the change saves; negative if it costs.
    pub fn saved(&self) -> f64 {
        if self.measured_ns == 0 { 0.0 } else { 1.0 - self.replayed_ns as f64 / self.measured_ns as f64 }
    }
}

impl Replay {
    pub fn new(trace: &Trace, steps: &Steps) -> Replay {
        let streams = crate::devices::streams::streams(trace);
        let waits = crate::causes::waits::find(trace, &streams);
        let host = HostTime::new(trace);
        build(trace, steps, &host, &streams, &waits, &Arc::new(Recording::new(trace, &host)))
    }

    /// How many moments and how many ties between them the graph has.
    pub fn size(&self) -> (usize, usize) {
        (self.graph.len(), self.graph.edges().len())
    }

    /// The steps as they come out under a scenario.
    pub fn run(&self, scenario: &impl Scenario) -> Replayed {
        let times = self.graph.simulate(scenario);
        let at = |(node, offset): (u32, Ns)| times[node as usize] + offset;
        let mut done = Ns::MIN;
        let mut end_of = self.ends.iter().peekable();
        let mut steps = Vec::with_capacity(self.steps.len());
        for (i, step) in self.steps.iter().enumerate() {
            let mut end = at(step.host_end);
            while let Some((_, node)) = end_of.next_if(|(of, _)| *of as usize == i) {
                end = end.max(times[*node as usize]);
            }
            let mut start = at(step.host_start).max(done);
            if i == 0 {
                // Work from before the first step may have kept it waiting; that stays as it was.
                let host_start = self.graph.time(step.host_start.0) + step.host_start.1;
                start += (step.measured.0 - host_start).max(Ns::ZERO);
            }
            end = end.max(start);
            done = end;
            steps.push(ReplayedStep {
                step: step.number,
                measured_ns: (step.measured.1 - step.measured.0).0,
                replayed_ns: (end - start).0,
                partial: step.partial,
            });
        }
        Replayed::from_steps(steps)
    }

    /// The steps as they come out without any change.
    pub fn unchanged(&self) -> &Replayed {
        self.unchanged.get_or_init(|| self.run(&Unchanged))
    }

    /// The node at which the last step ends, and the moment the first begins.
    pub(crate) fn ends(&self) -> Option<(u32, Ns)> {
        let (first, last) = (self.steps.first()?, self.steps.last()?);
        let of_last = self.ends.iter().filter(|(of, _)| *of as usize + 1 == self.steps.len());
        let latest = of_last.map(|&(_, node)| node).chain([last.host_end.0]);
        Some((latest.max_by_key(|&node| self.graph.time(node))?, first.measured.0))
    }
}
