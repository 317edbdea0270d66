//! Whether a program computes what it did before.
//!
//! Runs have the same seeds and the same data, so their losses can be compared one by one. A heuristic decides what is noise: the
//! difference of the two runs without the fix, or a quarter of what training changed in the same iterations.

use serde::{Deserialize, Serialize};

use super::{Round, RunResult};

/// Differences of the same size as this many differences between two equal runs are noise.
const NOISE_FACTOR: f64 = 3.0;
/// What training changed, divided by this, is noise too...
const PROGRESS_PARTS: f64 = 4.0;
/// ...within these limits, as shares of the loss.
const MIN_TOLERANCE: f64 = 0.001;
const MAX_TOLERANCE: f64 = 0.01;
/// A loss that falls towards 0 is compared with this part of the first one.
const MIN_SCALE: f64 = 0.1;

/// What a fix does to a program's results.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Numbers {
    /// Bit for bit.
    Same,
    WithinNoise {
        share: f64,
    },
    Differs {
        share: f64,
    },
    /// A loss that was a number no longer is.
    NotANumber,
    /// The program showed neither a loss nor an output.
    Unknown,
}

impl Numbers {
    /// Whether the fix may be advised.
    pub fn is_sound(self) -> bool {
        !matches!(self, Numbers::Differs { .. } | Numbers::NotANumber)
    }

    pub fn text(self) -> String {
        match self {
            Numbers::Same => "same".to_owned(),
            Numbers::WithinNoise { .. } => "within noise".to_owned(),
            Numbers::Differs { share } => format!("differs by {}", percent(share)),
            Numbers::NotANumber => "not a number".to_owned(),
            Numbers::Unknown => "not seen".to_owned(),
        }
    }
}

/// With as many digits as it needs.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value < 1.0 { format!("{value:.2}%") } else { format!("{value:.0}%") }
}

/// What a fix does to results over all rounds: the worst of them.
pub fn compare_numbers(rounds: &[Round<'_>]) -> Numbers {
    rounds.iter().map(compare_round).reduce(worse).unwrap_or(Numbers::Unknown)
}

fn worse(a: Numbers, b: Numbers) -> Numbers {
    let rank = |numbers: Numbers| match numbers {
        Numbers::Unknown => (0, 0.0),
        Numbers::Same => (1, 0.0),
        Numbers::WithinNoise { share } => (2, share),
        Numbers::Differs { share } => (3, share),
        Numbers::NotANumber => (4, 0.0),
    };
    if rank(a) >= rank(b) { a } else { b }
}

fn compare_round(round: &Round<'_>) -> Numbers {
    let [first, second] = round.baselines;
    // Calls may have been watched from another one on.
    let common = |number: &&u64| [first, second].iter().all(|run| run.outputs.contains_key(number));
    let calls: Vec<u64> = round.fixed.outputs.keys().filter(common).copied().collect();
    let kept = |run: &RunResult| match run.losses.is_empty() {
        true => calls.iter().map(|number| run.outputs[number]).collect(),
        false => run.losses.clone(),
    };
    let ([first, second], fixed) = (round.baselines.map(kept), kept(round.fixed));
    let count = first.len().min(second.len()).min(fixed.len());
    if count == 0 {
        return Numbers::Unknown;
    }
    let (first, second, fixed) = (&first[..count], &second[..count], &fixed[..count]);
    if first == fixed && first == second {
        return Numbers::Same;
    }
    if first.iter().zip(fixed).any(|(before, now)| before.is_some() && now.is_none()) {
        return Numbers::NotANumber;
    }
    let scale = first.iter().flatten().next().map_or(0.0, |value| value.abs()) * MIN_SCALE;
    // What comes last has all differences in it that came before.
    let tail = count - count.div_ceil(3);
    let distance = |a: &[Option<f64>], b: &[Option<f64>]| {
        mean(a[tail..].iter().zip(&b[tail..]).filter_map(|pair| match pair {
            (Some(a), Some(b)) => Some((a - b).abs() / a.abs().max(b.abs()).max(scale).max(f64::MIN_POSITIVE)),
            _ => None,
        }))
    };
    let share = distance(first, fixed).min(distance(second, fixed));
    let level = |values: &[Option<f64>]| mean(values.iter().flatten().copied());
    let (began, ended) = (level(&first[..count.div_ceil(3)]), level(&first[tail..]));
    let progress = (began - ended).abs() / began.abs().max(f64::MIN_POSITIVE);
    let tolerance = (progress / PROGRESS_PARTS).clamp(MIN_TOLERANCE, MAX_TOLERANCE);
    if share <= tolerance.max(NOISE_FACTOR * distance(first, second)) {
        Numbers::WithinNoise { share }
    } else {
        Numbers::Differs { share }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
