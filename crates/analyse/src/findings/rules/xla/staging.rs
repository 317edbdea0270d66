//! Arrays that a step is given on the host: JAX and TensorFlow copy them to pinned memory first, and the device waits.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use stepscope_model::{Kind, Ns, SliceId};

use crate::causes::transfers::bytes;
use crate::findings::{Amount, Confidence, Context, Estimate, Finding, evidence};
use crate::names::by_name::ByName;
use crate::names::copies::{Direction, copy_name};
use crate::names::framework::stages_a_copy;
use crate::replay::{HostPiece, Scenario};
use crate::scope::intervals::{Collector, CumulativeSpans};
use crate::scope::share::percent;
use crate::threads::activity::Activity;

/// Arrays are on the device when the step needs them.
struct ArraysOnDevice {
    /// When some thread prepared a copy.
    staging: CumulativeSpans,
    slices: HashSet<SliceId, RandomState>,
    copies: HashSet<SliceId, RandomState>,
}

impl Scenario for ArraysOnDevice {
    fn host(&self, piece: &HostPiece) -> i64 {
        if piece.slice.is_some_and(|slice| self.slices.contains(&slice)) {
            return 0;
        }
        match piece.activity {
            // The thread that runs the step is in the runtime until the copy is on its way.
            Activity::Runtime => {
                let end = Ns(piece.start.0.saturating_add(piece.ns));
                piece.ns - self.staging.length_in((piece.start, end)).0.min(piece.ns)
            }
            _ => piece.ns,
        }
    }

    fn device(&self, work: SliceId, ns: i64) -> i64 {
        if self.copies.contains(&work) { 0 } else { ns }
    }
}

/// Looks for copies that a device waits for while threads of the host prepare them.
pub(in super::super) fn find(context: &Context<'_>, rule: &'static str) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let mut stages = ByName::new(trace, stages_a_copy);
    let mut staging = Collector::default();
    let mut staged: HashSet<SliceId, RandomState> = HashSet::default();
    for id in slices.ids().filter(|&id| slices.kind(id) == Kind::FrameworkCall) {
        if stages.get(slices.name(id)) && context.steps().at(slices.start(id)).is_some() {
            staging.add(slices.start(id), slices.end(id));
            staged.insert(id);
        }
    }
    let mut to_device = ByName::new(trace, |name| copy_name(name).0 == Direction::HostToDevice);
    let work = context.device_work().filter(|&id| slices.kind(id) == Kind::Memcpy);
    let copies: HashSet<SliceId, RandomState> = work.filter(|&id| to_device.get(slices.name(id))).collect();
    let staging = staging.finish();
    let (staging_ns, copying_ns) = (staging.length(), copies.iter().map(|&copy| slices.dur(copy)).sum::<Ns>());
    let per_step = context.per_step((staging_ns + copying_ns).0);
    let min_share = context.threshold("exposed_copies.min_share");
    if copies.is_empty() || (per_step as f64) < min_share * context.step_ns() as f64 {
        return Vec::new();
    }
    let moved = copies.iter().filter_map(|&copy| bytes(trace, copy)).fold(0, i64::saturating_add);
    let there = ArraysOnDevice { staging: staging.measured(), slices: staged, copies };
    let Some(mut finding) = context.costing(rule, context.saves(&there), Estimate::Replay) else {
        return Vec::new();
    };
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Exposed copies: arrays are copied to the device inside the step, which takes {} of it",
        percent(per_step as f64 / context.step_ns().max(1) as f64)
    );
    finding.evidence = evidence! {
        "preparing copies per step" => Amount::Ns(context.per_step(staging_ns.0)),
            "Time per step in which some thread of the runtime puts arrays into memory that the device can read.";
        "copying per step" => Amount::Ns(context.per_step(copying_ns.0)), "Time of the copies to the device, per step.";
        "bytes per step" => Amount::Bytes(context.per_step(moved)), "Bytes copied to the device, per step.";
    };
    finding.slices = context.shown(there.slices.iter().chain(&there.copies).copied());
    finding.source = finding.slices.iter().find_map(|shown| context.source(shown.slice));
    vec![finding]
}
