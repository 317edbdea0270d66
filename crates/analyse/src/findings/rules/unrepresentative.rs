//! The recording is too short, too early or without steps.

use super::text::{steps, time};
use crate::findings::{Amount, Context, Evidence, Finding, Recorder, Rule, USUAL, thresholds};
use crate::steps::Partial;

pub(super) const RULE: Rule = Rule {
    name: "unrepresentative",
    about: "The profile may not represent the run: too few whole steps, no warm-up, cut steps, or training without marked \
            steps.",
    thresholds: thresholds! {
        "unrepresentative.min_steps" = 3.0, "whole steps needed";
        "unrepresentative.warm_up_share" = 0.05,
            "share of the first step in compilation or loading that shows a lack of warm-up";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut reasons: Vec<String> = Vec::new();
    let mut evidence: Vec<Evidence> = Vec::new();
    let all = &context.steps().steps;
    let Some(first) = all.first() else { return Vec::new() };
    if context.steps().synthetic {
        if !is_training(context) {
            return Vec::new();
        }
        reasons.push("no steps are marked".to_owned());
        evidence.push(Evidence::new(
            "steps",
            Amount::Count(0),
            "Host ranges named ProfilerStep#N, which prof.step() records.",
        ));
    } else {
        let whole = all.iter().filter(|s| !s.partial).count();
        let partial = all.iter().filter(|s| s.partial && s.partial_reason != Some(Partial::Pause)).count();
        if (whole as f64) < context.threshold("unrepresentative.min_steps") {
            reasons.push(match whole {
                0 => "no step recorded whole".to_owned(),
                whole => format!("only {} recorded whole", steps(whole)),
            });
        }
        if partial > 0 {
            reasons.push(format!("{} cut at the end of the recording", steps(partial)));
        }
        evidence.push(Evidence::new(
            "whole steps",
            Amount::Count(whole as u64),
            "Steps whose device work seems to be complete.",
        ));
        evidence.push(Evidence::new(
            "cut steps",
            Amount::Count(partial as u64),
            "Steps at the end that launched no device work, or less than 80% as much as the step before.",
        ));
        if first.step == 0 && context.steps().found.is_none() {
            reasons.push("the very first step of the run is recorded".to_owned());
        }
    }
    let of_steps = context.warm_up();
    let warm_up = of_steps.of_step(0);
    // Code that is compiled in every step is not a warm-up.
    let once = (1..all.len()).all(|i| of_steps.of_step(i).saturating_mul(2) < warm_up);
    let share = warm_up as f64 / (first.window().1 - first.window().0).0.max(1) as f64;
    if once && share >= context.threshold("unrepresentative.warm_up_share") {
        let within = if context.steps().synthetic { "the recording" } else { "the first step" };
        reasons.push(format!("{within} compiles or loads code for {}", time(warm_up)));
        evidence.push(Evidence::new(
            "warm-up",
            Amount::Share(share),
            "Share of the first step in compilation or in loading code onto the device.",
        ));
    }
    if reasons.is_empty() {
        return Vec::new();
    }
    let mut finding = context.remark(RULE.name);
    finding.title = format!("This profile may not represent the run: {}", reasons.join("; "));
    finding.evidence = evidence;
    finding.why =
        "Times vary from step to step, and the first steps of a run or of a recording are slower than the rest. Averages \
                   over few, early or cut steps can mislead."
            .to_owned();
    // Where `stepscope run` has found no iterations, it will not find them in a second run either.
    let recorder = match context.recorder() {
        Recorder::Run { .. } if context.steps().synthetic => Recorder::Profile,
        recorder => recorder,
    };
    finding.fix = recorder.whole_steps().to_owned();
    finding.code = Some(recorder.after_warm_up());
    finding.verify =
        "`stepscope steps` should list five or more steps of about the same length, none of them left out."
            .to_owned();
    finding.range_ns = Some((first.start_ns, first.end_ns));
    vec![finding]
}

fn is_training(context: &Context<'_>) -> bool {
    context.trace().strings().iter().any(|(_, text)| text.starts_with("autograd::engine::evaluate_function"))
}
