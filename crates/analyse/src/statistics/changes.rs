//! Where a series of measurements, one per commit or day, changed its level for good.
//!
//! The series is cut into stretches so that the sum of distances to each stretch's median, plus a price per cut, is
//! least: medians, because one slow night is not a change. A cut stays only if shuffling the two stretches beside it hardly
//! ever finds one as good, and if the levels differ enough to matter.

mod running_median;

use schemars::JsonSchema;
use serde::Serialize;

use super::random::Random;
use super::sample::Statistic;
use running_median::RunningMedian;

/// A longer series is looked at from its end: a cut costs the square of the length.
const MAX_SERIES: usize = 1_000;
/// Fewer measurements than this are not a level.
const MIN_STRETCH: usize = 2;
const SHUFFLES: usize = 999;
const SEED: u64 = 0x0c4a_96e5;

/// What counts as a change.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ChangeRule {
    /// The smallest change of level that matters, as a share of the level before.
    pub margin: f64,
    /// How likely a cut may be in a series without changes.
    pub significance: f64,
}

impl Default for ChangeRule {
    fn default() -> Self {
        Self { margin: 0.01, significance: 0.01 }
    }
}

/// A change of level.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The first measurement of the new level, counted from 0.
    pub at: usize,
    /// The median of the stretch before.
    pub before: f64,
    /// The median of the stretch after.
    pub after: f64,
    /// How likely the best cut of these two stretches would be as good if their order meant nothing.
    pub p: f64,
}

/// The changes of level in a series, oldest first. Values must be finite; a series of more than 1,000 is looked at from its
/// end.
pub fn change_points(values: &[f64], rule: &ChangeRule) -> Vec<Change> {
    let skipped = values.len().saturating_sub(MAX_SERIES);
    let series = &values[skipped..];
    if series.len() < 2 * MIN_STRETCH || series.iter().any(|v| !v.is_finite()) {
        return Vec::new();
    }
    let positive = series.iter().all(|v| *v > 0.0);
    let scaled: Vec<f64> = series.iter().map(|v| if positive { v.ln() } else { *v }).collect();
    let Some(noise) = noise(&scaled) else { return Vec::new() };
    // Laplace's noise and two parameters per cut (a place and a level) make this the information criterion of Schwarz.
    let mut cuts = segments(&scaled, 1.5 * noise * (scaled.len() as f64).ln(), MIN_STRETCH);
    loop {
        let found = judge(series, &scaled, &cuts);
        let too_little = |change: &Change| {
            change.p > rule.significance
                || (change.after - change.before).abs() < rule.margin * change.before.abs()
        };
        // The least convincing goes first; without it, the stretches beside it are one and may convince.
        let worst = found.iter().enumerate().filter(|(_, change)| too_little(change));
        let worst = worst.max_by(|(_, a), (_, b)| {
            let change = |c: &Change| (c.after - c.before).abs();
            a.p.total_cmp(&b.p).then(change(b).total_cmp(&change(a)))
        });
        match worst {
            Some((at, _)) => drop(cuts.remove(at)),
            None => return found.into_iter().map(|c| Change { at: c.at + skipped, ..c }).collect(),
        }
    }
}

/// The mean distance from the level, estimated from neighbors, which a change of level does not touch.
fn noise(values: &[f64]) -> Option<f64> {
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    // For normal noise the median step is 0.954 standard deviations, the mean distance from the level 0.798.
    let typical = Statistic::MEDIAN.compute(&mut steps)? * 0.8366;
    // Counted values hardly ever move: then the few steps there are make the scale.
    let noise = if typical > 0.0 { typical } else { mean * 0.5 };
    (noise > 0.0).then_some(noise)
}

/// The starts of all stretches but the first, for which the sum of distances to the stretches' medians plus `price` per
/// cut is least. No stretch is shorter than `least`.
pub fn segments(values: &[f64], price: f64, least: usize) -> Vec<usize> {
    let n = values.len();
    let least = least.max(1);
    let mut cost = vec![f64::INFINITY; n + 1];
    let mut from = vec![0; n + 1];
    cost[0] = -price;
    for start in 0..n {
        if !cost[start].is_finite() {
            continue;
        }
        let mut spread = RunningMedian::default();
        for end in start + 1..=n {
            spread.add(values[end - 1]);
            let with = cost[start] + spread.distance() + price;
            if end - start >= least && with < cost[end] {
                cost[end] = with;
                from[end] = start;
            }
        }
    }
    let mut cuts = Vec::new();
    let mut at = n;
    while at > 0 && from[at] > 0 {
        at = from[at];
        cuts.push(at);
    }
    cuts.reverse();
    cuts
}

/// Each cut with the levels beside it and its p-value.
fn judge(series: &[f64], scaled: &[f64], cuts: &[usize]) -> Vec<Change> {
    let median = |values: &[f64]| Statistic::MEDIAN.compute(&mut values.to_vec()).unwrap_or(f64::NAN);
    let end_of = |index: usize| cuts.get(index + 1).copied().unwrap_or(series.len());
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    cuts.iter()
        .zip(starts)
        .enumerate()
        .map(|(index, (&at, start))| {
            let end = end_of(index);
            let p = shuffled(&scaled[start..end]);
            Change { at, before: median(&series[start..at]), after: median(&series[at..end]), p }
        })
        .collect()
}

/// How often the best cut of shuffled values is at least as good as that of the values in order.
fn shuffled(values: &[f64]) -> f64 {
    let best = best_cut(values);
    let mut random = Random::new(SEED);
    let mut order = values.to_vec();
    let as_good = (0..SHUFFLES).filter(|_| {
        random.shuffle(&mut order);
        best_cut(&order) >= best - 1e-12
    });
    (as_good.count() + 1) as f64 / (SHUFFLES + 1) as f64
}

/// How much one cut at the best place shortens the distances to the median.
fn best_cut(values: &[f64]) -> f64 {
    let distances = |values: &mut dyn Iterator<Item = &f64>| {
        let mut spread = RunningMedian::default();
        let each = values.map(|v| {
            spread.add(*v);
            spread.distance()
        });
        each.collect::<Vec<f64>>()
    };
    let ahead = distances(&mut values.iter());
    let behind = distances(&mut values.iter().rev());
    let n = values.len();
    let whole = ahead.last().copied().unwrap_or(0.0);
    let cuts = (MIN_STRETCH..=n.saturating_sub(MIN_STRETCH)).map(|at| ahead[at - 1] + behind[n - at - 1]);
    whole - cuts.fold(whole, f64::min)
}

#[cfg(test)]
mod tests;
