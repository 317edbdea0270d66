//! Operators that prepare a kernel for shapes that they have not seen, step after step.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use stepscope_model::{Attr, LaneId, Ns, SliceId, StrId};

use super::text::{steps, time};
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Needs, Rule, USUAL, evidence, thresholds,
};
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "new_shapes",
    about: "An operator takes far longer on the host whenever its inputs have shapes that it has not seen, and they go on \
            changing: a cache that grows by a token, batches of any length. Needs record_shapes=True.",
    thresholds: thresholds! {
        "new_shapes.min_ms" = 1.0, "milliseconds of the host that such a call takes of its own";
        "new_shapes.factor" = 10.0, "such a call, divided by what one with known shapes takes";
        "new_shapes.steps_share" = 0.5, "share of the steps with such a call";
    },
    trials: &["flash-attention"],
    needs: &[Needs::Shapes],
    answers: &["host", "compilation", "first_use"],
    check,
    ..USUAL
};

/// Fewer are the warm-up of a program.
const MIN_CALLS: usize = 3;

/// The calls of one operator.
#[derive(Default)]
struct Calls {
    /// With shapes that come for the first time in this recording, and their own time.
    first: Vec<(SliceId, i64)>,
    /// What the others take of their own.
    again: Vec<i64>,
}

/// What calls of an operator cost that prepare something.
struct Preparation {
    calls: Vec<(SliceId, i64)>,
    /// What a call with known shapes takes.
    usual_ns: i64,
    steps: usize,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let of_operators = calls(context);
    let costs = |p: &Preparation| p.calls.iter().map(|call| Ns(call.1)).sum::<Ns>();
    let found = of_operators.into_iter().filter_map(|(name, calls)| Some((name, preparation(context, calls)?)));
    let Some((name, found)) = found.max_by_key(|(name, p)| (costs(p), std::cmp::Reverse(*name))) else {
        return Vec::new();
    };
    let trace = context.trace();
    let mut edit = Edit::new(trace);
    found.calls.iter().for_each(|call| edit.host_length(call.0, found.usual_ns));
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let name = trace.strings().get(name);
    let each = costs(&found).0 / found.calls.len().max(1) as i64;
    finding.confidence = Confidence::High;
    finding.title = format!(
        "New shapes: {name} takes {} for shapes that it has not seen, in {} of {}, and {} for known ones",
        time(each),
        found.steps,
        steps(context.steps().steps.len()),
        time(found.usual_ns)
    );
    finding.evidence = evidence! {
        "calls with new shapes" => Amount::Count(found.calls.len() as u64),
            "Calls of the operator whose input shapes come for the first time in this recording, and that take at least \
             new_shapes.min_ms.";
        "their own time" => Amount::Ns(each),
            "What such a call takes of the host, on average, without the operators and calls inside.";
        "with known shapes" => Amount::Ns(found.usual_ns), "The same of the operator's other calls: their median.";
    };
    finding.why = "Libraries choose or build a kernel for each new shape and keep it. Where every step has shapes of its own, \
                   they never use what they kept, and the device waits each time."
        .to_owned();
    (finding.fix, finding.code) = if name.contains("cudnn_attention") {
        (
            "Have another kernel compute attention, which needs no plan for each length; or keep the shapes the same: a \
             key-value cache of a fixed length, with a mask."
                .to_owned(),
            Some("torch.backends.cuda.enable_cudnn_sdp(False)  # FlashAttention takes any length".to_owned()),
        )
    } else {
        (
            "Have few shapes: pad what changes to the next of a few sizes, or allocate it once at its largest."
                .to_owned(),
            Some("length = (length + 63) // 64 * 64  # few lengths instead of all: pad up to it".to_owned()),
        )
    };
    finding.source = found.calls.iter().find_map(|call| context.source(call.0));
    finding.verify = format!("Record again: no call of {name} should take much longer than the others.");
    finding.slices = context.shown(found.calls.iter().map(|call| call.0));
    vec![finding]
}

/// What calls with new shapes cost, if they come in step after step.
fn preparation(context: &Context<'_>, calls: Calls) -> Option<Preparation> {
    let Calls { first, mut again } = calls;
    let least = context.threshold("new_shapes.min_ms") * 1e6;
    again.sort_unstable();
    let usual_ns = *again.get(again.len() / 2)?;
    // Calls that are long whatever their shapes are not preparation.
    if again.iter().rev().take(again.len() / 10 + 1).all(|&ns| ns as f64 >= least) {
        return None;
    }
    let least = least.max(usual_ns as f64 * context.threshold("new_shapes.factor")) as i64;
    let calls: Vec<(SliceId, i64)> = first.into_iter().filter(|call| call.1 >= least).collect();
    let all = &context.steps().steps;
    let (slices, mut of_step) = (context.trace().slices(), vec![false; all.len()]);
    for &(id, _) in &calls {
        let at = all.partition_point(|step| step.window().1 <= slices.start(id));
        of_step.get_mut(at).into_iter().for_each(|has| *has = true);
    }
    let steps = of_step.iter().filter(|&&has| has).count();
    let is_usual = steps as f64 >= context.threshold("new_shapes.steps_share") * all.len() as f64;
    (calls.len() >= MIN_CALLS && is_usual).then_some(Preparation { calls, usual_ns, steps })
}

/// The calls of operators that are long at times and whose shapes are known, in the threads that run the program.
fn calls(context: &Context<'_>) -> HashMap<StrId, Calls, RandomState> {
    let (trace, host) = (context.trace(), context.host());
    let slices = trace.slices();
    let lanes: Vec<LaneId> = host.main().into_iter().chain(host.backward().iter().copied()).collect();
    let own = lanes.iter().flat_map(|&lane| host.of_lane(lane)).filter_map(|segment| {
        let is_own = matches!(segment.activity, Activity::Operator | Activity::FirstUse);
        Some((segment.slice.filter(|_| is_own)?, (segment.end - segment.start).0))
    });
    let least = (context.threshold("new_shapes.min_ms") * 1e6) as i64;
    let long = own.clone().filter(|piece| piece.1 >= least);
    let names: HashSet<StrId, RandomState> = long.map(|piece| slices.name(piece.0)).collect();
    let mut own_ns: HashMap<SliceId, i64, RandomState> = HashMap::default();
    for (id, ns) in own.filter(|piece| names.contains(&slices.name(piece.0))) {
        let sum = own_ns.entry(id).or_default();
        *sum = sum.saturating_add(ns);
    }
    let mut in_order: Vec<(SliceId, i64)> = own_ns.into_iter().collect();
    in_order.sort_unstable_by_key(|&(id, _)| (slices.start(id), id));
    let mut seen: HashSet<(StrId, StrId), RandomState> = HashSet::default();
    let mut found: HashMap<StrId, Calls, RandomState> = HashMap::default();
    for (id, ns) in in_order {
        let Some(shapes) = trace.args(id).text_id(Attr::InputShapes) else { continue };
        let calls = found.entry(slices.name(id)).or_default();
        match seen.insert((slices.name(id), shapes)) {
            true => calls.first.push((id, ns)),
            false => calls.again.push(ns),
        }
    }
    found
}
