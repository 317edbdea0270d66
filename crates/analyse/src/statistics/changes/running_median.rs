//! The sum of distances to the median of values that come one by one.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A number with a total order.
#[derive(Copy, Clone, Debug, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Values below and above their median.
#[derive(Default)]
pub(super) struct RunningMedian {
    low: BinaryHeap<Ordered>,
    high: BinaryHeap<Reverse<Ordered>>,
    low_sum: f64,
    high_sum: f64,
}

impl RunningMedian {
    /// Takes in one value.
    pub(super) fn add(&mut self, value: f64) {
        let to_low = self.low.peek().is_none_or(|top| value <= top.0);
        if to_low {
            self.low.push(Ordered(value));
            self.low_sum += value;
        } else {
            self.high.push(Reverse(Ordered(value)));
            self.high_sum += value;
        }
        // The lower half has as many values as the upper, or one more.
        if self.low.len() > self.high.len() + 1 {
            if let Some(top) = self.low.pop() {
                self.low_sum -= top.0;
                self.high_sum += top.0;
                self.high.push(Reverse(top));
            }
        } else if self.high.len() > self.low.len()
            && let Some(Reverse(top)) = self.high.pop()
        {
            self.high_sum -= top.0;
            self.low_sum += top.0;
            self.low.push(top);
        }
    }

    /// The sum of distances to the median.
    pub(super) fn distance(&self) -> f64 {
        let median = self.low.peek().map_or(0.0, |top| top.0);
        let below = median * self.low.len() as f64 - self.low_sum;
        let above = self.high_sum - median * self.high.len() as f64;
        (below + above).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_worked_out_by_hand() {
        let mut spread = RunningMedian::default();
        // Of {5}: 0. {1, 5}: 4. {1, 4, 5}: 3 + 1. {1, 2, 4, 5}: 1 + 2 + 3 from 2. {1, 2, 4, 5, 25}: 3 + 2 + 1 + 21.
        for (value, distance) in [(5.0, 0.0), (1.0, 4.0), (4.0, 4.0), (2.0, 6.0), (25.0, 27.0)] {
            spread.add(value);
            assert!((spread.distance() - distance).abs() < 1e-12, "{value}: {}", spread.distance());
        }
    }
}
