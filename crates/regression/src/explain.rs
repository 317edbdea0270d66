//! What made a metric worse, from traces of both sides. It is named beside the verdict and never part of it: recording costs time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::compare::{ChangeRow, Diff, DiffQuery, diff};
use stepscope_analyse::findings::Thresholds;
use stepscope_analyse::run::Run;
use stepscope_analyse::statistics::Verdict;
use stepscope_ask::diff_words::{because, place, sentence};

const MAX_ROWS: usize = 5;

/// What two sides of traces say about a change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Where it comes from: traces, which did not decide.
    pub from: &'static str,
    /// The traces of the baseline.
    pub before: Vec<String>,
    /// The traces of the current version.
    pub after: Vec<String>,
    /// Whether the traces show a slower step too.
    pub agrees: bool,
    /// What they say about the step.
    pub sentence: String,
    /// What made most of the difference.
    pub because: Option<String>,
    /// The rows of the comparison that grew most.
    pub rows: Vec<Contribution>,
}

/// One place that takes more time than before.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contribution {
    pub place: String,
    /// Why the time is spent there.
    pub cause: &'static str,
    /// The module, where one is known.
    pub module: Option<String>,
    /// Per step, before.
    pub before_ns: i64,
    /// Per step, after.
    pub after_ns: i64,
    /// The change per step.
    pub delta_ns: i64,
    /// Whether a change of this size may be noise by itself: with few steps, most may.
    pub is_noise: bool,
}

/// Compares traces of the baseline with traces of the current version.
pub fn explain(before: &[Arc<Run>], after: &[Arc<Run>], thresholds: &Thresholds) -> Explanation {
    let found = diff(before, after, &DiffQuery::default(), thresholds);
    let paths = |runs: &[Arc<Run>]| runs.iter().map(|run| run.trace().meta().source.path.clone()).collect();
    Explanation {
        from: "traces",
        before: paths(before),
        after: paths(after),
        agrees: found.comparison.verdict == Verdict::Slower,
        sentence: sentence(&found),
        because: because(&found),
        rows: grown(&found),
    }
}

fn grown(found: &Diff) -> Vec<Contribution> {
    let rows = found.rows.iter().filter(|row| row.delta_ns > 0);
    let contribution = |row: &ChangeRow| Contribution {
        place: place(row),
        cause: row.cause.label(),
        module: row.module.clone(),
        before_ns: row.before_ns,
        after_ns: row.after_ns,
        delta_ns: row.delta_ns,
        is_noise: row.is_noise,
    };
    rows.take(MAX_ROWS).map(contribution).collect()
}
