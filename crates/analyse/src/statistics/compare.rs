//! Two samples, one verdict: slower, faster, no difference, or not known.

use schemars::JsonSchema;
use serde::Serialize;

use super::bootstrap::{self, MIN_STEPS, middle_share};
use super::pairs::{paired_shift, signed_rank};
use super::ranks::{can_decide, hodges_lehmann, mann_whitney};
use super::sample::{Sample, Statistic};
use super::student::{self, squares, variance};

/// What is left over when two numbers that should be equal went through logarithms: a margin given as 5% must not fail 105
/// against 100 over the last bit.
const ROUNDING_SLACK: f64 = 1e-9;
/// More repeats than this are not advice.
const MAX_REPEATS_ADVISED: f64 = 1_000.0;

/// What is asked of a comparison.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Rule {
    /// What represents the values of one repeat.
    pub statistic: Statistic,
    /// The smallest difference that matters, as a share of the baseline: 0.05 is 5%.
    pub margin: f64,
    /// How sure a verdict must be: 0.95 is wrong in at most one of twenty.
    pub confidence: f64,
    /// The values are counted, not timed: a single one is exact, and equal ones have no noise.
    pub counted: bool,
    /// The repeats ran in turns: the first of one side next to the first of the other, and so on. Then they are compared in
    /// pairs, and a load that comes and goes hits both alike.
    pub in_turns: bool,
}

impl Default for Rule {
    fn default() -> Self {
        Self { statistic: Statistic::Mean, margin: 0.02, confidence: 0.95, counted: false, in_turns: false }
    }
}

/// What two samples say about each other. "Slower" is a larger value, whatever was measured.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ComparisonVerdict")]
pub enum Verdict {
    /// Less than before: the interval lies below 1, and the best estimate is a difference of the margin or more.
    Faster,
    /// More than before: the interval lies above 1, and the best estimate is a difference of the margin or more.
    Slower,
    /// The whole interval lies within the margin: a difference that matters would have shown.
    NoDifference,
    /// Neither was shown; more repeats may.
    Inconclusive,
}

/// Where an interval comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Method {
    /// Repeats on both sides, compared by their order (Hodges and Lehmann's interval of the Mann-Whitney test).
    Ranks,
    /// Repeats in turns, compared in pairs by the order of their differences (Wilcoxon's signed-rank test).
    Pairs,
    /// Too few pairs to go by order: Student's interval of their differences, which takes their noise to be normal.
    FewPairs,
    /// Too few repeats to go by order: Student's interval of their logarithms, which takes their noise to be normal and
    /// alike on both sides.
    Student,
    /// One run per side: its steps, resampled in blocks. What differs between one run and the next is not in it.
    Blocks {
        /// How many neighboring steps were drawn together.
        length: usize,
    },
    /// One run per side with too few steps to resample: Student's interval of their logarithms, which takes their noise to be normal
    /// and the steps to be independent.
    FewSteps,
    /// Counted values without noise.
    Counted,
    /// One value per side, or none: nothing is known about the noise.
    Nothing,
}

impl Method {
    /// The method in one sentence, for whoever reads the verdict.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Ranks => "repeated runs on both sides, compared by their order",
            Self::Pairs => "interleaved runs, compared in pairs by the order of their differences",
            Self::FewPairs => "few interleaved runs, compared in pairs; the interval assumes normal noise",
            Self::Student => "few repeated runs; the interval assumes normal noise",
            Self::Blocks { .. } => {
                "one run per side, by its steps; differences between runs are not in the interval"
            }
            Self::FewSteps => {
                "one run per side with few steps, taken as independent; differences between runs are not in the interval"
            }
            Self::Counted => "counted values, which have no noise",
            Self::Nothing => "one value per side says nothing about the noise",
        }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub baseline_repeats: usize,
    /// Repeats of the current version.
    pub current_repeats: usize,
    /// Values of the baseline in total.
    pub baseline_values: usize,
    /// Values of the current version in total.
    pub current_values: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The baseline's number: the median over its repeats.
    pub baseline: Option<f64>,
    pub current: Option<f64>,
    /// Current over baseline, the best estimate; unknown if a side is empty or the baseline is 0.
    pub ratio: Option<f64>,
    /// The lowest ratio that the confidence allows; unknown if nothing is known about the noise.
    pub low: Option<f64>,
    /// The highest ratio that the confidence allows.
    pub high: Option<f64>,
    /// How likely such a difference, or a larger one, would be if there were none.
    pub p: Option<f64>,
    pub verdict: Verdict,
    /// Where the interval comes from.
    pub method: Method,
    pub n: Counts,
    /// About how many repeats per side would decide, if nothing was decided and the noise stays as it is. Unknown if that
    /// cannot be estimated or no reasonable number would.
    pub repeats_to_decide: Option<usize>,
}

impl Comparison {
    /// Whether the confidence allows a ratio that was found in another way.
    pub fn allows(&self, ratio: f64) -> bool {
        self.low.is_none_or(|low| ratio >= low) && self.high.is_none_or(|high| ratio <= high)
    }

    /// Whether the value rises by more than this share of the baseline, or falls where that is asked; unknown if neither was shown.
    /// What changes the other way keeps within the share, however far.
    pub fn beyond(&self, share: f64, rising: bool) -> Option<bool> {
        let (Some(ratio), Some(low), Some(high)) = (self.ratio, self.low, self.high) else {
            // Without a ratio the baseline was 0: then any change is beyond every share.
            return match (self.ratio, self.verdict) {
                (None, Verdict::Slower) => Some(rising),
                (None, Verdict::Faster) => Some(!rising),
                (None, Verdict::NoDifference) => Some(false),
                _ => None,
            };
        };
        let (kept, broken) = match rising {
            true => (high <= 1.0 + share + ROUNDING_SLACK, low > 1.0 && ratio >= 1.0 + share),
            false => (low >= 1.0 - share - ROUNDING_SLACK, high < 1.0 && ratio <= 1.0 - share),
        };
        (kept || broken).then_some(!kept)
    }
}

/// An interval of the difference in the scale of the comparison, and its p-value.
struct ShiftEstimate {
    shift: f64,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
    method: Method,
}

/// Compares two samples.
///
/// Repeats of the whole run are the unit wherever there are several: each counts once, by its statistic. Only where both
/// sides are one run do steps count, and then in blocks. Ratios are compared as logarithms, so that exchanging the sides
/// turns the verdict around.
pub fn compare(baseline: &Sample, current: &Sample, rule: &Rule) -> Comparison {
    let (a, b) = (baseline.units(rule.statistic), current.units(rule.statistic));
    // Ratios need positive numbers; a share or a count can be 0, and then differences are compared.
    let positive =
        a.iter().chain(&b).chain(baseline.groups().iter().chain(current.groups()).flatten()).all(|v| *v > 0.0);
    let scale = |value: f64| if positive { value.ln() } else { value };
    let center = Statistic::MEDIAN.compute(&mut a.clone());
    let back = |shift: f64| match center {
        _ if positive => Some(shift.exp()),
        Some(center) if center > 0.0 => Some(1.0 + shift / center),
        _ if shift == 0.0 => Some(1.0),
        _ => None,
    };
    let (x, y): (Vec<f64>, Vec<f64>) =
        (a.iter().copied().map(scale).collect(), b.iter().copied().map(scale).collect());
    let found = find(baseline, current, (&x, &y), rule, scale);
    let margin = if positive { rule.margin.ln_1p() } else { rule.margin * center.unwrap_or(0.0).max(0.0) };
    let verdict = found.as_ref().map_or(Verdict::Inconclusive, |found| decide(found, margin));
    let repeats_to_decide = match (&found, verdict) {
        (Some(found), Verdict::Inconclusive) => advice(&x, &y, found.shift, margin, rule),
        _ => None,
    };
    let interval = found.as_ref().and_then(|found| found.interval);
    Comparison {
        baseline: center,
        current: Statistic::MEDIAN.compute(&mut b.clone()),
        ratio: found.as_ref().and_then(|found| back(found.shift)),
        low: interval.and_then(|(low, _)| back(low)),
        high: interval.and_then(|(_, high)| back(high)),
        p: found.as_ref().and_then(|found| found.p),
        verdict,
        method: found.map_or(Method::Nothing, |found| found.method),
        n: Counts {
            baseline_repeats: baseline.repeats(),
            current_repeats: current.repeats(),
            baseline_values: baseline.values(),
            current_values: current.values(),
        },
        repeats_to_decide,
    }
}

fn find(
    baseline: &Sample,
    current: &Sample,
    (x, y): (&[f64], &[f64]),
    rule: &Rule,
    scale: impl Fn(f64) -> f64,
) -> Option<ShiftEstimate> {
    let (shift, ranked) = hodges_lehmann(x, y, rule.confidence)?;
    let same = |values: &[f64]| values.iter().all(|v| *v == values[0]);
    if rule.counted && same(x) && same(y) {
        let p = if shift == 0.0 { 1.0 } else { 0.0 };
        return Some(ShiftEstimate {
            shift,
            interval: Some((shift, shift)),
            p: Some(p),
            method: Method::Counted,
        });
    }
    if in_pairs(x, y, rule) {
        return by_pairs(x, y, rule.confidence);
    }
    if can_decide(x.len(), y.len(), rule.confidence) {
        return Some(ShiftEstimate { shift, interval: ranked, p: mann_whitney(x, y), method: Method::Ranks });
    }
    if x.len() + y.len() >= 3 {
        return Some(by_student(x, y, rule.confidence));
    }
    let (a, b) = (&baseline.groups()[0], &current.groups()[0]);
    if a.len() < 2 || b.len() < 2 {
        return Some(ShiftEstimate { shift, interval: None, p: None, method: Method::Nothing });
    }
    if a.len() < MIN_STEPS || b.len() < MIN_STEPS {
        let scaled = |values: &[f64]| values.iter().copied().map(&scale).collect::<Vec<f64>>();
        return Some(ShiftEstimate {
            method: Method::FewSteps,
            ..by_student(&scaled(a), &scaled(b), rule.confidence)
        });
    }
    let (drawn, length) = bootstrap::differences(a, b, rule.statistic, scale);
    let n = drawn.len() as f64;
    let (below, above) =
        (drawn.iter().filter(|d| **d <= 0.0).count(), drawn.iter().filter(|d| **d >= 0.0).count());
    let p = (2.0 * (below.min(above) as f64 + 1.0) / (n + 1.0)).min(1.0);
    let interval = middle_share(&drawn, rule.confidence);
    Some(ShiftEstimate { shift, interval, p: Some(p), method: Method::Blocks { length } })
}

fn in_pairs(x: &[f64], y: &[f64], rule: &Rule) -> bool {
    rule.in_turns && x.len() == y.len() && x.len() >= 2
}

fn by_pairs(x: &[f64], y: &[f64], confidence: f64) -> Option<ShiftEstimate> {
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| y - x).collect();
    let (shift, ranked) = paired_shift(&differences, confidence)?;
    if ranked.is_some() {
        return Some(ShiftEstimate {
            shift,
            interval: ranked,
            p: signed_rank(&differences),
            method: Method::Pairs,
        });
    }
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let error = (variance(&differences) / n).sqrt();
    Some(student_interval(mean, error, n - 1.0, confidence, Method::FewPairs))
}

fn by_student(x: &[f64], y: &[f64], confidence: f64) -> ShiftEstimate {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let shift = mean_y - mean_x;
    let freedom = (x.len() + y.len() - 2) as f64;
    let error = (variance_within(x, y) * (1.0 / x.len() as f64 + 1.0 / y.len() as f64)).sqrt();
    student_interval(shift, error, freedom, confidence, Method::Student)
}

fn student_interval(shift: f64, error: f64, freedom: f64, confidence: f64, method: Method) -> ShiftEstimate {
    let half = student::quantile(1.0 - confidence, freedom) * error;
    let p =
        if error > 0.0 { student::outside(shift / error, freedom) } else { f64::from(u8::from(shift == 0.0)) };
    ShiftEstimate { shift, interval: Some((shift - half, shift + half)), p: Some(p), method }
}

/// The variance of both groups around their own means.
fn variance_within(x: &[f64], y: &[f64]) -> f64 {
    (squares(x) + squares(y)) / (x.len() + y.len()).saturating_sub(2).max(1) as f64
}

fn decide(found: &ShiftEstimate, margin: f64) -> Verdict {
    match found.interval {
        None => Verdict::Inconclusive,
        Some((low, high)) if low >= -margin - ROUNDING_SLACK && high <= margin + ROUNDING_SLACK => {
            Verdict::NoDifference
        }
        Some((low, _)) if low > 0.0 && found.shift >= margin => Verdict::Slower,
        Some((_, high)) if high < 0.0 && found.shift <= -margin => Verdict::Faster,
        Some(_) => Verdict::Inconclusive,
    }
}

/// Repeats per side after which the interval is likely to be short enough.
fn advice(x: &[f64], y: &[f64], shift: f64, margin: f64, rule: &Rule) -> Option<usize> {
    let confidence = rule.confidence;
    let distance = if shift.abs() >= margin { shift.abs() } else { margin - shift.abs() };
    if x.len() + y.len() < 3 || distance <= 0.0 {
        return None;
    }
    // The variance of one difference between two runs.
    let spread = if in_pairs(x, y, rule) {
        variance(&x.iter().zip(y).map(|(x, y)| y - x).collect::<Vec<_>>())
    } else {
        2.0 * variance_within(x, y)
    };
    let least = (2..100).find(|&n| can_decide(n, n, confidence))?;
    let mut repeats = least as f64;
    // The half-width of the interval falls with the root of the repeats; its factor depends on them in turn.
    for _ in 0..4 {
        let factor = student::quantile(1.0 - confidence, 2.0 * repeats - 2.0);
        repeats = (spread * (factor / distance).powi(2)).max(least as f64);
        if repeats > MAX_REPEATS_ADVISED {
            return None;
        }
    }
    Some((repeats.ceil() as usize).max(x.len().max(y.len()) + 1))
}

#[cfg(test)]
mod tests;
