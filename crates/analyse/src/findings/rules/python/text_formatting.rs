//! Numbers and dates turned into text and back.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "text_formatting",
    about: "A plain Python program spends much of its time formatting text, or parsing dates with strptime.",
    thresholds: thresholds! {
        "text_formatting.min_share" = 0.1, "share of the run in formatting and in strptime";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "text_formatting.min_share",
    what: "Text",
    doing: "formatting text and parsing dates",
    why: "Each value becomes a string of its own. strptime also reads its format anew and is written in Python.",
    fix: "Format once for many values, or only what is read. Dates in ISO format are read much faster by fromisoformat.",
};

fn is_formatting(function: Function<'_>) -> bool {
    let native = [
        "'format' of 'str'",
        "'format_map' of 'str'",
        "builtins.format",
        "'__format__' of",
        "'strftime' of",
        "'isoformat' of",
        "strptime",
    ];
    ["_strptime.py", "pprint.py", "textwrap.py", "string.py"].iter().any(|file| function.is_in(file))
        || function.is_native(&native)
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_formatting));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        let dates = spent.entered.first().is_some_and(|(name, _)| name.contains("strptime"));
        let code = match dates {
            true => "when = datetime.fromisoformat(text)  # not: datetime.strptime(text, \"%Y-%m-%d\")",
            false => "text = \"\\n\".join(map(str, rows))  # once; not: one format() for each row",
        };
        finding.code = Some(code.to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}
