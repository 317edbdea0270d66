//! A program run with fixes put in from outside, in turns with runs without any: what each fix saves, measured.
//!
//! The baseline runs twice in every round. That tells how far two runs of the same program lie apart, in time and in what they
//! compute; a fix counts as faster only if it beats both.

mod numbers;
mod plan;
mod record;
mod variant;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_analyse::statistics::{Comparison, Rule, Sample, Verdict, compare};

pub use numbers::{Numbers, compare_numbers};
pub use plan::{PlanStep, compatible, order};
pub use record::{FixRecord, PlanRecord, TryRecord, VERSION, all, verdict_name};
pub use variant::{Variant, fix_record, plan_record, rounds};

/// The smallest saving worth a claim, as a share of an iteration.
const MARGIN: f64 = 0.02;
/// In one round of so many a fix may miss one of the two baselines: a machine has hiccups.
const ROUNDS_PER_MISS: usize = 5;

/// A fix that the Python package can put in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Fix {
    pub name: String,
    pub title: String,
    /// What it may do to results: "same" or "close".
    pub numbers: String,
    /// Fixes of one group exclude each other.
    pub group: Option<String>,
    /// What to write to keep it.
    pub code: String,
    /// It is the user's own.
    #[serde(default)]
    pub own: bool,
}

/// A fix that is tried, and what was promised of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub fix: Fix,
    /// The rule whose finding names it.
    pub rule: Option<&'static str>,
    /// What it saves, as a share of an iteration, and whether that is a bound.
    pub promised: Option<f64>,
    pub at_most: bool,
}

impl Candidate {
    /// No finding names it.
    pub fn unasked(fix: &Fix) -> Candidate {
        Candidate { fix: fix.clone(), rule: None, promised: None, at_most: false }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunOrder {
    pub program: String,
    pub arguments: Vec<String>,
    pub is_module: bool,
    /// The names of the fixes to put in.
    pub fixes: Vec<String>,
    /// Python files with fixes of the user's own.
    pub files: Vec<String>,
    /// Iterations before those that count; the first run chooses.
    pub warmup: Option<u64>,
    /// Iterations that count; the first run chooses.
    pub iterations: Option<u64>,
    /// Where the run writes what it measured.
    pub result: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct RunResult {
    /// What an iteration is; unknown if none was found.
    pub found_by: Option<String>,
    /// The program ended before all iterations that count were over.
    pub ended_itself: bool,
    pub warmup: Option<u64>,
    pub iterations: Option<u64>,
    /// Iterations that ended.
    pub counted: u64,
    /// The mean of those that count, the device's work included.
    pub iteration_ns: Option<f64>,
    pub whole_ns: f64,
    /// From the start of the program to the end of its first iteration.
    pub startup_ns: Option<f64>,
    /// The loss of each backward pass; null where it is not a finite number.
    #[serde(default)]
    pub losses: Vec<Option<f64>>,
    /// The mean size of the numbers in the model's first outputs, by the number of the call.
    #[serde(default)]
    pub outputs: BTreeMap<u64, Option<f64>>,
    pub peak_device_bytes: Option<i64>,
    pub peak_host_bytes: i64,
    #[serde(default)]
    pub fixes: Vec<FixEffect>,
}

/// Whether a fix took effect, and how one knows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FixEffect {
    pub name: String,
    pub took: bool,
    pub evidence: String,
}

impl RunResult {
    /// Iterations to leave out and to count in a program that ends after so many; unknown if there are too few.
    pub fn shorter(&self) -> Option<(u64, u64)> {
        let (warmup, rest) = (self.counted / 3, self.counted - self.counted / 3);
        // The last may be shorter than the others.
        (self.counted >= 6).then_some((warmup.max(1), rest - 1))
    }

    /// What represents this run: an iteration, or all of it where there are none.
    pub fn time_ns(&self) -> f64 {
        self.iteration_ns.unwrap_or(self.whole_ns)
    }

    pub fn peak_bytes(&self) -> i64 {
        self.peak_device_bytes.unwrap_or(self.peak_host_bytes)
    }
}

/// One round's runs without a fix, and one with.
#[derive(Copy, Clone, Debug)]
pub struct Round<'a> {
    pub baselines: [&'a RunResult; 2],
    pub fixed: &'a RunResult,
}

/// What a fix does to the time of an iteration: below 1 is faster.
pub fn compare_times(rounds: &[Round<'_>]) -> Comparison {
    let baseline = rounds.iter().map(|round| {
        let [first, second] = round.baselines.map(RunResult::time_ns);
        vec![(first * second).sqrt()]
    });
    let fixed = rounds.iter().map(|round| vec![round.fixed.time_ns()]);
    let rule = Rule { margin: MARGIN, in_turns: true, ..Rule::default() };
    let mut found = compare(&Sample::new(baseline), &Sample::new(fixed), &rule);
    let misses = |is_beaten: fn(&f64, &f64) -> bool| {
        let beaten = |round: &&Round<'_>| {
            round.baselines.iter().all(|baseline| is_beaten(&round.fixed.time_ns(), &baseline.time_ns()))
        };
        rounds.len() - rounds.iter().filter(beaten).count()
    };
    let misses = match found.verdict {
        Verdict::Faster => misses(f64::lt),
        Verdict::Slower => misses(f64::gt),
        _ => 0,
    };
    if misses > rounds.len() / ROUNDS_PER_MISS {
        found.verdict = Verdict::Inconclusive;
    }
    found
}

/// What the runs without a fix say.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Baseline {
    pub mean_ns: f64,
    /// How far the two runs of a round lie apart at most, as a share.
    pub noise: f64,
}

impl Baseline {
    pub fn of(rounds: &[[RunResult; 2]]) -> Baseline {
        let times: Vec<f64> = rounds.iter().flatten().map(RunResult::time_ns).collect();
        let apart = rounds.iter().map(|[first, second]| (first.time_ns() / second.time_ns()).ln().abs());
        Baseline {
            mean_ns: times.iter().sum::<f64>() / times.len().max(1) as f64,
            noise: apart.fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests;
