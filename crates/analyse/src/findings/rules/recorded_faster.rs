//! The recorded steps are faster than those that were timed before them: the recording missed something.

use super::text::time;
use crate::findings::{Amount, Confidence, Context, Finding, Rule, Severity, USUAL, evidence, thresholds};

pub(super) const RULE: Rule = Rule {
    name: "recorded_faster",
    about: "The recorded steps take less time than the steps timed before them without the profiler, so something that slows the \
            program down is missing from the recording, such as waiting for batches.",
    thresholds: thresholds! {
        "recorded_faster.min_share" = 0.1,
            "how much longer the steps before must take, as a share of a recorded one, beyond what both vary by";
    },
    check,
    ..USUAL
};

/// Half of an interval that holds a mean nineteen times of twenty.
const STANDARD_ERRORS: f64 = 2.0;

fn check(context: &Context<'_>) -> Vec<Finding> {
    let bare = context.unprofiled();
    let lengths: Vec<f64> =
        context.steps().counted().map(|step| (step.window().1 - step.window().0).0 as f64).collect();
    if !bare.measured || lengths.is_empty() {
        return Vec::new();
    }
    let count = lengths.len() as f64;
    let recorded = lengths.iter().sum::<f64>() / count;
    let variance = lengths.iter().map(|ns| (ns - recorded).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let at_most = recorded + STANDARD_ERRORS * (variance / count).sqrt();
    let least = 1.0 + context.threshold("recorded_faster.min_share");
    if bare.low_ns as f64 <= at_most || (bare.step_ns as f64) < least * recorded {
        return Vec::new();
    }
    let mut finding = context.remark(RULE.name);
    finding.severity = if bare.step_ns as f64 >= 1.5 * recorded { Severity::Low } else { Severity::Info };
    finding.title = format!(
        "The recorded steps take {}, those before them {}: the recording misses what makes them slow",
        time(recorded as i64),
        time(bare.step_ns)
    );
    finding.evidence = evidence! {
        "recorded step" => Amount::Ns(recorded as i64), "The mean wall time of the whole recorded steps.";
        "step before the recording" => Amount::Ns(bare.step_ns),
            "The mean of the later two thirds of the steps that were timed without the profiler, without pauses; the device's, \
             if that is longer.";
    };
    let loads = context.loading().range.is_some() && context.loading().workers != Some(false);
    finding.confidence = if loads { Confidence::Medium } else { Confidence::Low };
    finding.why = match loads {
        true => {
            "A profiler makes no step faster. While it started, the workers of the data loader went on and filled their queue, so \
             the recorded steps found their batches ready; the steps before them waited."
        }
        false => {
            "A profiler makes no step faster. The recorded steps differ from those before them: batches that were ready, smaller \
             inputs, or a machine that had less else to do."
        }
    }
    .to_owned();
    finding.fix = match loads {
        true => {
            "Trust the step that was measured without the profiler, and look at data loading first. To see it, record more steps \
             than the loader keeps ready: num_workers * prefetch_factor."
        }
        false => "Trust the step that was measured without the profiler, and record more steps.",
    }
    .to_owned();
    finding.code = Some(context.recorder().iterations(50));
    finding.verify =
        "Record again: the recorded step should take at least as long as the one before it.".to_owned();
    vec![finding]
}
