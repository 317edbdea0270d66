//! Tensors that go to the host and come back.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Kind, LaneId, Ns, SliceId, Trace};

use crate::activity::Activity;
use crate::findings::{Confidence, Context, Edit, Estimate, Evidence, Figure, Finding, Rule, Threshold};
use crate::host_time::Segment;
use crate::transfers::{Direction, bytes, copy_name};

pub(super) const RULE: Rule = Rule {
    name: "round_trips",
    about: "Within a step a tensor is copied to the host and one of the same size back to the device.",
    thresholds: &[
        Threshold { name: "round_trips.min_bytes", default: 65536.0, text: "bytes of a tensor that counts" },
        Threshold { name: "round_trips.min_per_step", default: 0.5, text: "round trips a step, on average" },
    ],
    check,
};

/// A copy down and the next copy up of as many bytes.
fn pairs(context: &Context<'_>) -> Vec<(SliceId, SliceId, i64)> {
    let (trace, slices) = (context.trace, context.trace.slices());
    let least = context.limit("round_trips.min_bytes") as i64;
    let mut copies: Vec<(Ns, Direction, SliceId, i64)> = context
        .device_work()
        .filter(|&id| slices.kind(id) == Kind::Memcpy)
        .map(|id| (slices.start(id), copy_name(trace.name(id)).0, id))
        .filter(|c| matches!(c.1, Direction::HostToDevice | Direction::DeviceToHost))
        .filter_map(|(at, direction, id)| Some((at, direction, id, bytes(trace, id)?)))
        .filter(|c| c.3 >= least)
        .collect();
    copies.sort_by_key(|c| c.0);
    let steps = &context.steps.steps;
    let step_of = |at: Ns| steps.partition_point(|s| Ns(s.start_ns) <= at);
    let mut down: Vec<(usize, SliceId, i64)> = Vec::new();
    let mut found = Vec::new();
    for (at, direction, id, bytes) in copies {
        let step = step_of(at);
        down.retain(|d| d.0 == step);
        match direction {
            Direction::DeviceToHost => down.push((step, id, bytes)),
            _ => {
                if let Some(at) = down.iter().position(|d| d.2 == bytes) {
                    found.push((down.swap_remove(at).1, id, bytes));
                }
            }
        }
    }
    found
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace, context.trace.slices());
    let steps = context.steps.steps.len().max(1);
    let trips = pairs(context);
    if (trips.len() as f64) < context.limit("round_trips.min_per_step") * steps as f64 {
        return Vec::new();
    }
    let mut edit = Edit::default();
    let copies = || trips.iter().flat_map(|t| [t.0, t.1]);
    let launches = other_launches(context, &copies().collect());
    for &(down, up, _) in &trips {
        edit.device_length(down, 0);
        edit.device_length(up, 0);
        let calls = [down, up].map(|copy| trace.links().launch(copy));
        calls.iter().flatten().for_each(|&call| edit.no_wait(call));
        let [Some(down), Some(up)] = calls.map(|call| call.map(|call| copying_op(trace, context, call))) else {
            continue;
        };
        // What the host did with the tensor in between happens on the device then, in no time to speak of.
        let mut lanes = vec![slices.lane(down), slices.lane(up)];
        lanes.dedup();
        for lane in lanes {
            let window = (slices.start(down), slices.end(up));
            let launches = launches.get(&lane).map_or(&[][..], Vec::as_slice);
            let nothing_launched = |start, end| {
                let next = launches.partition_point(|&at| at < start);
                launches.get(next).is_none_or(|&at| at >= end)
            };
            edit.remove_between(trace, lane, window, nothing_launched);
            // NumPy and the like leave no slices: only Python goes by between the two copies.
            if nothing_launched(window.0, window.1) {
                let python =
                    |s: &&Segment| s.activity == Activity::Python && s.start >= window.0 && s.end <= window.1;
                context.host().within(lane, window).iter().filter(python).for_each(|s| edit.remove_piece(s));
            }
        }
    }
    for wait in context.waits().iter().filter(|w| w.until.is_some_and(|u| copies().any(|c| c == u))) {
        edit.no_wait(wait.call);
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let moved: i64 = trips.iter().map(|t| t.2 * 2).sum();
    let ns: i64 = copies().map(|c| trace.slices().dur(c).0).sum();
    let each = trips.len() as f64 / steps as f64;
    finding.confidence = Confidence::Medium;
    finding.title = format!("Round trips: {each:.0} tensors a step go to the host and come back");
    finding.evidence = vec![
        Evidence::new(
            "round trips a step",
            Figure::Number(each),
            "Copies to the host followed within the step by a copy of as many bytes to the device. Equal size is a heuristic for the same tensor.",
        ),
        Evidence::new(
            "bytes a step, both ways",
            Figure::Bytes(moved / steps as i64),
            "Bytes of these copies, over the number of steps.",
        ),
        Evidence::new("copying a step", Figure::Ns(ns / steps as i64), "Time of these copies on the device."),
    ];
    finding.why = "Something in the middle of the model runs on the CPU, so its input goes down and its result up again, and the \
                   host waits for both."
        .to_owned();
    finding.fix =
        "Do that part on the device too: use torch operators instead of numpy, create masks and indices there."
            .to_owned();
    finding.code = Some(
        "# instead of: y = torch.from_numpy(f(x.cpu().numpy())).cuda()\n\
         y = f_torch(x)                                   # the same with torch operators, on x.device\n\
         mask = torch.arange(n, device=x.device) < limit  # made where it is used"
            .to_owned(),
    );
    finding.source = trips.first().and_then(|t| context.source(trace.links().launch(t.0)?));
    finding.verify = "Record again: `stepscope transfers` should show fewer copies to the host.".to_owned();
    finding.slices = context.shown(copies());
    finding.range_ns = finding.slices.first().map(|s| (s.start_ns, s.start_ns + s.dur_ns));
    vec![finding]
}

/// The outermost operator that only copies, or the call itself.
fn copying_op(trace: &Trace, context: &Context<'_>, call: SliceId) -> SliceId {
    let copies = |name: &str| {
        matches!(name, "aten::to" | "aten::_to_copy" | "aten::copy_" | "aten::cpu")
            || name.contains("ToCopyBackward")
    };
    let above = context.tree().ancestors(call).take_while(|&op| copies(trace.name(op)));
    above.last().unwrap_or(call)
}

/// When each thread launched work other than these copies.
fn other_launches(
    context: &Context<'_>,
    copies: &HashSet<SliceId, RandomState>,
) -> HashMap<LaneId, Vec<Ns>, RandomState> {
    let (links, slices) = (context.trace.links(), context.trace.slices());
    let mut found: HashMap<LaneId, Vec<Ns>, RandomState> = HashMap::default();
    for call in
        context.device_work().filter(|work| !copies.contains(work)).filter_map(|work| links.launch(work))
    {
        found.entry(slices.lane(call)).or_default().push(slices.start(call));
    }
    found.values_mut().for_each(|times| times.sort_unstable());
    found
}
