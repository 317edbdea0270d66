//! Pandas, row by row.

use super::library::Library;
use crate::findings::{Context, Finding, Rule, USUAL, thresholds};
use crate::names::function::Function;

pub(in super::super) const RULE: Rule = Rule {
    name: "pandas_rows",
    about: "A program goes through a DataFrame row by row, with apply, iterrows or applymap.",
    thresholds: thresholds! {
        "pandas_rows.min_share" = 0.1, "share of the run in apply, iterrows and applymap";
    },
    check,
    ..USUAL
};

const LIBRARY: Library = Library {
    rule: RULE.name,
    min_share: "pandas_rows.min_share",
    what: "Pandas, row by row",
    doing: "apply, iterrows and what they call",
    why: "For each row pandas makes a Series, which costs many times what is done with its values.",
    fix: "Write the same for whole columns: arithmetic and comparisons work on columns, np.where and Series.map choose values, and \
          groupby aggregates. Where a loop has to stay, itertuples is much cheaper than iterrows.",
};

fn is_by_row(function: Function<'_>) -> bool {
    let short = function.name.rsplit('.').next().unwrap_or_default();
    let frame = function.is_in("pandas/core/frame.py") || function.is_in("pandas/core/series.py");
    frame && ["apply", "applymap", "map", "iterrows"].contains(&short) || function.is_in("pandas/core/apply.py")
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let spent = context.python().and_then(|time| time.spent(is_by_row));
    let finding = spent.as_ref().and_then(|spent| {
        let mut finding = LIBRARY.finding(context, spent)?;
        let iterates = spent.entered.first().is_some_and(|(name, _)| name.contains("iterrows"));
        let code = match iterates {
            true => "total = (frame[\"price\"] * frame[\"count\"]).sum()  # not: for _, row in frame.iterrows()",
            false => "frame[\"sum\"] = frame[\"a\"] + frame[\"b\"]  # not: frame.apply(lambda row: row.a + row.b, axis=1)",
        };
        finding.code = Some(code.to_owned());
        Some(finding)
    });
    finding.into_iter().collect()
}
