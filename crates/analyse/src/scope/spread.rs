//! How much durations vary: exact quantiles of many rows at once.

use schemars::JsonSchema;
use serde::Serialize;

/// How the durations of a row are spread.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Half of them take no longer.
    pub p50_ns: i64,
    /// 95% of them take no longer.
    pub p95_ns: i64,
    /// 99% of them take no longer.
    pub p99_ns: i64,
    pub max_ns: i64,
    /// Standard deviation / mean; none if the mean is zero.
    pub cv: Option<f64>,
}

impl Spread {
    /// Of some durations, in any order; none without any. Orders them in part.
    pub fn from_durations(durations: &mut [i64]) -> Option<Spread> {
        let count = durations.len();
        let max_ns = *durations.iter().max()?;
        let mean = durations.iter().map(|&ns| ns as f64).sum::<f64>() / count as f64;
        let square = durations.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum::<f64>() / count as f64;
        let mut rank = |percent: usize| {
            // The nearest rank: the shortest that so many are no longer than.
            let at = (count * percent).div_ceil(100).saturating_sub(1);
            *durations.select_nth_unstable(at).1
        };
        let (p50_ns, p95_ns, p99_ns) = (rank(50), rank(95), rank(99));
        let cv = (mean > 0.0).then(|| square.sqrt() / mean);
        Some(Spread { p50_ns, p95_ns, p99_ns, max_ns, cv })
    }
}

/// The durations of many rows, gathered in one pass in the order in which they come.
#[derive(Default)]
pub(crate) struct Durations {
    of: Vec<(u32, i64)>,
}

impl Durations {
    /// One more of a row.
    pub(crate) fn add(&mut self, row: u32, ns: i64) {
        self.of.push((row, ns));
    }

    pub(crate) fn spreads(self, rows: usize) -> Vec<Option<Spread>> {
        // Two passes instead of a sort: the durations of a row end up side by side.
        let mut end = vec![0usize; rows + 1];
        for &(row, _) in &self.of {
            end[row as usize + 1] += 1;
        }
        for row in 0..rows {
            end[row + 1] += end[row];
        }
        let mut next = end.clone();
        let mut sorted = vec![0i64; self.of.len()];
        for (row, ns) in self.of {
            let place = &mut next[row as usize];
            sorted[*place] = ns;
            *place += 1;
        }
        (0..rows).map(|row| Spread::from_durations(&mut sorted[end[row]..end[row + 1]])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut hundred: Vec<i64> = (1..=100).rev().collect();
        let spread = Spread::from_durations(&mut hundred).unwrap();
        assert_eq!((spread.p50_ns, spread.p95_ns, spread.p99_ns, spread.max_ns), (50, 95, 99, 100));
        let two = Spread::from_durations(&mut [30, 10]).unwrap();
        assert_eq!((two.p50_ns, two.p95_ns, two.p99_ns, two.max_ns), (10, 30, 30, 30));
        // Mean 20, both 10 away.
        assert_eq!(two.cv, Some(0.5));
        assert_eq!(Spread::from_durations(&mut [7]).unwrap().cv, Some(0.0));
        assert_eq!(Spread::from_durations(&mut [0, 0]).unwrap().cv, None);
        assert_eq!(Spread::from_durations(&mut []), None);
    }

    #[test]
    fn rows_are_kept_apart() {
        let mut durations = Durations::default();
        for (row, ns) in [(2, 5), (0, 9), (2, 1), (0, 3), (2, 3)] {
            durations.add(row, ns);
        }
        let spreads = durations.spreads(4);
        let p50: Vec<_> = spreads.iter().map(|s| s.map(|s| s.p50_ns)).collect();
        assert_eq!(p50, [Some(3), None, Some(3), None]);
    }
}
