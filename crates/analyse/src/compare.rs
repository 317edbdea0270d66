//! Two runs compared, or more set side by side: whether the step got faster, and what made the difference.
//!
//! The steps of both runs are cut into pieces that add up to them (`pieces.rs`), the pieces are matched (`matching.rs`), and each pair is
//! a row. So the changes of the rows add up to the change of the mean step, to the nanosecond.

mod definitions;
mod late_rank;
mod likeness;
mod matching;
mod metrics;
mod pieces;
mod rows;
mod several;

use std::sync::Arc;
use stepscope_model::Order;

use schemars::JsonSchema;
use serde::Serialize;

use crate::findings::{Finding, Thresholds, findings};
use crate::run::Run;
use crate::statistics::{Comparison, Rule, Sample, Verdict, compare};

use pieces::Pieces;

pub use definitions::DEFINITIONS;
pub use late_rank::{LateRank, RankStep, late_rank};
pub use matching::MatchLevel;
pub use metrics::{MetricRow, MetricUnit};
pub use rows::{CauseChange, Change, ChangeRow};
pub use several::{ComparedBy, PairRow, Several, SideRow, several};

/// What to compare, and how.
#[derive(Clone, Debug, Default)]
pub struct DiffQuery {
    /// The device; the first of each run if none is named.
    pub device: Option<i64>,
    /// When a step time counts as changed.
    pub rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepSide {
    pub recordings: u64,
    pub steps: u64,
    pub mean_ns: i64,
    /// The shortest step that at least half of the steps do not exceed.
    pub p50_ns: i64,
    /// The shortest step that at least 95% of the steps do not exceed.
    pub p95_ns: i64,
    /// The device whose time is divided among the rows; none where the main thread's is.
    pub device: Option<i64>,
}

/// A finding that only one of the runs has, or both.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FindingChange {
    /// `new`, `gone` or `both`.
    pub change: FindingState,
    pub rule: &'static str,
    /// What it says, of the later run where both have it.
    pub title: String,
    /// What a fix was worth before, per step.
    pub before_saves_ns: Option<i64>,
    /// What a fix is worth after, per step.
    pub after_saves_ns: Option<i64>,
}

/// Which of the runs has a finding.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// Only the later one.
    New,
    /// Only the earlier one.
    Gone,
    Both,
}

#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    pub before: StepSide,
    pub after: StepSide,
    /// The mean step after less that before: what all rows add up to.
    pub delta_ns: i64,
    /// Whether that is more than noise.
    pub comparison: Comparison,
    /// By cause; they add up to `delta_ns`.
    pub causes: Vec<CauseChange>,
    /// By place; they add up to `delta_ns`, and those of one cause to its change.
    pub rows: Vec<ChangeRow>,
    /// Other metrics of both.
    pub metrics: Vec<MetricRow>,
    /// Findings that appeared, went away or stayed.
    pub findings: Vec<FindingChange>,
    /// What is not alike, in words: differences that the change may come from, or that make it mean little.
    pub unlike: Vec<String>,
}

/// What is worked out for each side by itself.
struct Side {
    pieces: Vec<Pieces>,
    metrics: Vec<Option<f64>>,
    findings: Vec<Finding>,
}

impl Side {
    /// The first recording speaks for the side where findings are concerned.
    fn new(runs: &[Arc<Run>], query: &DiffQuery, thresholds: &Thresholds) -> Side {
        Side {
            pieces: runs.iter().map(|run| pieces::pieces(run, query.device)).collect(),
            metrics: metrics::values(runs),
            findings: runs.first().map(|run| findings(run, thresholds)).unwrap_or_default(),
        }
    }
}

/// Compares two sides; each has one recording or more of the same program.
pub fn diff(before: &[Arc<Run>], after: &[Arc<Run>], query: &DiffQuery, thresholds: &Thresholds) -> Diff {
    let [a, b] = std::thread::scope(|scope| {
        let other = scope.spawn(|| Side::new(before, query, thresholds));
        let b = Side::new(after, query, thresholds);
        [other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), b]
    });
    let sides = [a.pieces, b.pieces];
    let (rows, causes) = rows::rows(&sides);
    let sample = |side: &[Pieces]| {
        Sample::new(side.iter().map(|run| run.steps_ns.iter().map(|ns| *ns as f64).collect()))
    };
    let mut comparison = compare(&sample(&sides[0]), &sample(&sides[1]), &query.rule);
    let steps = |side: &[Pieces]| side.iter().map(|run| run.steps_ns.clone()).collect::<Vec<_>>();
    if rows.iter().all(|row| row.change == Change::Same) && steps(&sides[0]) == steps(&sides[1]) {
        // The same recording twice has no noise to speak of.
        comparison.verdict = Verdict::NoDifference;
    }
    let [before_step, after_step] = [step_side(&sides[0]), step_side(&sides[1])];
    Diff {
        delta_ns: after_step.mean_ns.saturating_sub(before_step.mean_ns),
        comparison,
        before: before_step,
        after: after_step,
        causes,
        rows,
        metrics: metrics::rows(&a.metrics, &b.metrics),
        findings: finding_changes(a.findings, b.findings),
        unlike: likeness::unlike(before, after),
    }
}

fn step_side(side: &[Pieces]) -> StepSide {
    let steps = step_numbers(side.iter().flat_map(|run| run.steps_ns.iter().copied()).collect());
    StepSide {
        recordings: side.len() as u64,
        steps: steps.count,
        mean_ns: steps.mean_ns,
        p50_ns: steps.p50_ns,
        p95_ns: steps.p95_ns,
        device: side.first().and_then(|run| run.device),
    }
}

struct StepNumbers {
    count: u64,
    mean_ns: i64,
    p50_ns: i64,
    p95_ns: i64,
}

fn step_numbers(mut all: Vec<i64>) -> StepNumbers {
    all.sort_unstable();
    let rank = |share: f64| {
        let at = (all.len() as f64 * share).ceil() as usize;
        all.get(at.saturating_sub(1)).copied().unwrap_or(0)
    };
    let sum = all.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
    StepNumbers {
        count: all.len() as u64,
        mean_ns: sum / (all.len() as i64).max(1),
        p50_ns: rank(0.5),
        p95_ns: rank(0.95),
    }
}

/// By rule and line.
fn finding_changes(before: Vec<Finding>, after: Vec<Finding>) -> Vec<FindingChange> {
    let mut old: Vec<Option<Finding>> = before.into_iter().map(Some).collect();
    let mut changes = Vec::new();
    for new in after {
        let same = |one: &&mut Option<Finding>| {
            one.as_ref().is_some_and(|one| one.rule == new.rule && one.source == new.source)
        };
        let known = old.iter_mut().find(same).and_then(Option::take);
        changes.push(FindingChange {
            change: if known.is_some() { FindingState::Both } else { FindingState::New },
            rule: new.rule,
            title: new.title,
            before_saves_ns: known.and_then(|one| one.saves_ns),
            after_saves_ns: new.saves_ns,
        });
    }
    changes.extend(old.into_iter().flatten().map(|one| FindingChange {
        change: FindingState::Gone,
        rule: one.rule,
        title: one.title,
        before_saves_ns: one.saves_ns,
        after_saves_ns: None,
    }));
    changes.order_by_key(|one| one.change);
    changes
}
