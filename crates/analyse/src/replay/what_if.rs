//! What if: the run replayed with something changed.
//!
//! An estimate, not a promise: [`crate::replay`] says what it does not model.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{CallTree, Kind, SliceId, Trace};

use crate::names::copies::{Direction, copy_name};
use crate::replay::recording::WithoutProfiler;
use crate::replay::{HostPiece, Replay, Replayed, Scenario, Unchanged};
use crate::scope::definition::{Definition, definitions};
use crate::threads::activity::Activity;
use crate::threads::callers::at_or_under;

pub const DEFINITIONS: &[Definition] = definitions! {
    "measured_ns", "Measured" =>
        "The mean wall time of the steps that are not partial (of all, if all are); for one step, its wall time.";
    "predicted_ns", "Predicted" =>
        "The measured time less what the change saves: the difference between two replays of the run's dependency graph, \
         without the change and with it. The host makes the same calls in the same order; nothing slows down because of \
         what it newly overlaps.";
    "replayed_ns", "Predicted" => "The wall time of one step when the run is replayed with the change.";
    crate::steps::STEP;
    "replay_error", "Replay error" =>
        "How far the replay without any change is from the measured time, as a fraction of it.";
    "speedup", "Speedup" => "Measured time divided by predicted time.";
};

/// A replay that is further off than this, as a share of the measured time, only gives bounds.
pub const MAX_REPLAY_ERROR: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Change {
    /// The device work of an operator and of all it calls takes so many times less; its host time if it has none.
    Operator {
        /// The operator's or range's exact name.
        name: String,
        speedup: f64,
    },
    /// Kernels whose name contains a text take so many times less.
    Kernel { name: String, speedup: f64 },
    /// The next batch is always there.
    NoDataLoading,
    /// No call waits for a device.
    NoSynchronization,
    /// Copies between host and device run beside everything else.
    OverlapTransfers,
    /// Host work between launches takes no time, as in a CUDA graph: stretches of up to a millisecond.
    FreeLaunches,
    /// Device work takes as long as given here.
    Lengths {
        what: String,
        /// New lengths in nanoseconds.
        #[serde(skip)]
        ns: HashMap<SliceId, i64, RandomState>,
    },
}

impl Change {
    pub fn describe(&self) -> String {
        match self {
            Change::Operator { name, speedup } => format!("{name} {speedup}x faster"),
            Change::Kernel { name, speedup } => format!("kernels named '{name}' {speedup}x faster"),
            Change::NoDataLoading => "no data loading".to_owned(),
            Change::NoSynchronization => "no synchronization".to_owned(),
            Change::OverlapTransfers => "overlapped transfers".to_owned(),
            Change::FreeLaunches => "free launches (CUDA graphs)".to_owned(),
            Change::Lengths { what, .. } => what.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WhatIf {
    pub changes: Vec<String>,
    pub measured_ns: i64,
    pub predicted_ns: i64,
    /// Measured divided by predicted.
    pub speedup: f64,
    /// Relative error of the replay without change.
    pub replay_error: f64,
    /// What the change saves of a mean step without the profiler.
    pub saves_unprofiled_ns: i64,
    /// The same as a share of that step.
    pub saves_unprofiled_share: f64,
    /// Device work that the changes touch.
    pub device_slices_changed: u64,
    pub steps: Vec<crate::replay::ReplayedStep>,
}

/// Replays with some changes. A change that touches nothing is an error that names it.
pub fn what_if(trace: &Trace, replay: &Replay, changes: &[Change]) -> Result<WhatIf, String> {
    what_if_for_long(trace, replay, changes, 1.0, |_, after, _| after)
}

/// The same. Of the step without the profiler, `cost_share` says how much of the estimated cost of recording is taken out
/// for it, and `in_a_long_run` what becomes of it when the changed run goes on for long, from that step before and after
/// the change.
pub fn what_if_for_long(
    trace: &Trace,
    replay: &Replay,
    changes: &[Change],
    cost_share: f64,
    in_a_long_run: impl Fn(i64, i64, &dyn Scenario) -> i64,
) -> Result<WhatIf, String> {
    let plan = Plan::new(trace, changes)?;
    let run = replay.run(&plan);
    let unchanged = replay.unchanged();
    let error = (unchanged.replayed_ns - unchanged.measured_ns).abs() as f64;
    // What the replay itself is off by is in neither of the two that a saving is the difference of.
    let saved = unchanged.replayed_ns.saturating_sub(run.replayed_ns);
    let predicted_ns = run.measured_ns.saturating_sub(saved).max(plan.floor_ns(&run)).max(0);
    let without = |changed: bool| match changed {
        true => replay.run(&WithoutProfiler { change: &plan, share: cost_share }).replayed_ns,
        false => replay.run(&WithoutProfiler { change: &Unchanged, share: cost_share }).replayed_ns,
    };
    let (before, after) = (without(false), without(true).max(plan.floor_ns(&run)));
    let after = in_a_long_run(before, after, &plan);
    Ok(WhatIf {
        changes: changes.iter().map(Change::describe).collect(),
        measured_ns: run.measured_ns,
        predicted_ns,
        speedup: run.measured_ns as f64 / predicted_ns.max(1) as f64,
        replay_error: error / unchanged.measured_ns.max(1) as f64,
        saves_unprofiled_ns: before.saturating_sub(after),
        saves_unprofiled_share: before.saturating_sub(after) as f64 / before.max(1) as f64,
        device_slices_changed: plan.lengths.len() as u64,
        steps: run.steps,
    })
}

/// Changes worked out for one trace.
pub(crate) struct Plan {
    lengths: HashMap<SliceId, i64, RandomState>,
    host_factor: HashMap<SliceId, f64, RandomState>,
    free: Vec<Activity>,
    no_waits: bool,
    overlap: bool,
    free_launches: bool,
    copies_ns: i64,
}

impl Plan {
    pub(crate) fn new(trace: &Trace, changes: &[Change]) -> Result<Plan, String> {
        let mut plan = Plan {
            lengths: HashMap::default(),
            host_factor: HashMap::default(),
            free: Vec::new(),
            no_waits: false,
            overlap: false,
            free_launches: false,
            copies_ns: 0,
        };
        for change in changes {
            match change {
                Change::Operator { name, speedup } => plan.operator(trace, name, *speedup)?,
                Change::Kernel { name, speedup } => plan.kernels(trace, name, *speedup)?,
                Change::NoDataLoading => plan.free.push(Activity::DataLoading),
                Change::NoSynchronization => plan.no_waits = true,
                Change::OverlapTransfers => plan.transfers(trace),
                Change::FreeLaunches => plan.free_launches = true,
                Change::Lengths { ns, .. } => plan.lengths.extend(ns.iter().map(|(k, v)| (*k, *v))),
            }
        }
        Ok(plan)
    }

    fn shorten(&mut self, trace: &Trace, work: SliceId, speedup: f64) {
        let ns = self.lengths.get(&work).copied().unwrap_or(trace.slices().dur(work).0);
        self.lengths.insert(work, (ns as f64 / speedup).round() as i64);
    }

    fn kernels(&mut self, trace: &Trace, name: &str, speedup: f64) -> Result<(), String> {
        let slices = trace.slices();
        let of_name = |&id: &SliceId| slices.kind(id) == Kind::Kernel && trace.name(id).contains(name);
        let found: Vec<SliceId> = slices.ids().filter(of_name).collect();
        if found.is_empty() {
            return Err(format!("no kernel here has '{name}' in its name"));
        }
        found.into_iter().for_each(|id| self.shorten(trace, id, speedup));
        Ok(())
    }

    fn operator(&mut self, trace: &Trace, name: &str, speedup: f64) -> Result<(), String> {
        let slices = trace.slices();
        let wanted = trace.strings().find(name);
        let named = |id: SliceId| {
            Some(slices.name(id)) == wanted && matches!(slices.kind(id), Kind::HostOp | Kind::HostAnnotation)
        };
        if !slices.ids().any(named) {
            return Err(format!("no operator or range here is called '{name}'"));
        }
        let tree = CallTree::build(trace, |kind| kind != Kind::PythonFunction);
        let under = at_or_under(trace, &tree, named);
        let under = |id: SliceId| under[id.index()];
        let work = slices.ids().filter(|&id| slices.kind(id).is_device_work());
        let of_op = work.filter(|&id| trace.links().launch(id).or(trace.links().op(id)).is_some_and(under));
        let of_op: Vec<SliceId> = of_op.collect();
        if of_op.is_empty() {
            let host = slices.ids().filter(|&id| slices.kind(id).is_host() && under(id));
            self.host_factor.extend(host.map(|id| (id, 1.0 / speedup)));
        }
        of_op.into_iter().for_each(|id| self.shorten(trace, id, speedup));
        Ok(())
    }

    fn transfers(&mut self, trace: &Trace) {
        let slices = trace.slices();
        for id in slices.ids().filter(|&id| slices.kind(id) == Kind::Memcpy) {
            if matches!(copy_name(trace.name(id)).0, Direction::HostToDevice | Direction::DeviceToHost) {
                self.overlap = true;
                self.copies_ns = self.copies_ns.saturating_add(slices.dur(id).0);
                self.lengths.insert(id, 0);
                if let Some(call) = trace.links().launch(id) {
                    // What an asynchronous call costs instead of one that stages and waits.
                    let ns = slices.dur(call).0.max(1);
                    self.host_factor.insert(call, (5_000.0 / ns as f64).min(1.0));
                }
            }
        }
    }

    /// Overlapped copies still take their time: a step cannot be shorter than its copies.
    fn floor_ns(&self, run: &Replayed) -> i64 {
        if self.overlap { self.copies_ns / (run.steps.len() as i64).max(1) } else { 0 }
    }
}

impl Scenario for Plan {
    fn host(&self, piece: &HostPiece) -> i64 {
        if self.free.contains(&piece.activity) || (self.free_launches && piece.is_launching()) {
            return 0;
        }
        match piece.slice.and_then(|s| self.host_factor.get(&s)) {
            Some(factor) => (piece.ns as f64 * factor).round() as i64,
            None => piece.ns,
        }
    }

    fn device(&self, work: SliceId, ns: i64) -> i64 {
        self.lengths.get(&work).copied().unwrap_or(ns)
    }

    fn waits(&self, _: SliceId) -> bool {
        // A copy that blocks is a transfer; it no longer blocks if overlapped.
        !self.no_waits && !self.overlap
    }

    fn latency(&self, _: SliceId, ns: i64) -> i64 {
        if self.free_launches { 0 } else { ns }
    }
}
