//! What grows from iteration to iteration: lines and stacks whose memory in use rises without end.
//!
//! Memory in use between two iterations should be the same after each. A line leaks if what it holds there keeps growing
//! (`statistics/growth.rs` says when), from where it first holds something, without the first iteration after that: caches
//! fill, states are made. Where nothing repeats, only what is never freed counts, over time.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use schemars::JsonSchema;
use serde::Serialize;
use stepscope_model::{FrameId, Order, Snapshot, StackId};

use super::capacity::usable;
use super::history::{Allocation, History};
use super::iterations::{IterationMark, Iterations, iterations};
use super::places::Places;
use crate::scope::definition::{Definition, definitions};
use crate::statistics::{GrowthRule, Slope, growth};

/// A line that grows by less over all iterations compared is not worth a word.
pub const MIN_GROWTH_BYTES: u64 = 1 << 20;
/// Lines looked at in detail: those that grew most.
const MAX_GROUPS: usize = 256;

pub const DEFINITIONS: &[Definition] = definitions! {
    "growth_bytes_each", "Growth" =>
        "How much the memory in use that this line allocated rises per iteration, or per second where nothing repeats: the \
         median slope between all pairs of iterations (Theil-Sen), without the first that holds any.";
    "growth_low", "At least" => "The lower end of the slope's 95% interval (Sen).";
    "growth_high", "At most" => "The upper end of the slope's 95% interval (Sen).";
    "grown_bytes", "Grown" => "How much more this line holds at the last iteration compared than at the first.";
    "held_bytes", "Held" =>
        "What the line holds at the last iteration compared; of a refused request, when it was refused.";
    "held_count", "Pieces" => "In how many allocations it holds that.";
    "compared", "Compared" => "Iterations, or moments at equal distances, that the slope is fitted to.";
    "iterations", "Iterations" =>
        "Iterations in the history: named ranges of one name, or allocations of one size at one line that come back; none \
         where nothing repeats.";
    "iteration_ns", "Iteration" => "How long an iteration takes: the median.";
    "total_growth_bytes_each", "All growth" => "The sum of the growth of all lines listed.";
    "iterations_left", "Left" =>
        "Iterations (seconds where nothing repeats) until this much memory is reserved, if it keeps growing like this.";
    "left_ns", "Time left" => "The same as time, at the median length of an iteration.";
    "limit_bytes", "Limit" =>
        "Memory of a device: what the process is known to have of it, what was asked about, or common sizes.";
};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// By the user's line.
    Line,
    /// By the stack of Python.
    Stack,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LeakRow {
    pub device: i64,
    pub function: String,
    pub file: String,
    pub line: u32,
    /// Growth per iteration, or per second.
    pub growth_bytes_each: i64,
    pub growth_low: i64,
    pub growth_high: i64,
    /// `iteration` or `second`.
    pub per: &'static str,
    /// From the first to the last moment compared.
    pub grown_bytes: i64,
    /// At the last moment compared.
    pub held_bytes: u64,
    pub held_count: u64,
    pub compared: u64,
    /// One stack that it comes from, innermost first.
    pub stack: Vec<String>,
}

/// What grows on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaks {
    pub device: i64,
    /// What iterations are; none if there is nothing to compare.
    pub mark: Option<IterationMark>,
    /// How many moments there are to compare.
    pub iterations: usize,
    /// How many are needed, after the first.
    pub min_levels: usize,
    /// How long an iteration takes, in seconds.
    pub seconds: Option<f64>,
    pub rows: Vec<LeakRow>,
    /// Reserved at the end.
    pub reserved: u64,
    /// Memory that the process can have, if that was recorded or a refused request says.
    pub capacity: Option<u64>,
}

/// When a device is full.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FullRow {
    pub device: i64,
    pub limit_bytes: u64,
    /// Whether the device is known to have it; otherwise it is a common size.
    pub known: bool,
    /// How many more iterations, or seconds.
    pub iterations_left: u64,
    pub left_ns: Option<i64>,
    /// `iteration` or `second`.
    pub per: &'static str,
}

impl Leaks {
    /// `iteration` or `second`.
    pub fn per(&self) -> &'static str {
        if self.mark == Some(IterationMark::Time) { "second" } else { "iteration" }
    }

    /// Whether there was enough to compare.
    pub fn enough(&self) -> bool {
        self.iterations > self.min_levels
    }

    /// The growth of all rows together.
    pub fn total(&self) -> i64 {
        self.rows.iter().fold(0, |sum: i64, row| sum.saturating_add(row.growth_bytes_each))
    }

    /// When the device is full: this one if its size is known, otherwise the next two of common sizes.
    pub fn full(&self) -> Vec<FullRow> {
        const GIB: u64 = 1 << 30;
        const COMMON: [u64; 10] = [8, 16, 24, 40, 48, 80, 96, 141, 192, 288];
        let total = self.total();
        if total <= 0 {
            return Vec::new();
        }
        let sizes: Vec<u64> = match self.capacity {
            Some(capacity) => vec![capacity],
            None => COMMON.iter().map(|size| size * GIB).filter(|size| *size > self.reserved).take(2).collect(),
        };
        let each = if self.per() == "second" { Some(1.0) } else { self.seconds };
        let row = |limit_bytes: u64| {
            let left = limit_bytes.saturating_sub(self.reserved) as f64 / total as f64;
            FullRow {
                device: self.device,
                limit_bytes,
                known: self.capacity.is_some(),
                iterations_left: left as u64,
                left_ns: each.map(|each| (left * each * 1e9) as i64),
                per: self.per(),
            }
        };
        sizes.into_iter().map(row).collect()
    }
}

/// Looks for what grows by at least this many bytes over the iterations compared.
pub fn leaks(
    snapshot: &Snapshot,
    history: &History,
    places: &Places,
    by: Grouping,
    min_bytes: u64,
    rule: &GrowthRule,
) -> Leaks {
    let last = history.levels.last().copied().unwrap_or(history.at_start);
    let mut found = Leaks {
        device: history.device,
        mark: None,
        iterations: 0,
        min_levels: rule.min_levels,
        seconds: None,
        rows: Vec::new(),
        reserved: last.reserved,
        capacity: usable(snapshot, history),
    };
    let Some(iterations) = iterations(snapshot, history, places) else { return found };
    if iterations.mark == IterationMark::Time && !history.refusals.is_empty() {
        // Memory ran out in the middle of something: what it had allocated until then would look like a leak.
        return found;
    }
    found.rows = rows(history, places, &iterations, by, min_bytes, rule);
    found.iterations = iterations.moments.len();
    found.seconds = iterations.seconds;
    found.mark = Some(iterations.mark);
    found
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Group {
    Line(Option<FrameId>),
    Stack(StackId),
}

fn rows(
    history: &History,
    places: &Places,
    iterations: &Iterations,
    by: Grouping,
    min_bytes: u64,
    rule: &GrowthRule,
) -> Vec<LeakRow> {
    let group = |allocation: &Allocation| match by {
        Grouping::Line => Group::Line(places.frame(allocation.stack)),
        Grouping::Stack => Group::Stack(places.python(allocation.stack)),
    };
    // Where nothing repeats, a moment may be anywhere in an iteration: only what stays counts.
    let counts = |allocation: &Allocation| iterations.mark != IterationMark::Time || allocation.to == u32::MAX;
    let (Some(&first), Some(&last)) = (iterations.moments.first(), iterations.moments.last()) else {
        return Vec::new();
    };
    let mut grown: HashMap<Group, (i64, StackId), RandomState> = HashMap::default();
    for allocation in history.allocations.iter().filter(|allocation| counts(allocation)) {
        let held = i64::from(allocation.lives_at(last)) - i64::from(allocation.lives_at(first));
        if held != 0 {
            let sum = grown.entry(group(allocation)).or_insert((0, allocation.stack));
            sum.0 =
                sum.0.saturating_add(held.saturating_mul(i64::try_from(allocation.bytes).unwrap_or(i64::MAX)));
        }
    }
    let enough = i64::try_from(min_bytes).unwrap_or(i64::MAX).max(1);
    let mut most: Vec<(Group, i64, StackId)> = grown
        .into_iter()
        .filter(|(_, (bytes, _))| *bytes >= enough)
        .map(|(group, (bytes, stack))| (group, bytes, stack))
        .collect();
    most.order_by_key(|(_, bytes, stack)| (std::cmp::Reverse(*bytes), stack.index()));
    most.truncate(MAX_GROUPS);
    let numbers: HashMap<Group, usize, RandomState> =
        most.iter().enumerate().map(|(number, (group, ..))| (*group, number)).collect();
    let mut levels = vec![vec![0i64; iterations.moments.len() + 1]; most.len()];
    let mut pieces = vec![0u64; most.len()];
    for allocation in history.allocations.iter().filter(|allocation| counts(allocation)) {
        let Some(&number) = numbers.get(&group(allocation)) else { continue };
        let begin =
            if allocation.before { 0 } else { iterations.moments.partition_point(|m| *m < allocation.from) };
        let end = iterations.moments.partition_point(|m| *m < allocation.to);
        if begin < end {
            let bytes = i64::try_from(allocation.bytes).unwrap_or(i64::MAX);
            let level = &mut levels[number];
            level[begin] = level[begin].saturating_add(bytes);
            level[end] = level[end].saturating_sub(bytes);
            pieces[number] += u64::from(end == iterations.moments.len());
        }
    }
    let per = if iterations.mark == IterationMark::Time { "second" } else { "iteration" };
    let mut rows: Vec<LeakRow> = Vec::new();
    for ((_, _, stack), (changes, held_count)) in most.into_iter().zip(levels.into_iter().zip(pieces)) {
        let mut level = 0i64;
        let levels: Vec<i64> = changes[..iterations.moments.len()]
            .iter()
            .map(|change| {
                level = level.saturating_add(*change);
                level
            })
            .collect();
        let Some((slope, later)) = judge(&levels, &iterations.at, min_bytes, rule) else { continue };
        let line = places.line(stack);
        rows.push(LeakRow {
            device: history.device,
            function: line.function,
            file: line.file,
            line: line.line,
            growth_bytes_each: slope.slope.round() as i64,
            growth_low: slope.low.round() as i64,
            growth_high: slope.high.round() as i64,
            per,
            grown_bytes: later[later.len() - 1] - later[0],
            held_bytes: later[later.len() - 1].unsigned_abs(),
            held_count,
            compared: later.len() as u64,
            stack: places.frames(stack, 8),
        });
    }
    rows.order_by(|a, b| {
        let by_growth = b.growth_bytes_each.cmp(&a.growth_bytes_each);
        by_growth.then_with(|| (&a.file, a.line, &a.stack).cmp(&(&b.file, b.line, &b.stack)))
    });
    rows
}

/// The slope of levels that keep growing, and the levels after warm-up; none if they do not.
fn judge<'a>(levels: &'a [i64], at: &[f64], min_bytes: u64, rule: &GrowthRule) -> Option<(Slope, &'a [i64])> {
    let onset = levels.iter().position(|level| *level > 0)?;
    let (later, at) = (levels.get(onset + 1..)?, at.get(onset + 1..)?);
    let points: Vec<(f64, f64)> = at.iter().zip(later).map(|(at, level)| (*at, *level as f64)).collect();
    let found = growth(&points, min_bytes as f64, rule)?;
    found.grows.then_some((found.slope, later))
}

#[cfg(test)]
mod tests {
    use super::{GrowthRule, judge};

    fn slope(levels: &[i64]) -> Option<f64> {
        let at: Vec<f64> = (0..levels.len()).map(|at| at as f64).collect();
        judge(levels, &at, 1, &GrowthRule::COUNTED).map(|found| found.0.slope)
    }

    #[test]
    fn only_what_goes_on_is_a_leak() {
        assert_eq!(slope(&[0, 0, 7, 14, 21, 28, 35, 42]), Some(7.0));
        // A cache fills, a state is made, a queue has a bound.
        assert_eq!(slope(&[0, 9, 9, 9, 9, 9, 9, 9]), None);
        assert_eq!(slope(&[0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5]), None);
        // What comes and goes.
        assert_eq!(slope(&[3, 8, 3, 8, 3, 8, 3, 8, 3, 8]), None);
        // Too few to say.
        assert_eq!(slope(&[0, 7, 14, 21, 28]), None);
        // A leak under noise, and one in every other iteration.
        assert!(slope(&[5, 10, 22, 29, 41, 48, 62, 70, 79]).is_some());
        let every_other: Vec<i64> = (0..24).map(|at| (at + 1) / 2 * 2).collect();
        assert_eq!(slope(&every_other), Some(1.0));
    }
}
