//! Optimizers that update parameters one by one.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{Kind, SliceId, StrId};

use super::matrix::total;
use crate::causes::launches::quantile;
use crate::findings::{Confidence, Context, Edit, Estimate, Evidence, Figure, Finding, Rule, Threshold};
use crate::roofline::{Family, OpCost};

pub(super) const RULE: Rule = Rule {
    name: "optimizer",
    about: "The optimizer updates parameters one by one or with many kernels although a fused update exists.",
    thresholds: &[Threshold {
        name: "optimizer.min_kernels",
        default: 30.0,
        text: "kernels of the optimizer a step",
    }],
    check,
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
    let is_fused = |op: &&OpCost| trace.name(op.slice).contains("_fused_");
    let kernels: u64 = ops.iter().map(|op| u64::from(op.kernels)).sum();
    let rounds = ranges.len().max(1);
    let per_step = kernels as f64 / rounds as f64;
    if per_step < context.limit("optimizer.min_kernels") || ops.iter().any(is_fused) {
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
    let now = total(ops.iter().copied());
    let fused =
        hardware.map(|h| parameter_bytes * moved / h.memory_gbs / context.limit("assume.memory_efficiency"));
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
        true => format!("Optimizer: {name} takes {per_step:.0} kernels a step; a fused update takes a few"),
        false => format!("Optimizer: {name} updates parameters one by one, {per_step:.0} kernels a step"),
    };
    finding.evidence = vec![
        Evidence::new(
            "kernels a step",
            Figure::Number(per_step),
            "Kernels launched inside Optimizer.step, over the number of updates.",
        ),
        Evidence::new("device time a step", Figure::Ns(now / rounds as i64), "Their summed time."),
        Evidence::new(
            "parameters",
            Figure::Bytes(parameter_bytes as i64),
            "The median, over the operators of the update, of the bytes each wrote: each parameter once.",
        ),
    ];
    finding.why =
        "Each operator of the update reads and writes whole tensors, and each parameter gets its own launches."
            .to_owned();
    finding.fix = "Ask for the fused implementation, which updates all parameters in a few kernels that move each tensor once.".to_owned();
    finding.code = Some(format!("optimizer = torch.optim.{name}(model.parameters(), lr=..., fused=True)"));
    finding.verify =
        "Record again: `stepscope ops --filter fused` should show _fused_ operators in place of the many."
            .to_owned();
    finding.slices = context.shown(ranges);
    vec![finding]
}
