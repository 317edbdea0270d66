//! The device waits for the next batch.

use stepscope_model::Ns;

use super::xla;
use crate::findings::{
    Amount, Confidence, Context, Estimate, Evidence, Finding, OtherFrameworks, Rule, ShownSlice, USUAL,
    evidence, thresholds,
};
use crate::replay::{HostPiece, Scenario};
use crate::scope::intervals::{Collector, CumulativeSpans};
use crate::scope::share::percent;
use crate::threads::activity::Activity;

pub(super) const RULE: Rule = Rule {
    name: "data_loading",
    about: "The device waits for the next batch: the loader is slower than a step.",
    thresholds: thresholds! {
        "data_loading.min_share" = 0.05, "share of the steps spent in data loading with idle devices";
    },
    trials: &["loader-workers", "pinned-loader"],
    other_frameworks: OtherFrameworks::Same,
    answers: &["data_loading"],
    check,
    ..USUAL
};

/// Batches are there at once.
struct BatchesReady {
    /// When another thread fetched one for the main thread.
    elsewhere: CumulativeSpans,
}

impl BatchesReady {
    fn new(context: &Context<'_>) -> BatchesReady {
        let mut elsewhere = Collector::default();
        if context.trace().meta().framework.is_some() {
            let lanes = context.host().backward().iter().flat_map(|&lane| context.host().of_lane(lane));
            let fetching = lanes.filter(|segment| segment.activity == Activity::DataLoading);
            fetching.for_each(|segment| elsewhere.add(segment.start, segment.end));
        }
        BatchesReady { elsewhere: elsewhere.finish().measured() }
    }
}

impl Scenario for BatchesReady {
    fn host(&self, piece: &HostPiece) -> i64 {
        match piece.activity {
            Activity::DataLoading => 0,
            // The main thread is in the runtime meanwhile.
            Activity::Runtime | Activity::Synchronization => {
                let end = Ns(piece.start.0.saturating_add(piece.ns));
                piece.ns - self.elsewhere.length_in((piece.start, end)).0.min(piece.ns)
            }
            _ => piece.ns,
        }
    }
}

fn has_device(context: &Context<'_>) -> bool {
    context.device_work().next().is_some()
}

/// Where the host computes, loading and computing share its processors.
fn on_the_host(finding: &mut Finding) {
    finding.confidence = Confidence::Medium;
    finding.why = "The main thread prepares each batch itself, and computes only then.".to_owned();
    finding.fix = "Make a sample cheaper first: decode once and store the result, no Python per element. Worker processes help \
                   as far as processors are free: operators use all of them, unless torch.set_num_threads leaves some to the \
                   workers."
        .to_owned();
    finding.code = Some(
        "loader = DataLoader(dataset, ..., num_workers=1, persistent_workers=True)  # more, if processors are free"
            .to_owned(),
    );
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let loading = context.loading();
    let share = loading.exposed_ns as f64 / loading.wall_ns.max(1) as f64;
    if share < context.threshold("data_loading.min_share") {
        return Vec::new();
    }
    let Some(mut finding) =
        context.costing(RULE.name, context.saves(&BatchesReady::new(context)), Estimate::Replay)
    else {
        return Vec::new();
    };
    let named = loading.range.as_deref().is_some_and(crate::names::ranges::is_data_loading);
    finding.confidence = if named { Confidence::High } else { Confidence::Medium };
    let who = if has_device(context) { "the device waits" } else { "the program waits" };
    finding.title = format!("Data loading: {who} for the next batch {} of the time", percent(share));
    finding.evidence = evidence! {
        "exposed data loading per step" => Amount::Ns(context.per_step(loading.exposed_ns)),
            "Time the main thread spent fetching the next batch while all devices were idle, averaged over the steps.";
        "share of the step" => Amount::Share(share), "Exposed data loading divided by the steps' wall time.";
    };
    if let Some(range) = &loading.range {
        finding.evidence.push(Evidence::new(
            "fetched in",
            Amount::Text(range.clone()),
            "The recorded range in which batches are fetched.",
        ));
    }
    // With workers the main thread does not prepare batches.
    let place = (loading.workers != Some(true)).then(|| context.loading_place()).flatten();
    if let Some(place) = &place {
        finding.evidence.push(Evidence::new(
            "most of it in",
            Amount::Text(place.clone()),
            "The function of the program that most samples of the main thread saw inside PyTorch's loader. An estimate from few \
             samples.",
        ));
    }
    let transforms = loading.operators.iter().map(|o| o.1).fold(0, i64::saturating_add);
    if transforms > loading.loading_ns / 10 && context.trace().meta().framework.is_none() {
        let names: Vec<&str> = loading.operators.iter().take(3).map(|o| o.0.as_str()).collect();
        finding.evidence.push(Evidence::new(
            format!("tensor operators while loading ({})", names.join(", ")),
            Amount::Ns(context.per_step(transforms)),
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
                "loader = DataLoader(dataset, ..., num_workers=min(16, os.cpu_count()), prefetch_factor=4,\n\
                 \x20                   persistent_workers=True, pin_memory=True)"
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
                "loader = DataLoader(dataset, ..., num_workers=min(8, os.cpu_count()), pin_memory=True,\n\
                 \x20                   persistent_workers=True)\n\
                 for x, y in loader:\n\
                 \x20   x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)"
                    .to_owned(),
            ),
        ),
    };
    match &context.trace().meta().framework {
        None if !has_device(context) && loading.workers != Some(true) => on_the_host(&mut finding),
        // PyTorch's loader, whoever takes its batches.
        Some(_) if loading.workers == Some(false) => {
            finding.fix = "Let worker processes prepare batches during the step. Start them by spawn: this program has threads, \
                           which a forked worker does not survive. Each worker imports the program's modules once, which \
                           pays in a run of many batches."
                .to_owned();
            finding.code = Some(
                "loader = DataLoader(dataset, ..., num_workers=min(8, os.cpu_count()), persistent_workers=True,\n\
                 \x20                   multiprocessing_context=\"spawn\")"
                    .to_owned(),
            );
        }
        Some(_) if loading.workers.is_some() => {}
        Some(framework) => xla::input(context, &framework.name, &mut finding),
        None => {}
    }
    if let Some(place) = place {
        finding.fix = format!("Start with {place}, where most of it goes by. {}", finding.fix);
    }
    finding.verify =
        "Record again: data loading in `stepscope account` should be near zero. If it only shrinks, add workers or make \
                      the transforms cheaper."
            .to_owned();
    let ranges = context.host().main().into_iter().flat_map(|lane| context.trace().slices().of_lane(lane));
    let name = loading.range.clone().unwrap_or_default();
    finding.slices = context.shown(ranges.filter(|&id| context.trace().name(id) == name));
    finding.range_ns = finding.slices.first().map(ShownSlice::range_ns);
    vec![finding]
}
