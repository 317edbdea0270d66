//! Copies of everything below an object.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "deep_copy",
    about: "A plain Python program spends much of its time in copy.deepcopy.",
    thresholds: thresholds! {
        "deep_copy.min_share" = 0.1, "share of the run in copy.deepcopy";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "deep_copy.min_share",
    what: "Deep copies",
    doing: "copy.deepcopy",
    why: "deepcopy walks all objects below the one it is given in pure Python, and remembers each of them.",
    fix: "Copy only the part that changes, or build the new object from the old one. For plain lists and dictionaries of numbers a \
          copy of one level is enough.",
};

fn is_deep_copy(function: Function<'_>) -> bool {
    function.is_in("copy.py") && (function.name.contains("deepcopy") || function.name == "_reconstruct")
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_deep_copy));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        finding.code =
            Some("new = {**old, \"changed\": value}  # one level; not: copy.deepcopy(old)".to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}
