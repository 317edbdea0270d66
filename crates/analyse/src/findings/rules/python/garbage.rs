//! Garbage collections that the program asks for.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, Threshold};
use crate::run::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "garbage_collection",
    about: "A program of plain Python spends much of its time in gc.collect.",
    thresholds: &[Threshold {
        name: "garbage_collection.min_share",
        default: 0.05,
        text: "share of the run in gc.collect",
    }],
    check,
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "garbage_collection.min_share",
    what: "Garbage collection",
    doing: "gc.collect",
    why: "gc.collect looks at every object of the program, however little there is to free. Objects without cycles are freed without \
          it.",
    fix: "Leave collecting to Python. Where memory must be given back at a certain point, collect there once, not in a loop; objects \
          that stay for the whole run can be taken out with gc.freeze().",
};

fn is_collecting(function: Function<'_>) -> bool {
    function.is_native(&["gc.collect", "built-in function collect", "method collect of module"])
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_collecting));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        finding.code = Some("gc.freeze()  # once, after setting up; no gc.collect() in the loop".to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}
