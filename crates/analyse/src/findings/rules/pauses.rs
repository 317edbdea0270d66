//! Some iterations take several times as long as the others, and much of the program's time.

use stepscope_model::Ns;

use super::text::{percent, time};
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};
use crate::steps::{Partial, Step};

pub(super) const RULE: Rule = Rule {
    name: "pauses",
    about: "Some iterations take several times as long as the usual one, and together much of the time: a validation, a \
            checkpoint, a rollout. Averages leave them out.",
    thresholds: thresholds! {
        "pauses.share" = 0.2, "share of the time of all iterations that pauses take (medium)";
        "pauses.high_share" = 0.5, "the same, from which on they are the first thing to look at (high)";
    },
    check,
    ..USUAL
};

/// More iterations than this are not asked for.
const MAX_ASKED: u64 = 200;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(phases) = context.program_phases() else { return Vec::new() };
    let steady = phases.steady.iter().filter_map(|steady| Some((steady.iterations, steady.iteration_ns?)));
    let (usual, usual_ns) = steady.fold((0, Ns::ZERO), |(count, sum), (iterations, ns)| {
        let all = ns.saturating_mul(i64::try_from(iterations).unwrap_or(i64::MAX));
        (iterations.saturating_add(count), sum + Ns(all))
    });
    let recorded = || context.steps().steps.iter().filter(|step| step.partial_reason == Some(Partial::Pause));
    let length = |step: &Step| step.window().1 - step.window().0;
    // Those between the recorded pauses take as long as the others, but for what recording costs.
    let one_ns = usual_ns.0 / i64::try_from(usual).unwrap_or(i64::MAX).max(1);
    let whole = context.steps().steps.iter().filter(|step| !step.partial).count();
    let between = if recorded().next().is_some() { whole } else { 0 };
    let usual = usual.saturating_add(between as u64);
    let usual_ns = usual_ns + Ns(one_ns.saturating_mul(i64::try_from(between).unwrap_or(i64::MAX)));
    let pauses = phases.pauses.saturating_add(recorded().count() as u64);
    let pauses_ns = Ns(phases.pauses_ns) + recorded().map(length).sum::<Ns>();
    let share = pauses_ns.0 as f64 / (usual_ns + pauses_ns).0.max(1) as f64;
    if pauses == 0 || usual == 0 || share < context.threshold("pauses.share") {
        return Vec::new();
    }
    let one_ns = pauses_ns.0 / i64::try_from(pauses).unwrap_or(i64::MAX);
    let every = usual / pauses + 1;
    let mut finding = context.remark(RULE.name);
    finding.severity =
        if share >= context.threshold("pauses.high_share") { Severity::High } else { Severity::Medium };
    finding.confidence = if pauses > 1 { Confidence::High } else { Confidence::Medium };
    let which = match pauses {
        1 => format!("One of {} iterations takes {}", usual + 1, time(one_ns)),
        _ => format!("About one iteration in {every} takes {}", time(one_ns)),
    };
    finding.title = format!("{which}: pauses take {} of the time", percent(share));
    finding.evidence = evidence! {
        "pauses" => Amount::Count(pauses), "Iterations of several times the usual length, as far as they were seen.";
        "a pause" => Amount::Ns(one_ns), "Their mean.";
        "usual iteration" => Amount::Ns(usual_ns.0 / i64::try_from(usual).unwrap_or(i64::MAX)), "The mean of all others.";
        "share" => Amount::Share(share), "Time of the pauses divided by the time of all iterations.";
    };
    finding.why = "What runs in them (a validation, a checkpoint, a rollout, a new epoch's workers) is not part of the usual \
                   step, so the other findings and all averages leave it out."
        .to_owned();
    finding.fix = match between {
        0 => {
            "Do it more rarely, or on part of the data. To see what it is made of, record enough iterations to hold one; \
             `stepscope account --step N` shows it."
        }
        _ => "Do it more rarely, or on part of the data. `stepscope account --step N` shows what the recorded ones are made of.",
    }
    .to_owned();
    finding.code =
        (between == 0).then(|| context.recorder().iterations((every.saturating_mul(2)).clamp(10, MAX_ASKED)));
    finding.verify =
        "The last line of `stepscope run` counts the pauses, and says how long they take.".to_owned();
    vec![finding]
}
