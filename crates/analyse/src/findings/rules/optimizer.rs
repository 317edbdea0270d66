//! Optimizers that update parameters one by one.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, SliceId, StrId};

use super::matrix::total;
use crate::findings::{
    Amount, Confidence, Context, Edit, Estimate, Finding, Rule, USUAL, evidence, thresholds,
};
use crate::roofline::{Family, OpCost};
use crate::scope::quantile::quantile;

pub(super) const RULE: Rule = Rule {
    name: "optimizer",
    about: "The optimizer updates parameters one by one or with many kernels, although a fused update exists.",
    thresholds: thresholds! {
        "optimizer.min_kernels" = 30.0, "kernels of the optimizer per step";
    },
    trials: &["fused-optimizer"],
    answers: &["gpu", "host"],
    check,
    ..USUAL
};

/// What one fused update moves for each parameter, in elements: Adam reads the parameter, its gradient and two
/// moments and writes three of them; SGD with momentum has one moment less.
fn elements_moved(optimizer: &str) -> Option<f64> {
    let known = |word: &str| optimizer.contains(word);
    if known("Adam") {
        Some(7.0)
    } else if known("SGD") || known("Adagrad") {
        Some(5.0)
    } else {
        None
    }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let ranges: Vec<SliceId> = slices
        .ids()
        .filter(|&id| slices.kind(id) == Kind::HostAnnotation && trace.name(id).starts_with("Optimizer.step#"))
        .collect();
    let Some(&first) = ranges.first() else { return Vec::new() };
    let name = trace.name(first).trim_start_matches("Optimizer.step#").trim_end_matches(".step").to_owned();
    let Some(moved) = elements_moved(&name) else { return Vec::new() };
    let inside = |id: SliceId| {
        let at = ranges
            .partition_point(|&r| (slices.lane(r), slices.start(r)) <= (slices.lane(id), slices.start(id)));
        at > 0
            && slices.lane(ranges[at - 1]) == slices.lane(id)
            && slices.start(id) < slices.end(ranges[at - 1])
    };
    let ops: Vec<&OpCost> = context.costs().ops.iter().filter(|op| inside(op.slice)).collect();
    if ops.is_empty() {
        return by_name(context, &name, moved, &ranges, inside);
    }
    let is_fused = |op: &&OpCost| trace.name(op.slice).contains("_fused_");
    let kernels: u64 = ops.iter().map(|op| u64::from(op.kernels)).sum();
    let rounds = ranges.len().max(1);
    let per_step = kernels as f64 / rounds as f64;
    if per_step < context.threshold("optimizer.min_kernels") || ops.iter().any(is_fused) {
        return Vec::new();
    }
    let lists = ops.iter().any(|op| trace.name(op.slice).contains("_foreach_"));
    // Every parameter passes once through most of the operators: the median of what each wrote is their size.
    let mut by_name: HashMap<StrId, i64, RandomState> = HashMap::default();
    for op in ops.iter().filter(|op| matches!(op.cost.family, Family::Elementwise | Family::Optimizer)) {
        let all = by_name.entry(slices.name(op.slice)).or_default();
        *all = all.saturating_add(i64::try_from(op.cost.written).unwrap_or(i64::MAX));
    }
    let mut written: Vec<i64> = by_name.into_values().collect();
    let parameter_bytes = quantile(&mut written, 0.5) as f64 / rounds as f64;
    let hardware = ops.iter().find_map(|op| op.hardware);
    let now = total(ops.iter().copied()).0;
    let fused = hardware
        .map(|h| parameter_bytes * moved / h.memory_gbs / context.threshold("assume.memory_efficiency"));
    let fused = fused.unwrap_or(now as f64 / rounds as f64).min(now as f64 / rounds as f64);
    let mut edit = Edit::new(context.trace());
    let factor = fused * rounds as f64 / now.max(1) as f64;
    // A handful of kernels stay; their time is spread over those that are there, and the host's part shrinks with them.
    for (at, op) in ops.iter().enumerate() {
        for &kernel in context.costs().kernels_of(op) {
            edit.device_length(kernel, ((slices.dur(kernel).0 as f64 * factor) as i64).max(1));
        }
        if at % 16 != 0 {
            edit.remove_host(op.slice);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    finding.confidence = Confidence::Medium;
    finding.title = match lists {
        true => format!("Optimizer: {name} takes {per_step:.0} kernels per step; a fused update takes a few"),
        false => format!("Optimizer: {name} updates parameters one by one with {per_step:.0} kernels per step"),
    };
    finding.evidence = evidence! {
        "kernels per step" => Amount::Number(per_step), "Kernels launched inside Optimizer.step, per update.";
        "device time per step" => Amount::Ns(now / rounds as i64), "Summed device time of these kernels, per update.";
        "parameters" => Amount::Bytes(parameter_bytes as i64),
            "Bytes of all parameters: the median, over the operators of the update, of the bytes each wrote.";
    };
    explain(&mut finding, &name);
    finding.slices = context.shown(ranges);
    vec![finding]
}

/// The reason, the change and the check.
fn explain(finding: &mut Finding, name: &str) {
    finding.why =
        "Each operator of the update reads and writes whole tensors, so the same parameters pass through memory many times, \
         with many launches."
            .to_owned();
    finding.fix = "Use the fused implementation, which updates all parameters in a few kernels and moves each tensor once.".to_owned();
    finding.code = Some(format!("optimizer = torch.optim.{name}(model.parameters(), lr=..., fused=True)"));
    finding.verify =
        "Record again: `stepscope ops --filter fused` should show _fused_ operators instead.".to_owned();
}

/// How many elements an operator of an update reads and writes for each of a parameter's.
fn elements_of(operator: &str) -> f64 {
    let bare = operator.trim_start_matches("aten::").trim_start_matches("_foreach_").trim_end_matches('_');
    match bare {
        "addcmul" | "addcdiv" => 4.0,
        "add" | "sub" | "lerp" | "maximum" => 3.0,
        _ => 2.0,
    }
}

/// The same without recorded sizes: how often each parameter's elements pass through memory follows from the operators.
fn by_name(
    context: &Context<'_>,
    name: &str,
    moved: f64,
    ranges: &[SliceId],
    inside: impl Fn(SliceId) -> bool,
) -> Vec<Finding> {
    let (trace, slices) = (context.trace(), context.trace().slices());
    let launched = context.costs().without.iter().filter_map(|&(kernel, op, _)| Some((kernel, op?)));
    let work: Vec<(SliceId, SliceId)> = launched.filter(|&(_, op)| inside(op)).collect();
    let rounds = ranges.len().max(1);
    let per_step = work.len() as f64 / rounds as f64;
    let is_fused = |op: SliceId| trace.name(op).contains("_fused_");
    if per_step < context.threshold("optimizer.min_kernels") || work.iter().any(|w| is_fused(w.1)) {
        return Vec::new();
    }
    let mut counts: HashMap<StrId, i64, RandomState> = HashMap::default();
    work.iter().for_each(|w| *counts.entry(slices.name(w.1)).or_default() += 1);
    // Every parameter passes once through most of the operators.
    let parameters = quantile(&mut counts.values().copied().collect::<Vec<_>>(), 0.5).max(1) as f64;
    let now: f64 = counts.iter().map(|(&op, &count)| elements_of(trace.text(op)) * count as f64).sum();
    let factor = (moved * parameters / now.max(1.0)).min(1.0);
    let mut edit = Edit::new(trace);
    for (at, &(kernel, op)) in work.iter().enumerate() {
        edit.device_length(kernel, ((slices.dur(kernel).0 as f64 * factor) as i64).max(1));
        if at % 16 != 0 {
            edit.remove_host(op);
        }
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&edit), Estimate::Model) else {
        return Vec::new();
    };
    finding.confidence = Confidence::Low;
    finding.title =
        format!("Optimizer: {name} takes {per_step:.0} kernels per step; a fused update takes a few");
    finding.evidence = evidence! {
        "kernels per step" => Amount::Number(per_step), "Kernels launched inside Optimizer.step, per update.";
        "passes over memory" => Amount::Number(now / parameters),
            "Elements that the operators of the update read and write for each element of a parameter, by their names.";
    };
    explain(&mut finding, name);
    finding.slices = context.shown(ranges.iter().copied());
    vec![finding]
}
