//! What the findings leave open: rules that could not look, and a verdict that no finding answers.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Attr;

use super::{Finding, Needs, RULES, Recorder, Rule};
use crate::causes::verdict::Verdict;
use crate::run::Run;

/// Rules that could not look, and what to record for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UncheckedRules {
    pub needs: &'static str,
    pub rules: Vec<&'static str>,
    /// Whether the rules see something without it, though less.
    pub partly: bool,
    /// All of it: `2 rules need record_shapes=True: …`.
    pub sentence: String,
}

impl UncheckedRules {
    /// The rules with this need, which is recorded so.
    fn with(need: Needs, needs: &'static str) -> UncheckedRules {
        let partly = need == Needs::MoreShapes;
        let rules: Vec<&str> = names(|rule| rule.needs.contains(&need)).collect();
        let (count, names) = (rules.len(), rules.join(", "));
        let who = if count == 1 { "1 rule".to_owned() } else { format!("{count} rules") };
        let verb = match (partly, count) {
            (true, 1) => "sees more with",
            (true, _) => "see more with",
            (false, 1) => "needs",
            (false, _) => "need",
        };
        UncheckedRules { needs, rules, partly, sentence: format!("{who} {verb} {needs}: {names}") }
    }
}

/// Which rules could not look at a run, or only at part of what they look for.
pub fn unchecked_rules(run: &Run) -> Vec<UncheckedRules> {
    let trace = run.trace();
    if trace.meta().framework.is_some() {
        return Vec::new();
    }
    let on_device = run.device_work().next().is_some();
    let has_shapes = || trace.slices().ids().any(|id| trace.args(id).text_id(Attr::InputShapes).is_some());
    let recorder = Recorder::of(trace.meta());
    let mut found = Vec::new();
    if on_device && !has_shapes() {
        found.push(UncheckedRules::with(Needs::Shapes, recorder.shapes()));
        found.push(UncheckedRules::with(Needs::MoreShapes, recorder.shapes()));
    }
    if on_device && trace.allocations().is_empty() {
        found.push(UncheckedRules::with(Needs::Memory, recorder.memory()));
    }
    if on_device && run.steps().synthetic {
        found.push(UncheckedRules::with(Needs::Steps, recorder.steps()));
    }
    found
}

fn names(is_meant: impl Fn(&Rule) -> bool) -> impl Iterator<Item = &'static str> {
    RULES.iter().filter(move |rule| is_meant(rule)).map(|rule| rule.name)
}

/// Why no finding says what to do about what a verdict names; none if one does, or there is nothing to do.
pub fn uncovered(run: &Run, verdict: &Verdict, findings: &[Finding]) -> Option<String> {
    let rules: Vec<&str> = names(|rule| rule.answers.contains(&verdict.bound_by)).collect();
    let answers = |finding: &Finding| finding.saves_ns.is_some() || finding.rule == "compilation";
    if findings.iter().any(|finding| answers(finding) && rules.contains(&finding.rule)) {
        return None;
    }
    if verdict.unknown_share >= 0.5 {
        let text = "Record again and start before the work is launched: most of what the device did is not in this trace.";
        return Some(text.to_owned());
    }
    let recorder = Recorder::of(run.trace().meta());
    let shapes = unchecked_rules(run).iter().any(|blind| blind.needs == recorder.shapes());
    let text = match verdict.bound_by {
        "gpu" if shapes => {
            let shapes = recorder.shapes();
            return Some(format!(
                "No finding covers its kernels: how fast they could be is unknown without {shapes}."
            ));
        }
        "gpu" => {
            "No finding covers its kernels: this trace shows no known mistake. `stepscope roofline` shows how \
             close each operator comes to what the device can do."
        }
        "host" => {
            "No finding covers this: the host's time is spread over many small things. `stepscope gaps` names them, the largest \
             first."
        }
        "copies" => {
            "No finding covers this: the copies do not overlap with kernels, and no known mistake explains them. \
             `stepscope transfers` lists them."
        }
        "communication" => {
            "No finding covers this: `stepscope account` shows how much of it overlaps with computing."
        }
        "gaps_between_kernels" => {
            "No finding covers this: the device pauses briefly between kernels, so fewer, larger kernels help."
        }
        "unknown" if run.trace().meta().framework.is_some() => {
            "No finding covers this: record with the Python tracer on (python_tracer_level=1) to see what the host was doing."
        }
        "unknown" => {
            let stacks = recorder.stacks();
            return Some(format!(
                "No finding covers this: record with {stacks} to see what the host was doing."
            ));
        }
        "host_only" => return None,
        _ => "No finding covers this: `stepscope gaps` names what the device waited for.",
    };
    Some(text.to_owned())
}
