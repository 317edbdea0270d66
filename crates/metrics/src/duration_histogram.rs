//! How durations are spread, in seconds: a base-2 exponential histogram whose buckets never move.
//!
//! Monitors count nanoseconds, everyone else wants seconds, and 10^9 is not a power of the buckets' base: at scale 5 the two
//! grids are 956.715 buckets apart. Shifting by 957 would put every latency 0.62% too low. So each bucket of nanoseconds
//! goes, as a whole, into the one bucket of scale 8 (0.27% wide) that holds its middle. A duration is then in a bucket whose
//! bounds are off by 1.36% at most: 1.09% is the monitor's own error, 0.27% is the width of the new bucket.
//!
//! The scale is always 8. A monitor's histogram gets coarser when its range gets too wide; if that changed the buckets here,
//! counters that were exported would fall, and readers would take that for a restart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_service::Sketch;

/// 256 buckets per doubling, the finest that Prometheus has.
pub const SCALE: i8 = 8;

const PER_DOUBLING: f64 = 256.0;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DurationHistogram {
    pub count: u64,
    /// Their sum. 64 bits of nanoseconds are 584 years, which a thousand requests at once wait in seven months.
    pub sum_ns: u128,
    /// Those that took no time at all.
    pub zeros: u64,
    pub min_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// Bucket `i` holds durations above 2^(i/256) s and up to 2^((i+1)/256) s.
    pub buckets: BTreeMap<i32, u64>,
}

/// The logarithm of a number of nanoseconds, taken as seconds.
fn log2_seconds(log2_ns: f64) -> f64 {
    log2_ns - 1e9_f64.log2()
}

impl DurationHistogram {
    /// What a monitor has counted.
    pub fn from_sketch(sketch: &Sketch) -> Self {
        let mut spread = Self {
            count: sketch.count(),
            sum_ns: u128::from(sketch.sum()),
            zeros: sketch.zeros(),
            min_ns: sketch.min(),
            max_ns: sketch.max(),
            buckets: BTreeMap::new(),
        };
        let width = (-f64::from(sketch.scale())).exp2();
        let ratio = width.exp2();
        // Off by the same share of either end of the bucket.
        let middle = (2.0 * ratio / (1.0 + ratio)).log2();
        let (offset, counts) = sketch.buckets();
        for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let index = f64::from(offset) + at as f64;
            let log2 = log2_seconds(index * width + middle);
            let bucket = (log2 * PER_DOUBLING).ceil() as i32 - 1;
            *spread.buckets.entry(bucket).or_default() += count;
        }
        spread
    }

    /// Adds all of another one.
    pub fn add(&mut self, other: &DurationHistogram) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.zeros = self.zeros.saturating_add(other.zeros);
        self.min_ns = [self.min_ns, other.min_ns].into_iter().flatten().min();
        self.max_ns = self.max_ns.max(other.max_ns);
        for (bucket, count) in &other.buckets {
            let known = self.buckets.entry(*bucket).or_default();
            *known = known.saturating_add(*count);
        }
    }

    /// How many took this long at most. A duration within 1.23% of the bound may count on its other side.
    pub fn at_most(&self, bound_ns: u64) -> u64 {
        let log2 = log2_seconds((bound_ns.max(1) as f64).log2());
        let last = (log2 * PER_DOUBLING - 0.5).floor() as i32;
        let inside = self.buckets.range(..=last).map(|(_, count)| *count);
        inside.fold(self.zeros, u64::saturating_add)
    }

    /// Their sum in seconds.
    pub fn sum_seconds(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Its buckets at the finest scale at which they span no more than so many; joining neighbors is exact.
    pub fn narrowed(&self, most: usize) -> (i8, BTreeMap<i32, u64>) {
        let mut scale = SCALE;
        let mut buckets = self.buckets.clone();
        let span = |buckets: &BTreeMap<i32, u64>| match (buckets.first_key_value(), buckets.last_key_value()) {
            (Some((first, _)), Some((last, _))) => i64::from(*last) - i64::from(*first) + 1,
            _ => 0,
        };
        while span(&buckets) > most.max(2) as i64 {
            let mut joined = BTreeMap::new();
            for (bucket, count) in buckets {
                *joined.entry(bucket >> 1).or_insert(0) += count;
            }
            buckets = joined;
            scale -= 1;
        }
        (scale, buckets)
    }

    /// Whether its parts fit together: for what comes from a file.
    pub fn is_sane(&self) -> bool {
        let counted = self.buckets.values().try_fold(self.zeros, |sum, count| sum.checked_add(*count));
        counted == Some(self.count) && self.buckets.len() <= 64 * PER_DOUBLING as usize
    }
}

#[cfg(test)]
mod tests;
