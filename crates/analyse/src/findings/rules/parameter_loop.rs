//! A loop in Python that changes tensors one by one: weights' running means, decay, clipping.
//!
//! Each turn has the same few elementwise operators, and at least one of them changes a tensor in place.

use foldhash::fast::RandomState;
use hashbrown::HashSet;
use stepscope_model::{Kind, Ns, SliceId, StrId};

use super::text::percent;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, USUAL, evidence, thresholds,
};
use crate::names::by_name::ByName;
use crate::threads::callers::at_or_under;

pub(super) const RULE: Rule = Rule {
    name: "parameter_loop",
    about: "A loop in Python changes many tensors in place, one by one, where one call could change them all.",
    thresholds: thresholds! {
        "parameter_loop.min_turns" = 16.0, "iterations of such a loop in a row";
    },
    answers: &["host"],
    check,
    ..USUAL
};

/// Operators of a turn at the most.
const MAX_PERIOD: usize = 4;

/// A loop: the operators of all its turns.
struct Loop {
    ops: Vec<SliceId>,
    period: usize,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices, host) = (context.trace(), context.trace().slices(), context.host());
    let loops = loops(context);
    if loops.is_empty() {
        return Vec::new();
    }
    let mut edit = Edit::new(trace);
    let mut gone: HashSet<SliceId, RandomState> = HashSet::default();
    for each in &loops {
        // The first turn represents the one call that does it all.
        let rest = &each.ops[each.period.min(each.ops.len() - 1)..];
        rest.iter().for_each(|&op| edit.remove_host(op));
        gone.extend(rest.iter().copied());
        let window = (slices.end(rest[0]), slices.end(each.ops[each.ops.len() - 1]));
        let between = host.within(slices.lane(rest[0]), window);
        between.iter().filter(|s| window.0 <= s.start).for_each(|s| edit.remove_piece(s));
    }
    // Work on small tensors is mostly the time it takes to begin; on large ones it remains.
    let short = Ns(5_000);
    for work in context.device_work().filter(|&work| slices.dur(work) < short) {
        let op = trace.links().launch(work).and_then(|call| context.asked_for(call));
        if op.is_some_and(|op| gone.contains(&op)) {
            edit.device_length(work, 0);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Replay) else {
        return Vec::new();
    };
    let Some(longest) = loops.iter().max_by_key(|each| each.ops.len()) else { return Vec::new() };
    let steps = context.steps().steps.len().max(1);
    let turns: usize = loops.iter().map(|each| each.ops.len() / each.period).sum();
    let names: Vec<&str> = longest.ops[..longest.period].iter().map(|&op| trace.name(op)).collect();
    let share = finding.saves_unprofiled_share.unwrap_or(0.0);
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Tensors are updated one by one: {} iterations of {} per step take {} of it",
        turns / steps,
        names.join(", "),
        percent(share)
    );
    finding.evidence = evidence! {
        "iterations per step" => Amount::Count((turns / steps) as u64),
            "How often the same one to four in-place operators follow each other on the main thread, at least \
             parameter_loop.min_turns times in a row and outside of an optimizer, per step.";
        "one iteration" => Amount::Text(names.join(" → ")), "The operators of one iteration.";
    };
    finding.why = "Each operator costs the host some microseconds and launches a kernel of its own, however small the tensor is."
        .to_owned();
    finding.fix =
        "Change all tensors with one call: the torch._foreach_… functions take lists of tensors.".to_owned();
    finding.code = Some(
        "torch._foreach_lerp_(means, weights, 0.001)   # for m, w in zip(means, weights): m.lerp_(w, 0.001)\n\
         torch._foreach_mul_(weights, 0.999)           # for w in weights: w.mul_(0.999)"
            .to_owned(),
    );
    finding.source = longest.ops.first().and_then(|&op| context.source(op));
    finding.verify = "Record again: `stepscope ops` should show a few _foreach_ operators instead.".to_owned();
    finding.slices = context.shown(loops.iter().flat_map(|each| each.ops.iter().copied()));
    vec![finding]
}

/// All loops of the main thread inside the steps.
fn loops(context: &Context<'_>) -> Vec<Loop> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let Some(main) = context.host().main() else { return Vec::new() };
    let mut is_optimizer = ByName::new(trace, |name| name.starts_with("Optimizer."));
    let in_optimizer = at_or_under(trace, context.tree(), |id| is_optimizer.get(slices.name(id)));
    let mut counted = ByName::new(trace, |name| is_in_place(name) || ELEMENTWISE_OPS.contains(&name));
    let is_op = |id: SliceId| slices.kind(id) == Kind::HostOp;
    let outermost = slices.of_lane(main).filter(|&id| is_op(id) && context.callers().op(id).is_none());
    let least = (context.threshold("parameter_loop.min_turns") as usize).max(2);
    let mut found = Vec::new();
    let mut run: Vec<SliceId> = Vec::new();
    for id in outermost {
        let counts = counted.get(slices.name(id))
            && !in_optimizer[id.index()]
            && context.steps().at(slices.start(id)).is_some();
        if counts {
            run.push(id);
        } else {
            split(context, std::mem::take(&mut run), least, &mut found);
        }
    }
    split(context, run, least, &mut found);
    found
}

/// Operators that compute what such a loop then stores.
const ELEMENTWISE_OPS: [&str; 12] = [
    "aten::mul",
    "aten::add",
    "aten::sub",
    "aten::div",
    "aten::lerp",
    "aten::addcmul",
    "aten::addcdiv",
    "aten::sqrt",
    "aten::pow",
    "aten::neg",
    "aten::clamp",
    "aten::sign",
];

/// Filling with zeros is what zero_grad does, which frameworks offer no better way for.
fn is_in_place(name: &str) -> bool {
    name.starts_with("aten::") && name.ends_with('_') && !name.ends_with("__") && name != "aten::zero_"
}

/// The loops in a row of operators.
fn split(context: &Context<'_>, run: Vec<SliceId>, least: usize, found: &mut Vec<Loop>) {
    let name = |at: usize| -> StrId { context.trace().slices().name(run[at]) };
    let mut from = 0;
    while from < run.len() {
        let reach = |period: usize| {
            let same = (from + period..run.len()).take_while(|&at| name(at) == name(at - period)).count();
            if same == 0 { 0 } else { same + period }
        };
        let best = (1..=MAX_PERIOD).map(|period| (reach(period), std::cmp::Reverse(period))).max();
        let Some((length, std::cmp::Reverse(period))) = best.filter(|b| b.0 / b.1.0 >= least) else {
            from += 1;
            continue;
        };
        if (from..from + period).any(|at| is_in_place(context.trace().text(name(at)))) {
            found.push(Loop { ops: run[from..from + length].to_vec(), period });
        }
        from += length;
    }
}
