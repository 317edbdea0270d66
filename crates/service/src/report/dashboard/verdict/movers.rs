//! Which counters changed their level together with a latency: medians before and after, held to how much they wander.

use schemars::JsonSchema;
use serde::Serialize;
use stepscope_analyse::statistics::Statistic;

use crate::report::dashboard::CounterSeries;
use crate::thresholds::{
    MOVED_MAX_POINTS, MOVED_MIN_CHANGE, MOVED_MIN_POINTS, MOVED_MIN_SCORE, MOVED_MIN_SHARE,
};

/// What the median distance from the median is of a standard deviation, if noise is normal.
const DEVIATION_PER_MEDIAN: f64 = 1.4826;

/// A counter that changed its level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CounterShift {
    pub name: String,
    /// The device, if it is one of several.
    pub device: Option<String>,
    #[schemars(extend("enum" = ["percent", "bytes", "bytes_per_second", "watts", "celsius", "megahertz", "joules", "count"]))]
    pub unit: String,
    pub before: f64,
    pub after: f64,
    /// The change by how much the counter wanders.
    pub score: f64,
}

/// The counters that moved at a minute, the clearest first; nothing where there are too few points to tell.
pub(super) fn at(minute: i64, minutes: &[i64], counters: &[CounterSeries]) -> Option<Vec<CounterShift>> {
    let cut = minutes.iter().position(|one| *one >= minute)?;
    if counters.is_empty() || cut < MOVED_MIN_POINTS || minutes.len() - cut <= MOVED_MIN_POINTS {
        return None;
    }
    let mut found: Vec<CounterShift> = counters.iter().filter_map(|counter| moved(counter, cut)).collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    Some(found)
}

fn moved(counter: &CounterSeries, cut: usize) -> Option<CounterShift> {
    let known = |values: &[Option<f64>]| values.iter().copied().flatten().collect::<Vec<f64>>();
    // The point of the change holds some of both.
    let (left, right) = (counter.values.get(..cut)?, counter.values.get(cut + 1..)?);
    let left = known(&left[left.len().saturating_sub(MOVED_MAX_POINTS)..]);
    let right = known(&right[..right.len().min(MOVED_MAX_POINTS)]);
    if left.len() < MOVED_MIN_POINTS || right.len() < MOVED_MIN_POINTS {
        return None;
    }
    let (before, after) = (median(&left)?, median(&right)?);
    let change = (after - before).abs();
    let in_unit =
        MOVED_MIN_CHANGE.iter().find(|(unit, _)| *unit == counter.unit).map_or(0.0, |(_, least)| *least);
    let least = in_unit.max(MOVED_MIN_SHARE * before.abs().max(after.abs()));
    if change == 0.0 || change < least {
        return None;
    }
    let wanders = wandering(&left, before)?.max(wandering(&right, after)?).max(least / 4.0);
    let score = change / wanders;
    (score >= MOVED_MIN_SCORE).then(|| CounterShift {
        name: counter.name.clone(),
        device: counter.device.clone(),
        unit: counter.unit.clone(),
        before,
        after,
        score,
    })
}

/// How far values are from their median, as a standard deviation would say it.
fn wandering(values: &[f64], middle: f64) -> Option<f64> {
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(DEVIATION_PER_MEDIAN * median(&distances)?)
}

fn median(values: &[f64]) -> Option<f64> {
    Statistic::MEDIAN.compute(&mut values.to_vec())
}
