//! What was sampled: one series per counter, bounded.

use serde::Serialize;

/// Values kept of each counter. When there are more, every second one of the older half goes.
const MAX_VALUES: usize = 400_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterInfo {
    /// Its name: `gpu.0.power_w`.
    pub name: String,
    /// What a person would call it: `GPU 0 power`.
    pub label: String,
    pub unit: &'static str,
    /// Where its values come from.
    pub source: &'static str,
}

/// A counter in a stretch of time.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The mean over time: each value holds until the next.
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// The value that held at the start.
    pub first: f64,
    pub last: f64,
    /// How many values were taken in the stretch.
    pub samples: usize,
}

/// Values of one counter, in the order they were taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) at_ns: Vec<i64>,
    pub(crate) values: Vec<f64>,
}

impl Series {
    pub(crate) fn push(&mut self, at_ns: i64, value: f64) {
        if self.values.len() >= MAX_VALUES {
            self.thin();
        }
        self.at_ns.push(at_ns);
        self.values.push(value);
    }

    fn thin(&mut self) {
        let half = self.values.len() / 2;
        let kept: Vec<usize> = (0..self.values.len()).filter(|&i| i >= half || i % 2 == 0).collect();
        self.at_ns = kept.iter().map(|&i| self.at_ns[i]).collect();
        self.values = kept.iter().map(|&i| self.values[i]).collect();
    }

    /// Positions of the values taken in a stretch, both ends included.
    pub(crate) fn within(&self, from_ns: i64, to_ns: i64) -> std::ops::Range<usize> {
        // Mostly it is asked about the time since the newest value.
        if self.at_ns.last().is_none_or(|&newest| newest < from_ns) {
            return self.at_ns.len()..self.at_ns.len();
        }
        let first = self.at_ns.partition_point(|&at| at < from_ns);
        first..self.at_ns.partition_point(|&at| at <= to_ns).max(first)
    }

    /// The counter in a stretch. What was read before it holds until the next value; nothing if there is neither.
    pub(crate) fn summary(&self, from_ns: i64, to_ns: i64) -> Option<Summary> {
        let inside = self.within(from_ns, to_ns);
        let before = inside.start.checked_sub(1).map(|at| self.values[at]);
        let first = before.or_else(|| self.values.get(inside.start).copied().filter(|_| !inside.is_empty()))?;
        let last = if inside.is_empty() { first } else { self.values[inside.end - 1] };
        let (mut sum, mut low, mut high) = (0.0, first, first);
        let (mut since, mut held) = (from_ns, first);
        for at in inside.clone() {
            sum += held * (self.at_ns[at] - since) as f64;
            (since, held) = (self.at_ns[at], self.values[at]);
            low = low.min(held);
            high = high.max(held);
        }
        sum += held * (to_ns - since).max(0) as f64;
        let length = (to_ns - from_ns) as f64;
        // The sum is rounded: of equal values the mean would be off by the last digit.
        let mean = if length > 0.0 { (sum / length).clamp(low, high) } else { last };
        Some(Summary { mean, min: low, max: high, first, last, samples: inside.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_holds_until_the_next() {
        let mut series = Series::default();
        for (at, value) in [(0, 10.0), (100, 20.0), (200, 0.0)] {
            series.push(at, value);
        }
        let found = series.summary(50, 250).unwrap();
        // 10 for 50, 20 for 100, 0 for 50.
        assert_eq!(found, Summary { mean: 12.5, min: 0.0, max: 20.0, first: 10.0, last: 0.0, samples: 2 });
        // Between two samples the one before holds.
        assert_eq!(series.summary(110, 120).map(|s| (s.mean, s.samples)), Some((20.0, 0)));
        // Before the first one nothing is known.
        assert_eq!(series.summary(-50, -10), None);
        assert_eq!(series.summary(-50, 50).map(|s| s.first), Some(10.0));
        assert_eq!(Series::default().summary(0, 1), None);
    }

    #[test]
    fn a_long_series_is_thinned_at_its_old_end() {
        let mut series = Series::default();
        for at in 0..=MAX_VALUES as i64 {
            series.push(at, at as f64);
        }
        assert!(series.values.len() < MAX_VALUES);
        assert_eq!(series.values.last(), Some(&(MAX_VALUES as f64)));
        assert!(series.at_ns.is_sorted());
    }
}
