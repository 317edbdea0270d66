//! Rows of a comparison: what each place had per step before and after.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::Order;

use super::matching::{MatchLevel, matches};
use super::pieces::{PiecePlace, Pieces};
use crate::causes::account::definition;
use crate::causes::cause::Cause;
use crate::statistics::welch;

/// How sure it is that a change is not noise. There are hundreds of rows: at 95%, a dozen of them would change by chance.
const CONFIDENCE: f64 = 0.999;
/// Names of one side that a row lists.
const MAX_NAMES: usize = 4;

/// What happened to a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It takes more time per step.
    Increased,
    Decreased,
    /// The earlier run has none of it.
    Added,
    /// The later run has none of it.
    Removed,
    /// Nothing changed, to the nanosecond.
    Same,
}

impl Change {
    fn between(before: i64, after: i64, has: [bool; 2]) -> Change {
        match (has, after.cmp(&before)) {
            ([false, true], _) => Change::Added,
            ([true, false], _) => Change::Removed,
            (_, std::cmp::Ordering::Greater) => Change::Increased,
            (_, std::cmp::Ordering::Less) => Change::Decreased,
            _ => Change::Same,
        }
    }
}

/// One place in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeRow {
    pub change: Change,
    /// What the two were matched by.
    pub matched: MatchLevel,
    /// Why the time was spent.
    pub cause: Cause,
    /// The module's path, where one is known.
    pub module: Option<String>,
    /// Whether it is the module's backward pass.
    pub backward: bool,
    pub op: Option<String>,
    /// The kernel, or what the host was in; as the later run calls it.
    pub name: String,
    /// What the earlier run calls it, where that differs.
    pub before_name: Option<String>,
    pub before_ns: i64,
    pub after_ns: i64,
    /// The change per step.
    pub delta_ns: i64,
    /// Changes up to this may be noise; none where nothing is known about the noise.
    pub noise_ns: Option<i64>,
    /// Whether the change is within the noise.
    pub is_noise: bool,
    /// Kernels, copies or stretches of idle time per step, before.
    pub before_count: f64,
    pub after_count: f64,
}

/// One cause in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CauseChange {
    pub cause: Cause,
    pub label: &'static str,
    pub definition: Option<&'static str>,
    pub before_ns: i64,
    pub after_ns: i64,
    /// The change per step.
    pub delta_ns: i64,
}

/// All recordings of one side.
struct Side {
    places: Vec<PiecePlace>,
    sums: Vec<SideTotals>,
    steps: u64,
    recordings: usize,
}

#[derive(Clone, Debug, Default)]
struct SideTotals {
    total_ns: i64,
    count: u64,
    squares: f64,
    /// Per step, of each recording that has it.
    means: Vec<f64>,
}

impl Side {
    fn new(runs: &[Pieces]) -> Side {
        let mut numbers: HashMap<&PiecePlace, usize, RandomState> = HashMap::default();
        let mut side = Side { places: Vec::new(), sums: Vec::new(), steps: 0, recordings: runs.len() };
        for run in runs {
            side.steps += run.steps_ns.len() as u64;
            let steps = run.steps_ns.len().max(1) as f64;
            for piece in &run.pieces {
                let at = *numbers.entry(&piece.place).or_insert_with(|| {
                    side.places.push(piece.place.clone());
                    side.sums.push(SideTotals::default());
                    side.places.len() - 1
                });
                let sum = &mut side.sums[at];
                sum.total_ns = sum.total_ns.saturating_add(piece.total_ns);
                sum.count += piece.count;
                sum.squares += piece.squares;
                sum.means.push(piece.total_ns as f64 / steps);
            }
        }
        side
    }

    /// What rows have per step, in whole nanoseconds that add up to the mean step: what is lost by rounding goes to those that lose
    /// most.
    fn per_step(&self, rows: &[&[usize]]) -> Vec<i64> {
        let steps = i64::try_from(self.steps).unwrap_or(i64::MAX).max(1);
        let totals: Vec<i128> = (rows.iter())
            .map(|row| row.iter().map(|&at| i128::from(self.sums[at].total_ns)).sum::<i128>())
            .collect();
        let whole = totals.iter().sum::<i128>().div_euclid(i128::from(steps));
        let mut shares: Vec<i64> =
            totals.iter().map(|total| total.div_euclid(i128::from(steps)) as i64).collect();
        let missing = (whole - shares.iter().map(|share| i128::from(*share)).sum::<i128>()).max(0) as usize;
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.order_by_key(|&at| std::cmp::Reverse(totals[at].rem_euclid(i128::from(steps))));
        for &at in order.iter().take(missing) {
            shares[at] = shares[at].saturating_add(1);
        }
        shares
    }

    /// The variance of the mean of a row, and how many measurements it rests on; none where there is only one. Pieces of a row may go
    /// up and down together, so their deviations are added: an upper bound, not an estimate.
    fn noise(&self, row: &[usize]) -> Option<(f64, f64)> {
        let n = if self.recordings > 1 { self.recordings } else { self.steps as usize } as f64;
        if n < 2.0 {
            return None;
        }
        let deviation: f64 = (row.iter())
            .map(|&at| {
                let sum = &self.sums[at];
                let (total, squares) = match self.recordings {
                    1 => (sum.total_ns as f64, sum.squares),
                    _ => (sum.means.iter().sum(), sum.means.iter().map(|mean| mean * mean).sum()),
                };
                ((squares - total * total / n) / (n - 1.0)).max(0.0).sqrt()
            })
            .sum();
        Some((deviation * deviation / n, n - 1.0))
    }

    fn count(&self, row: &[usize]) -> f64 {
        row.iter().map(|&at| self.sums[at].count).sum::<u64>() as f64 / self.steps.max(1) as f64
    }

    /// What a row is called: its largest pieces first.
    fn names(&self, row: &[usize], name: impl Fn(&PiecePlace) -> Option<&String>) -> Option<String> {
        let mut row = row.to_vec();
        row.order_by_key(|&at| std::cmp::Reverse(self.sums[at].total_ns));
        let mut names: Vec<&String> = Vec::new();
        for found in row.iter().filter_map(|&at| name(&self.places[at])) {
            if !names.contains(&found) {
                names.push(found);
            }
        }
        let more = names.len().saturating_sub(MAX_NAMES);
        let mut text = names.iter().take(MAX_NAMES).map(|name| name.as_str()).collect::<Vec<_>>().join(" + ");
        if more > 0 {
            text.push_str(&format!(" + {more} more"));
        }
        (!text.is_empty()).then_some(text)
    }
}

/// Rows by the size of their change, and what they add up to by cause.
pub(super) fn rows(runs: &[Vec<Pieces>; 2]) -> (Vec<ChangeRow>, Vec<CauseChange>) {
    let sides = [Side::new(&runs[0]), Side::new(&runs[1])];
    let pairs = matches(&sides[0].places, &sides[1].places);
    let before = sides[0].per_step(&pairs.iter().map(|pair| &pair.before[..]).collect::<Vec<_>>());
    let after = sides[1].per_step(&pairs.iter().map(|pair| &pair.after[..]).collect::<Vec<_>>());
    let mut rows = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let (before_ns, after_ns) = (before[at], after[at]);
        let delta_ns = after_ns.saturating_sub(before_ns);
        let has = [!pair.before.is_empty(), !pair.after.is_empty()];
        let named = if has[1] { (&sides[1], &pair.after) } else { (&sides[0], &pair.before) };
        let place = &named.0.places[named.1[0]];
        let name = |side: &Side, row: &[usize]| {
            side.names(row, |place| place.name.as_ref()).unwrap_or_else(|| place.cause.label().to_owned())
        };
        let now = name(named.0, named.1);
        let noise = sides[0].noise(&pair.before).zip(sides[1].noise(&pair.after));
        let noise_ns = noise.map(|(before, after)| welch(before, after, CONFIDENCE).ceil() as i64);
        rows.push(ChangeRow {
            change: Change::between(before_ns, after_ns, has),
            matched: pair.matched,
            cause: place.cause,
            module: place.module.clone().filter(|_| {
                pair.after.iter().all(|&at| sides[1].places[at].module == place.module)
                    && (pair.matched == MatchLevel::Moved
                        || pair.before.iter().all(|&at| sides[0].places[at].module == place.module))
            }),
            backward: place.backward,
            op: named.0.names(named.1, |place| place.op.as_ref()),
            before_name: Some(name(&sides[0], &pair.before)).filter(|was| has[0] && has[1] && *was != now),
            name: now,
            before_ns,
            after_ns,
            delta_ns,
            noise_ns,
            is_noise: delta_ns != 0 && noise_ns.is_some_and(|noise| delta_ns.abs() <= noise),
            before_count: sides[0].count(&pair.before),
            after_count: sides[1].count(&pair.after),
        });
    }
    let mut causes: Vec<CauseChange> = Vec::new();
    for row in &rows {
        match causes.iter_mut().find(|cause| cause.cause == row.cause) {
            Some(cause) => {
                cause.before_ns = cause.before_ns.saturating_add(row.before_ns);
                cause.after_ns = cause.after_ns.saturating_add(row.after_ns);
                cause.delta_ns = cause.after_ns.saturating_sub(cause.before_ns);
            }
            None => causes.push(CauseChange {
                cause: row.cause,
                label: row.cause.label(),
                definition: definition(row.cause).map(|found| found.text),
                before_ns: row.before_ns,
                after_ns: row.after_ns,
                delta_ns: row.delta_ns,
            }),
        }
    }
    causes.retain(|cause| cause.before_ns != 0 || cause.after_ns != 0);
    causes.order_by_key(|cause| (std::cmp::Reverse(cause.delta_ns.unsigned_abs()), cause.cause));
    rows.retain(|row| row.before_ns != 0 || row.after_ns != 0);
    rows.order_by(|a, b| {
        let key = |row: &ChangeRow| (std::cmp::Reverse(row.delta_ns.unsigned_abs()), row.cause);
        key(a).cmp(&key(b)).then_with(|| (&a.op, &a.name, &a.module).cmp(&(&b.op, &b.name, &b.module)))
    });
    (rows, causes)
}
