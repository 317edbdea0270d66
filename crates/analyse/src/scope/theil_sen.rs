//! The slope of a noisy series: the median of the slopes between all pairs of points (Theil and Sen).
//!
//! A single outlier, or a quarter of them, does not move it. Its interval is Sen's (1968): the pair slopes at ranks that
//! follow from the variance of Kendall's S, with the correction for ties.

/// More points are thinned evenly: the number of pairs grows with the square.
const MAX_POINTS: usize = 300;
/// Of the normal distribution, for 95%.
const Z: f64 = 1.959_963_984_540_054;

/// A slope and its 95% interval.
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
pub fn theil_sen(points: &[(f64, f64)]) -> Option<Slope> {
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
    let spread = Z * ((weight(kept as f64) - ties) / 18.0).max(0.0).sqrt();
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

    fn over_positions(values: &[f64]) -> Slope {
        let points: Vec<(f64, f64)> =
            values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
        theil_sen(&points).unwrap()
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
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn many_points_are_thinned() {
        let points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 3.0 * f64::from(at))).collect();
        assert_eq!(theil_sen(&points).map(|slope| slope.slope), Some(3.0));
    }
}
