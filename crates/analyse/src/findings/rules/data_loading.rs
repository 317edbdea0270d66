//! The device waits for the next batch.

use stepscope_model::Ns;

use super::xla;
use crate::findings::{Confidence, Context, Estimate, Evidence, Figure, Finding, Rule, Shown, Threshold};
use crate::replay::{HostPiece, Scenario};
use crate::scope::intervals::{Collector, Measured};
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "data_loading",
    about: "The device waits for the next batch: the loader is slower than a step.",
    thresholds: &[Threshold {
        name: "data_loading.min_share",
        default: 0.05,
        text: "share of the steps spent in data loading with idle devices",
    }],
    check,
};

/// Batches are there at once.
struct Free {
    /// When another thread fetched one for the main thread.
    elsewhere: Measured,
}

impl Free {
    fn new(context: &Context<'_>) -> Free {
        let mut elsewhere = Collector::default();
        if context.trace().meta().framework.is_some() {
            let lanes = context.host().backward().iter().flat_map(|&lane| context.host().of_lane(lane));
            let fetching = lanes.filter(|segment| segment.activity == Activity::DataLoading);
            fetching.for_each(|segment| elsewhere.add(segment.start, segment.end));
        }
        Free { elsewhere: elsewhere.finish().measured() }
    }
}

impl Scenario for Free {
    fn host(&self, piece: &HostPiece) -> i64 {
        match piece.activity {
            Activity::DataLoading => 0,
            // The main thread stands in the runtime meanwhile.
            Activity::Runtime | Activity::Synchronization => {
                let end = Ns(piece.start.0.saturating_add(piece.ns));
                piece.ns - self.elsewhere.length_in((piece.start, end)).0.min(piece.ns)
            }
            _ => piece.ns,
        }
    }
}

/// Who waits: the device, or the program where there is none.
fn who(context: &Context<'_>) -> &'static str {
    if context.device_work().next().is_some() { "the device waits" } else { "the program waits" }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let loading = context.loading();
    let share = loading.exposed_ns as f64 / loading.wall_ns.max(1) as f64;
    if share < context.limit("data_loading.min_share") {
        return Vec::new();
    }
    let Some(mut finding) = context.costing(RULE.name, context.saves(&Free::new(context)), Estimate::Replay)
    else {
        return Vec::new();
    };
    let named = loading.range.as_deref().is_some_and(crate::names::ranges::is_data_loading);
    finding.confidence = if named { Confidence::High } else { Confidence::Medium };
    finding.title =
        format!("Data loading: {} for the next batch {:.0}% of the time", who(context), share * 100.0);
    finding.evidence = vec![
        Evidence::new(
            "exposed data loading per step",
            Figure::Ns(context.per_step(loading.exposed_ns)),
            "Time the main thread spent fetching the next batch while all devices were idle, averaged over the steps.",
        ),
        Evidence::new(
            "share of the step",
            Figure::Share(share),
            "Exposed data loading divided by the steps' wall time.",
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
    if transforms > loading.loading_ns / 10 && context.trace().meta().framework.is_none() {
        let names: Vec<&str> = loading.operators.iter().take(3).map(|o| o.0.as_str()).collect();
        finding.evidence.push(Evidence::new(
            format!("tensor operators while loading ({})", names.join(", ")),
            Figure::Ns(context.per_step(transforms)),
            "Self time per step of operators that ran inside data loading on the main thread: transforms and collation.",
        ));
    }
    (finding.why, finding.fix, finding.code) = match loading.workers {
        Some(true) => (
            "Worker processes prepare the batches, but not fast enough: the queue is empty when the next batch is needed.".to_owned(),
            "Give the loader more workers and a deeper queue, keep the workers alive between epochs, and make each sample \
             cheaper: decode once and store the result, augment on the GPU, avoid Python per sample."
                .to_owned(),
            Some(
                "loader = DataLoader(dataset, ..., num_workers=16, prefetch_factor=4,\n\
                 \x20                   persistent_workers=True, pin_memory=True)  # workers: up to one per core"
                    .to_owned(),
            ),
        ),
        _ => (
            "The main thread prepares each batch itself: while the CPU loads and transforms, the device has nothing to do."
                .to_owned(),
            "Let worker processes prepare batches while the device computes, and pin their memory so that copies to the device \
             can overlap too."
                .to_owned(),
            Some(
                "loader = DataLoader(dataset, ..., num_workers=8, pin_memory=True,\n\
                 \x20                   persistent_workers=True)  # workers: up to one per core\n\
                 for x, y in loader:\n\
                 \x20   x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)"
                    .to_owned(),
            ),
        ),
    };
    if let Some(framework) = &context.trace().meta().framework {
        xla::input(context, &framework.name, &mut finding);
    }
    finding.verify =
        "Record again: data loading in `stepscope account` should be near zero. If it only shrinks, add workers or make \
                      the transforms cheaper."
            .to_owned();
    let ranges = context.host().main().into_iter().flat_map(|lane| context.trace().slices().of_lane(lane));
    let name = loading.range.clone().unwrap_or_default();
    finding.slices = context.shown(ranges.filter(|&id| context.trace().name(id) == name));
    finding.range_ns = finding.slices.first().map(Shown::range_ns);
    vec![finding]
}
