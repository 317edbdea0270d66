//! Tensors that go to the host and come back.

use std::collections::VecDeque;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Kind, LaneId, Ns, Order, SliceId, Trace};

use crate::causes::transfers::bytes;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, ShownSlice, USUAL, evidence, thresholds,
};
use crate::names::copies::{Direction, copy_name};
use crate::scope::intervals::Intervals;
use crate::threads::activity::Activity;
use crate::threads::host_time::Segment;

pub(super) const RULE: Rule = Rule {
    name: "round_trips",
    about: "Within a step, a tensor is copied to the host and one of the same size is copied back to the device.",
    thresholds: thresholds! {
        "round_trips.min_bytes" = 65536.0, "the smallest tensor that counts, in bytes";
        "round_trips.min_per_step" = 0.5, "round trips per step, on average";
    },
    answers: &["host", "copies"],
    check,
    ..USUAL
};

/// A copy down and the next copy up of as many bytes.
fn pairs(context: &Context<'_>) -> Vec<(SliceId, SliceId, i64)> {
    let (trace, slices, host) = (context.trace(), context.trace().slices(), context.host());
    let least = context.threshold("round_trips.min_bytes") as i64;
    let mut copies: Vec<(Ns, Direction, SliceId, i64)> = context
        .device_work()
        .filter(|&id| slices.kind(id) == Kind::Memcpy)
        .map(|id| (slices.start(id), copy_name(trace.name(id)).0, id))
        .filter(|c| matches!(c.1, Direction::HostToDevice | Direction::DeviceToHost))
        .filter_map(|(at, direction, id)| Some((at, direction, id, bytes(trace, id)?)))
        .filter(|c| c.3 >= least)
        // Other threads' copies are a library's: gloo, for one, brings gradients to the host and back.
        .filter(|c| trace.links().launch(c.2).is_some_and(|call| host.runs_the_program(host.home(trace, call))))
        .collect();
    copies.order_by_key(|c| c.0);
    let steps = &context.steps().steps;
    let step_of = |at: Ns| steps.partition_point(|s| Ns(s.start_ns) <= at);
    // What went down in this step and has not come back, by size, the first in front.
    let mut down: HashMap<i64, VecDeque<SliceId>, RandomState> = HashMap::default();
    let mut found = Vec::new();
    for of_step in copies.chunk_by(|a, b| step_of(a.0) == step_of(b.0)) {
        down.clear();
        for &(_, direction, id, bytes) in of_step {
            match direction {
                Direction::DeviceToHost => down.entry(bytes).or_default().push_back(id),
                _ => {
                    let back = down.get_mut(&bytes).and_then(VecDeque::pop_front);
                    found.extend(back.map(|down| (down, id, bytes)));
                }
            }
        }
    }
    found
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let steps = context.steps().steps.len().max(1);
    let trips = pairs(context);
    if (trips.len() as f64) < context.threshold("round_trips.min_per_step") * steps as f64 {
        return Vec::new();
    }
    let mut edit = Edit::new(context.trace());
    let copies = || trips.iter().flat_map(|t| [t.0, t.1]);
    let chosen: HashSet<SliceId, RandomState> = copies().collect();
    let launches = other_launches(context, &chosen);
    let mut windows: HashMap<LaneId, Vec<(Ns, Ns)>, RandomState> = HashMap::default();
    for &(down, up, _) in &trips {
        edit.device_length(down, 0);
        edit.device_length(up, 0);
        let calls = [down, up].map(|copy| trace.links().launch(copy));
        calls.iter().flatten().for_each(|&call| edit.no_wait(call));
        let [Some(down), Some(up)] = calls.map(|call| call.map(|call| copying_op(trace, context, call))) else {
            continue;
        };
        let mut lanes = vec![slices.lane(down), slices.lane(up)];
        lanes.dedup();
        let window = (slices.start(down), slices.end(up));
        lanes.into_iter().for_each(|lane| windows.entry(lane).or_default().push(window));
    }
    // What the host did with the tensors in between happens on the device then, in no time to speak of.
    for (lane, windows) in windows {
        let launches = launches.get(&lane).map_or(&[][..], Vec::as_slice);
        let nothing_launched = |start, end| {
            let next = launches.partition_point(|&at| at < start);
            launches.get(next).is_none_or(|&at| at >= end)
        };
        let (quiet, busy) = windows.into_iter().partition(|w| nothing_launched(w.0, w.1));
        // Trips that overlap are one, so that each moment is looked at once.
        for &window in Intervals::union(busy).as_slice() {
            edit.remove_between(lane, window, nothing_launched);
        }
        for &window in Intervals::union(quiet).as_slice() {
            edit.remove_between(lane, window, nothing_launched);
            // NumPy and the like leave no slices: only Python goes by between the two copies.
            let python =
                |s: &&Segment| s.activity == Activity::Python && s.start >= window.0 && s.end <= window.1;
            context.host().within(lane, window).iter().filter(python).for_each(|s| edit.remove_piece(s));
        }
    }
    for wait in context.waits().iter().filter(|w| w.until.is_some_and(|work| chosen.contains(&work))) {
        edit.no_wait(wait.call);
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let moved = trips.iter().fold(0i64, |all, t| all.saturating_add(t.2.saturating_mul(2)));
    let ns = copies().map(|c| slices.dur(c)).sum::<Ns>().0;
    let each = trips.len() as f64 / steps as f64;
    finding.confidence = Confidence::Medium;
    finding.title = match each.round() {
        n if n <= 1.0 => "Round trips: in each step a tensor goes to the host and comes back".to_owned(),
        n => format!("Round trips: {n:.0} tensors per step go to the host and come back"),
    };
    finding.evidence = evidence! {
        "round trips per step" => Amount::Number(each),
            "Copies to the host that a copy of as many bytes to the device follows within the step. Equal size is a heuristic \
             for the same tensor.";
        "bytes per step, both ways" => Amount::Bytes(moved / steps as i64), "Bytes of these copies, per step.";
        "copying per step" => Amount::Ns(ns / steps as i64), "Time of these copies on the device, per step.";
    };
    finding.why = "Something in the middle of the step runs on the CPU, so its input is copied to the host and its result back to \
                   the device, and the host waits for both."
        .to_owned();
    finding.fix =
        "Do that work on the device too: use torch operators instead of NumPy, and create masks and indices there."
            .to_owned();
    finding.code = Some(
        "y = f_torch(x)  # torch operators, not: torch.from_numpy(f(x.cpu().numpy())).cuda()\n\
         mask = torch.arange(n, device=x.device) < length  # created where it is used"
            .to_owned(),
    );
    finding.source = trips.first().and_then(|t| context.source(trace.links().launch(t.0)?));
    finding.verify = "Record again: `stepscope transfers` should show fewer copies to the host.".to_owned();
    finding.slices = context.shown(copies());
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}

/// How many operators that only copy stand inside each other at most; in PyTorch three.
const MAX_COPYING_DEPTH: usize = 16;

/// The outermost operator that only copies, or the call itself.
fn copying_op(trace: &Trace, context: &Context<'_>, call: SliceId) -> SliceId {
    let copies = |name: &str| {
        matches!(name, "aten::to" | "aten::_to_copy" | "aten::copy_" | "aten::cpu")
            || name.contains("ToCopyBackward")
    };
    let above = context.tree().ancestors(call).take(MAX_COPYING_DEPTH).take_while(|&op| copies(trace.name(op)));
    above.last().unwrap_or(call)
}

/// When each thread launched work other than these copies.
fn other_launches(
    context: &Context<'_>,
    copies: &HashSet<SliceId, RandomState>,
) -> HashMap<LaneId, Vec<Ns>, RandomState> {
    let (links, slices) = (context.trace().links(), context.trace().slices());
    let mut found: HashMap<LaneId, Vec<Ns>, RandomState> = HashMap::default();
    for call in
        context.device_work().filter(|work| !copies.contains(work)).filter_map(|work| links.launch(work))
    {
        found.entry(slices.lane(call)).or_default().push(slices.start(call));
    }
    found.values_mut().for_each(|times| times.sort_unstable());
    found
}
