//! Compiled code that leaves the graph: breaks, and the time it takes to find compiled code again.

use crate::findings::{Amount, Context, Estimate, Evidence, Finding, Rule, USUAL, evidence, thresholds};
use crate::scope::share::percent;

pub(super) const RULE: Rule = Rule {
    name: "graph_breaks",
    about: "torch.compile breaks the program into several graphs per step, or checking its guards takes long.",
    thresholds: thresholds! {
        "graph_breaks.min_per_step" = 1.0, "breaks per step that are worth a remark";
        "graph_breaks.min_guard_share" = 0.05, "share of the step in which the host looks for compiled code";
    },
    check,
    ..USUAL
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let compiled = context.compiled();
    let Some(health) = compiled.health else { return Vec::new() };
    let steps = (health.steps as i64).max(1);
    let guards = health.lookup_ns / steps;
    let guard_share = guards as f64 / context.step_ns().max(1) as f64;
    let breaks = health.breaks_per_step;
    let slow_guards = guard_share >= context.threshold("graph_breaks.min_guard_share");
    if !(slow_guards || breaks > 0.0 && breaks >= context.threshold("graph_breaks.min_per_step")) {
        return Vec::new();
    }
    let costing = slow_guards
        .then(|| context.costing(RULE.name, context.measured(guards), Estimate::UpperBound))
        .flatten();
    let mut finding = costing.unwrap_or_else(|| context.remark(RULE.name));
    finding.title = match slow_guards {
        true => format!(
            "Guards: looking for compiled code takes {} of the step, in {:.0} calls",
            percent(guard_share),
            health.lookups as f64 / steps as f64
        ),
        false => {
            let times = match breaks {
                b if (b - 1.0).abs() < 0.05 => "once".to_owned(),
                b if (b - 2.0).abs() < 0.05 => "twice".to_owned(),
                b if b < 10.0 && (b - b.round()).abs() >= 0.05 => format!("{b:.1} times"),
                b => format!("{b:.0} times"),
            };
            format!("Graph breaks: compiled code is left and entered again {times} per step")
        }
    };
    finding.evidence = evidence! {
        "breaks per step" => Amount::Number(breaks),
            "How often one compiled region is entered inside of another, per step: each is a break of the graph.";
        "regions entered per step" => Amount::Number(health.calls_per_step), "Calls of compiled regions, per step.";
        "operators in between, per step" => Amount::Number(health.eager_per_step),
            "Operators that ran without being compiled between compiled parts, per step.";
        "looking for compiled code, per step" => Amount::Ns(guards),
            "Time of cache lookups, in which guards are checked, per step.";
    };
    if let Some(row) = compiled.eager.iter().find(|row| row.in_regions > 0) {
        finding.evidence.push(Evidence::new(
            "for example",
            Amount::Text(row.name.clone()),
            "The operator with most time that ran uncompiled inside of a region.",
        ));
    }
    finding.why = "At a break the compiler hands over to Python: results go through memory, nothing is fused across it, and before \
                   compiled code runs again its guards are checked on the host."
        .to_owned();
    finding.fix = "Let PyTorch name the lines that break the graph, and change those: prints, .item(), calls of libraries, \
                   conditions on values. Compile the whole model once rather than many small functions."
        .to_owned();
    finding.code = Some(
        "TORCH_LOGS=graph_breaks,recompiles python train.py   # names each line\n\
         model = torch.compile(model, fullgraph=True)         # fails at the first break instead of working around it"
            .to_owned(),
    );
    finding.verify =
        "Record again: `stepscope compile` should show one region per step and no breaks.".to_owned();
    vec![finding]
}
