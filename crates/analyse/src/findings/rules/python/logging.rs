//! Logging and printing.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "logging",
    about: "A plain Python program spends much of its time logging or printing.",
    thresholds: thresholds! {
        "logging.min_share" = 0.1, "share of the run in logging and print";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "logging.min_share",
    what: "Logging",
    doing: "logging and printing",
    why: "Each message finds its caller's line, is formatted, takes a lock and is written and flushed before the program goes on.",
    fix: "Log once for many items instead of once for each, and leave the formatting to the logger, so that a message that is \
          not shown costs little. Hand messages that must stay to a thread with QueueHandler.",
};

fn is_logging(function: Function<'_>) -> bool {
    function.is_in("logging/") || function.is_in("loguru/") || function.is_native(&["builtins.print"])
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_logging));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        let prints = spent.entered.first().is_some_and(|(name, _)| name.contains("print"));
        let code = match prints {
            true => "if index % 1000 == 0: print(index)  # not: print in every turn",
            false => "if index % 1000 == 0: log.info(\"row %d\", index)  # not: log.info(f\"row {index}\") in every turn",
        };
        finding.code = Some(code.to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}
