//! The slope of a noisy series: the median of the slopes between all pairs of points (Theil and Sen).
//!
//! A single outlier, or a quarter of them, does not move it. Its interval is Sen's (1968): the pair slopes at ranks that
//! follow from the variance of Kendall's S, with the correction for ties.

use super::ranks::normal_quantile_above;

/// More points are thinned evenly: the number of pairs grows with the square.
const MAX_POINTS: usize = 300;

/// A slope and the interval that holds the true one with the confidence that was asked for.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Slope {
    /// The median of all slopes between two points.
    pub slope: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The slope of points with rising `x`; none for fewer than three of them.
pub fn theil_sen(points: &[(f64, f64)], confidence: f64) -> Option<Slope> {
    let kept = points.len().min(MAX_POINTS);
    if kept < 3 {
        return None;
    }
    let thinned: Vec<(f64, f64)> = (0..kept).map(|at| points[(at * (points.len() - 1)) / (kept - 1)]).collect();
    let mut slopes = Vec::with_capacity(kept * (kept - 1) / 2);
    for (at, earlier) in thinned.iter().enumerate() {
        let later = thinned[at + 1..].iter().filter(|later| later.0 > earlier.0);
        slopes.extend(later.map(|later| (later.1 - earlier.1) / (later.0 - earlier.0)));
    }
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let mut values: Vec<f64> = thinned.iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let weight = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let ties: f64 = values.chunk_by(|a, b| a == b).map(|tied| weight(tied.len() as f64)).sum();
    let spread =
        normal_quantile_above((1.0 - confidence) / 2.0) * ((weight(kept as f64) - ties) / 18.0).max(0.0).sqrt();
    let pairs = slopes.len() as f64;
    let last = slopes.len() - 1;
    let at = |rank: f64| slopes[(rank.max(0.0) as usize).min(last)];
    let middle = slopes.len() / 2;
    let slope =
        if slopes.len() % 2 == 1 { slopes[middle] } else { (slopes[middle - 1] + slopes[middle]) / 2.0 };
    let low = at(((pairs - spread) / 2.0).round_ties_even() - 1.0);
    Some(Slope { slope, low, high: at(((pairs + spread) / 2.0).round_ties_even()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    fn over_positions(values: &[f64]) -> Slope {
        let points: Vec<(f64, f64)> =
            values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
        theil_sen(&points, 0.95).unwrap()
    }

    #[test]
    fn an_outlier_does_not_move_the_slope() {
        assert_eq!(over_positions(&[10.0, 12.0, 14.0, 16.0, 18.0, 20.0]).slope, 2.0);
        assert_eq!(over_positions(&[10.0, 12.0, 14.0, 1000.0, 18.0, 20.0]).slope, 2.0);
    }

    #[test]
    fn slopes_and_intervals_are_scipys() {
        // scipy.stats.theilslopes of the same values.
        let close = |found: Slope, slope: f64, low: f64, high: f64| {
            let off = [found.slope - slope, found.low - low, found.high - high];
            assert!(off.iter().all(|off| off.abs() < 1e-9), "{found:?}");
        };
        close(over_positions(&[1.0, 2.0, 2.0, 4.0, 4.0, 7.0, 6.0, 9.0, 9.0, 11.0]), 1.0, 1.0, 9.0 / 7.0);
        let values = [3.1, 2.9, 4.2, 5.8, 5.1, 7.7, 8.0, 8.2, 9.9, 10.1, 13.0, 12.2];
        close(over_positions(&values), 0.91, 0.75, 31.0 / 30.0);
    }

    #[test]
    fn what_is_level_has_no_slope_above_zero() {
        assert_eq!(over_positions(&[5.0; 9]), Slope { slope: 0.0, low: 0.0, high: 0.0 });
        let stopped = over_positions(&[1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(stopped.low, 0.0);
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, 2.0)], 0.95), None);
        assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], 0.95), None);
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut random = Random::new(11);
        let mut holds = || {
            let values: Vec<f64> = (0..30).map(|at| 0.5 * f64::from(at) + 5.0 * random.normal()).collect();
            let found = over_positions(&values);
            found.low <= 0.5 && 0.5 <= found.high
        };
        let held = (0..300).filter(|_| holds()).count();
        assert!((273..=297).contains(&held), "{held}");
    }

    #[test]
    fn many_points_are_thinned() {
        let points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 3.0 * f64::from(at))).collect();
        assert_eq!(theil_sen(&points, 0.95).map(|slope| slope.slope), Some(3.0));
    }
}
