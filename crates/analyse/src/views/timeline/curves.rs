//! Values over time: what they are, and how many of them are kept when they are drawn.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// From 0 to 1.
    Share,
    Bytes,
    Count,
    /// The file does not say.
    Other,
}

/// A counter over the whole trace.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) unit: Unit,
    pub(super) suffix: &'static str,
    pub(super) device: Option<i64>,
    pub(super) definition: &'static str,
    pub(super) levels: Levels,
}

/// Values that hold from one moment to the next.
#[derive(Debug, Default)]
pub(super) struct Levels {
    at: Vec<i64>,
    value: Vec<f64>,
    /// The area under the values before each moment, for means; made when first asked for.
    area: OnceLock<Vec<f64>>,
}

/// Some of the values: from each moment until the next they lie between two.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DrawnCurve {
    pub(super) at: Vec<i64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl DrawnCurve {
    fn push(&mut self, at: i64, low: f64, high: f64) {
        // One that only goes on adds nothing.
        let goes_on = low == high && self.low.last() == Some(&low) && self.high.last() == Some(&high);
        if !goes_on {
            self.at.push(at);
            self.low.push(low);
            self.high.push(high);
        }
    }
}

/// A stretch of time in equal parts.
#[derive(Copy, Clone, Debug)]
pub(super) struct Buckets {
    from: i64,
    to: i64,
    count: usize,
}

/// A screen has fewer columns; the limit keeps a wild number from asking for all memory.
const MAX_BUCKETS: usize = 1 << 14;

impl Buckets {
    /// At most one a nanosecond.
    pub(super) fn new(from: i64, to: i64, count: usize) -> Buckets {
        let to = to.max(from);
        let most = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).min(MAX_BUCKETS);
        Buckets { from, to, count: count.clamp(1, most.max(1)) }
    }

    fn edge(&self, at: usize) -> i64 {
        let length = i128::from(self.to) - i128::from(self.from);
        (i128::from(self.from) + length * at as i128 / self.count as i128) as i64
    }

    fn all(&self) -> impl Iterator<Item = (i64, i64)> {
        (0..self.count).map(|at| (self.edge(at), self.edge(at + 1)))
    }
}

impl Levels {
    /// Values by moment, which never falls.
    pub(super) fn new(values: impl IntoIterator<Item = (i64, f64)>) -> Levels {
        let (at, value) = values.into_iter().unzip();
        Levels { at, value, area: OnceLock::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub(super) fn max(&self) -> f64 {
        self.value.iter().copied().fold(0.0, f64::max)
    }

    /// The lowest and the highest value of each part, so that no peak is lost.
    pub(super) fn extremes(&self, buckets: Buckets) -> DrawnCurve {
        let mut drawn = DrawnCurve::default();
        let mut next = self.at.partition_point(|&at| at < buckets.from);
        for (number, (from, to)) in buckets.all().enumerate() {
            let last = number + 1 == buckets.count;
            let begin = next;
            while next < self.at.len() && (self.at[next] < to || (last && self.at[next] <= to)) {
                next += 1;
            }
            // What was there before counts unless something takes its place at once.
            let replaced = self.at.get(begin).is_some_and(|&at| begin < next && at == from);
            let entry = begin.checked_sub(1).filter(|_| !replaced);
            let inside = self.value[begin..next].iter().copied().chain(entry.map(|at| self.value[at]));
            let (low, high) = inside.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            if low <= high {
                let starts = if entry.is_none() { self.at[begin] } else { from };
                drawn.push(starts, low, high);
            }
        }
        drawn
    }

    /// The mean of each part; nothing before the first value counts as zero.
    pub(super) fn means(&self, buckets: Buckets) -> DrawnCurve {
        let mut drawn = DrawnCurve::default();
        for (from, to) in buckets.all() {
            let mean = (self.area_until(to) - self.area_until(from)) / (to - from).max(1) as f64;
            let mean = mean.clamp(0.0, 1.0);
            drawn.push(from, mean, mean);
        }
        drawn
    }

    fn area_until(&self, time: i64) -> f64 {
        let area = self.area.get_or_init(|| {
            let lengths = self.at.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
            let areas = self.value.iter().zip(lengths).map(|(value, length)| value * length);
            let sums = areas.scan(0.0, |sum, area| {
                *sum += area;
                Some(*sum)
            });
            [0.0].into_iter().chain(sums).take(self.at.len()).collect()
        });
        match self.at.partition_point(|&at| at < time).checked_sub(1) {
            None => 0.0,
            Some(last) => area[last] + self.value[last] * (time - self.at[last]) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Levels {
        Levels::new([(10, 1.0), (20, 9.0), (20, 2.0), (90, 0.0), (100, 5.0)])
    }

    #[test]
    fn no_peak_is_lost() {
        let drawn = levels().extremes(Buckets::new(0, 100, 4));
        assert_eq!(drawn.at, [10, 25, 75]);
        assert_eq!(drawn.low, [1.0, 2.0, 0.0]);
        assert_eq!(drawn.high, [9.0, 2.0, 5.0]);
        let inside = levels().extremes(Buckets::new(20, 30, 2));
        assert_eq!((inside.at, inside.low, inside.high), (vec![20, 25], vec![2.0, 2.0], vec![9.0, 2.0]));
    }

    #[test]
    fn means_are_exact() {
        let busy = Levels::new([(10, 1.0), (30, 0.0), (40, 1.0), (60, 0.0)]);
        let drawn = busy.means(Buckets::new(0, 80, 4));
        assert_eq!((drawn.at, drawn.low), (vec![0, 40, 60], vec![0.5, 1.0, 0.0]));
        assert_eq!(busy.means(Buckets::new(15, 15, 3)).low, [0.0]);
    }

    #[test]
    fn wild_questions_have_an_answer() {
        assert_eq!(
            Levels::default().extremes(Buckets::new(i64::MIN, i64::MAX, usize::MAX)),
            DrawnCurve::default()
        );
        assert_eq!(levels().extremes(Buckets::new(50, 0, 0)).high, [2.0]);
        assert_eq!(levels().extremes(Buckets::new(0, i64::MAX, 1)).high, [9.0]);
    }
}
