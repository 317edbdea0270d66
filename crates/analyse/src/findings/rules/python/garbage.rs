//! Garbage collections that the program asks for.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "garbage_collection",
    about: "A plain Python program spends much of its time in gc.collect.",
    thresholds: thresholds! {
        "garbage_collection.min_share" = 0.05, "share of the run in gc.collect";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "garbage_collection.min_share",
    what: "Garbage collection",
    doing: "gc.collect",
    why: "gc.collect visits every object in the program, however little there is to free. Objects without \
          reference cycles are freed without it.",
    fix: "Leave garbage collection to Python. If memory must be released at a certain point, collect once there, \
          not in a loop; gc.freeze() exempts objects that live for the whole run.",
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
