//! The device waits for the next batch.

use crate::findings::{Confidence, Context, Estimate, Evidence, Figure, Finding, Rule, Shown, Threshold};
use crate::replay::{HostPiece, Scenario};
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "data_loading",
    about: "The device waits for the next batch: the loader is slower than a step.",
    thresholds: &[Threshold {
        name: "data_loading.min_share",
        default: 0.05,
        text: "part of the steps spent in data loading with idle devices",
    }],
    check,
};

struct Free;

impl Scenario for Free {
    fn host(&self, piece: &HostPiece) -> i64 {
        if piece.activity == Activity::DataLoading { 0 } else { piece.ns }
    }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let loading = context.loading();
    let share = loading.exposed_ns as f64 / loading.wall_ns.max(1) as f64;
    if share < context.limit("data_loading.min_share") {
        return Vec::new();
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&Free), Estimate::Replay) else {
        return Vec::new();
    };
    let named = loading.range.as_deref().is_some_and(crate::names::ranges::is_data_loading);
    finding.confidence = if named { Confidence::High } else { Confidence::Medium };
    finding.title =
        format!("Data loading: the device waits for its batch for {:.0} % of each step", share * 100.0);
    finding.evidence = vec![
        Evidence::new(
            "exposed data loading a step",
            Figure::Ns(context.per_step(loading.exposed_ns)),
            "Time the main thread spent fetching the next batch while no device did any work, on average over the steps.",
        ),
        Evidence::new(
            "part of the step",
            Figure::Share(share),
            "Exposed data loading over the steps' wall time.",
        ),
    ];
    if let Some(range) = &loading.range {
        finding.evidence.push(Evidence::new(
            "fetched in",
            Figure::Text(range.clone()),
            "The recorded range in which batches are fetched.",
        ));
    }
    let transforms = loading.operators.iter().map(|o| o.1).fold(0, i64::saturating_add);
    if transforms > loading.loading_ns / 10 {
        let names: Vec<&str> = loading.operators.iter().take(3).map(|o| o.0.as_str()).collect();
        finding.evidence.push(Evidence::new(
            format!("tensor operators while loading ({})", names.join(", ")),
            Figure::Ns(context.per_step(transforms)),
            "Self time a step of operators that ran inside data loading on the main thread: transforms and collation.",
        ));
    }
    (finding.why, finding.fix, finding.code) = match loading.workers {
        Some(true) => (
            "Worker processes prepare the batches, but not fast enough: the queue is empty when a step asks.".to_owned(),
            "Give the loader more workers and a deeper queue, keep workers alive between epochs, and make each sample \
             cheaper: decode once and store, move augmentation to the GPU, avoid per-sample Python."
                .to_owned(),
            Some(
                "loader = DataLoader(dataset, batch_size=...,\n\
                 \x20                   num_workers=16,  # about the number of CPU cores\n\
                 \x20                   prefetch_factor=4, persistent_workers=True,\n\
                 \x20                   pin_memory=True)"
                    .to_owned(),
            ),
        ),
        _ => (
            "Batches are prepared on the main thread, one after the other with training: while the CPU loads and \
             transforms, the device has nothing to do."
                .to_owned(),
            "Let worker processes prepare batches while the device computes, and pin their memory so that the copy to \
             the device can overlap too."
                .to_owned(),
            Some(
                "loader = DataLoader(dataset, batch_size=...,\n\
                 \x20                   num_workers=8,  # about the number of CPU cores\n\
                 \x20                   prefetch_factor=2, persistent_workers=True,\n\
                 \x20                   pin_memory=True)\n\
                 for x, y in loader:\n\
                 \x20   x = x.to(device, non_blocking=True)\n\
                 \x20   y = y.to(device, non_blocking=True)"
                    .to_owned(),
            ),
        ),
    };
    finding.verify =
        "Record again: data loading in `stepscope account` should be near zero and the step shorter by \
                      about the time above. If it only shrinks, add workers or make the transforms cheaper."
            .to_owned();
    let ranges = context.host().main().into_iter().flat_map(|lane| context.trace().slices().of_lane(lane));
    let name = loading.range.clone().unwrap_or_default();
    finding.slices = context.shown(ranges.filter(|&id| context.trace().name(id) == name));
    finding.range_ns = finding.slices.first().map(Shown::range_ns);
    vec![finding]
}
