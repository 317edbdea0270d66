//! How values are spread: a base-2 exponential histogram, as OpenTelemetry defines it.
//!
//! At scale `s` bucket `i` holds the values above 2^(i/2^s) and up to 2^((i+1)/2^s). So a quantile is off by a share that
//! depends on the scale alone (1.09% at scale 5), and two histograms merge exactly: halving the scale joins neighbors.
//! Count, sum, least and largest are exact.

mod bounds;
mod codec;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The scale that a new histogram has: a quantile is off by 1.09% at most.
pub const DEFAULT_SCALE: i8 = 5;
/// Buckets that a histogram has at most: at the default scale, from 1 µs to 71 minutes without a coarser scale.
pub const MAX_BUCKETS: usize = 1_024;
/// The coarsest scale: all that 64 bits hold is in eight buckets.
const MIN_SCALE: i8 = -3;

/// A histogram of whole numbers: nanoseconds, bytes, tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sketch {
    scale: i8,
    /// The number of the first bucket.
    offset: i32,
    counts: Vec<u64>,
    /// Values that are 0: they have no logarithm.
    zeros: u64,
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    max_buckets: usize,
}

impl Default for Sketch {
    fn default() -> Self {
        Self::new(DEFAULT_SCALE, MAX_BUCKETS)
    }
}

impl Sketch {
    /// An empty histogram that starts at this scale and has so many buckets at most.
    pub fn new(scale: i8, max_buckets: usize) -> Self {
        Self {
            scale: scale.clamp(MIN_SCALE, bounds::MAX_SCALE),
            offset: 0,
            counts: Vec::new(),
            zeros: 0,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            // Eight hold everything at the coarsest scale, and a ninth the value 1, which ends the bucket before them.
            max_buckets: max_buckets.max(9),
        }
    }

    /// Adds a value.
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if value == 0 {
            self.zeros += 1;
            return;
        }
        let finest = bounds::index(value);
        let index = finest >> (bounds::MAX_SCALE - self.scale);
        // Almost every value falls into a bucket that is there.
        let place = i64::from(index) - i64::from(self.offset);
        if let Some(count) = usize::try_from(place).ok().and_then(|at| self.counts.get_mut(at)) {
            *count += 1;
            return;
        }
        self.make_room(index, index);
        let index = finest >> (bounds::MAX_SCALE - self.scale);
        self.add(index, 1);
    }

    /// Adds all values of another histogram: the result is the one that would have got the values of both.
    pub fn merge(&mut self, other: &Sketch) {
        self.count += other.count;
        self.zeros += other.zeros;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        let used = |at: &usize| other.counts[*at] > 0;
        let (Some(first), Some(last)) =
            ((0..other.counts.len()).find(used), (0..other.counts.len()).rev().find(used))
        else {
            // Coarser all the same: merging must not depend on the order.
            self.coarsen_to(other.scale);
            return;
        };
        self.coarsen_to(other.scale);
        let down = other.scale - self.scale;
        let index = |at: usize, down: i8| (other.offset + at as i32) >> down;
        self.make_room(index(first, down), index(last, down));
        let down = other.scale - self.scale;
        for at in first..=last {
            if other.counts[at] > 0 {
                self.add(index(at, down), other.counts[at]);
            }
        }
    }

    /// The scale: 2^scale buckets per doubling.
    pub fn scale(&self) -> i8 {
        self.scale
    }

    /// The number of the first bucket, and the count of each from there on.
    pub fn buckets(&self) -> (i32, &[u64]) {
        (self.offset, &self.counts)
    }

    /// Counts by number of bucket at a scale of one's own. Where the histogram's own is coarser, a bucket's values are
    /// taken to lie in its middle.
    pub fn rescaled(&self, scale: i8) -> BTreeMap<i32, u64> {
        let down = self.scale - scale;
        let mut found = BTreeMap::new();
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let index = self.offset + at as i32;
            let index = match down >= 0 {
                true => index >> down,
                false => (index << -down) + (1 << (-down - 1)),
            };
            *found.entry(index).or_default() += count;
        }
        found
    }

    pub fn bucket_start(index: i32, scale: i8) -> f64 {
        bounds::start(index, scale)
    }

    /// Values that are 0.
    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Values in total.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The least of them.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest of them.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Their mean, rounded to a whole number.
    pub fn mean(&self) -> Option<u64> {
        let half = u128::from(self.count / 2);
        (self.count > 0).then(|| ((u128::from(self.sum) + half) / u128::from(self.count)) as u64)
    }

    /// The value that a share of all values (0 to 1) does not exceed: off by [`Sketch::error`] at most.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return Some(self.max);
        }
        if rank <= self.zeros {
            return Some(0);
        }
        let mut seen = self.zeros;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let index = self.offset + at as i32;
                let (low, high) = (bounds::start(index, self.scale), bounds::start(index + 1, self.scale));
                // Off by the same share of either end.
                let middle = 2.0 * low * high / (low + high);
                return Some((middle.round() as u64).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// How far a quantile may be off, as a share of its value.
    pub fn error(&self) -> f64 {
        let base = (-f64::from(self.scale)).exp2().exp2();
        (base - 1.0) / (base + 1.0)
    }

    fn add(&mut self, index: i32, count: u64) {
        if let Some(place) = self.counts.get_mut((index - self.offset) as usize) {
            *place += count;
        }
    }

    /// Makes buckets for these at the present scale, or a coarser scale where that would be too many.
    fn make_room(&mut self, mut first: i32, mut last: i32) {
        if self.counts.is_empty() {
            self.offset = first;
        } else {
            first = first.min(self.offset);
            last = last.max(self.offset + self.counts.len() as i32 - 1);
        }
        // Empty buckets at the ends need no room.
        let mut down = 0;
        while ((last >> down) - (first >> down)) as usize >= self.max_buckets {
            down += 1;
        }
        self.coarsen_to(self.scale - down);
        let (first, last) = (first >> down, last >> down);
        if self.counts.is_empty() {
            self.offset = first;
        }
        let before = (self.offset - first) as usize;
        if before > 0 {
            self.counts.splice(0..0, std::iter::repeat_n(0, before));
            self.offset = first;
        }
        let length = (last - self.offset) as usize + 1;
        if length > self.counts.len() {
            // One allocation for what usually follows.
            if self.counts.is_empty() {
                self.counts.reserve(length.max(32));
            }
            self.counts.resize(length, 0);
        }
    }

    fn coarsen_to(&mut self, scale: i8) {
        let down = self.scale - scale;
        if down <= 0 {
            return;
        }
        self.scale = scale;
        if self.counts.is_empty() {
            self.offset >>= down;
            return;
        }
        let offset = self.offset >> down;
        let last = (self.offset + self.counts.len() as i32 - 1) >> down;
        let mut counts = vec![0; (last - offset) as usize + 1];
        for (at, count) in self.counts.iter().enumerate() {
            counts[(((self.offset + at as i32) >> down) - offset) as usize] += count;
        }
        (self.offset, self.counts) = (offset, counts);
    }
}

#[cfg(test)]
mod tests;
