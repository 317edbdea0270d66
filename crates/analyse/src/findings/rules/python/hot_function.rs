//! One function of the program in which most of a step without a device goes by.

use super::super::text::{percent, time as time_text};
use crate::findings::{Amount, Confidence, Context, Estimate, Finding, Rule, USUAL, evidence, thresholds};

pub(in super::super) const RULE: Rule = Rule {
    name: "hot_function",
    about: "A function of the program takes much of each step in its own Python code, outside of operators. Only where no device \
            works: there the step is as long as the main thread's work.",
    thresholds: thresholds! {
        "hot_function.min_share" = 0.15, "share of the steps in the function's own code";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    finding(context).into_iter().collect()
}

fn finding(context: &Context<'_>) -> Option<Finding> {
    if !context.streams().is_empty() || context.hot().is_some() {
        return None;
    }
    let most = context.python_places().places.iter().max_by_key(|place| place.own_ns)?;
    let per_step = context.per_step(most.own_ns);
    let share = per_step as f64 / context.step_ns().max(1) as f64;
    if share < context.threshold("hot_function.min_share") {
        return None;
    }
    let mut finding = context.costing(RULE.name, context.measured(per_step), Estimate::UpperBound)?;
    finding.confidence = Confidence::Medium;
    finding.title = format!(
        "Python: {} takes {} of each step in its own code, outside of operators",
        most.describe(),
        percent(share)
    );
    finding.evidence = evidence! {
        "its own time per step" => Amount::Ns(per_step),
            "The main thread's time outside of operators while this was the innermost Python function, by the functions that \
             were recorded or by samples; C code that it calls is in it.";
        "with what it calls" => Amount::Ns(context.per_step(most.ns)),
            "The same while it was the innermost function of the program, libraries that it calls included.";
        "share of the steps" => Amount::Share(share), "Its own time divided by the mean step.";
    };
    finding.why = "Nothing else runs meanwhile: Python handles one value after the other, or C code turns lists of Python objects into \
                   tensors."
        .to_owned();
    finding.fix = format!(
        "See which of its lines take {} with `stepscope lines`. Do them for the whole batch at once with tensor operators, once \
         before the loop, or in the workers of a data loader.",
        time_text(per_step)
    );
    finding.source = Some(most.frame.clone());
    finding.verify =
        "Record again with `stepscope run`; `stepscope code` should show less host time there.".to_owned();
    Some(finding)
}
