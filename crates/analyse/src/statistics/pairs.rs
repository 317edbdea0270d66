//! Comparing values in pairs that were measured next to each other: what slows both down cancels.
//!
//! The interval is Wilcoxon's signed-rank test turned around. If nothing changed, either of a pair may as well have been
//! the slower one, whatever the noise looks like and however it drifts from pair to pair: all that the test needs.

use super::ranks::{normal_above, normal_quantile_above};

/// Up to so many pairs, signs are counted exactly; above, the normal approximation is closer than any noise.
const MAX_EXACT: usize = 60;

/// The two-sided p-value of the signed-rank test. Pairs without a difference are left out. Exact for up to 60 pairs, ties
/// included.
pub fn signed_rank(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    if sorted.is_empty() {
        return Some(1.0);
    }
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Ranks times two, so that the mean rank of ties is a whole number.
    let mut ranks = vec![0usize; sorted.len()];
    let mut start = 0;
    while start < sorted.len() {
        let end = start + sorted[start..].iter().take_while(|d| d.abs() == sorted[start].abs()).count();
        ranks[start..end].fill(start + 1 + end);
        start = end;
    }
    let risen: usize = sorted.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    if sorted.len() <= MAX_EXACT {
        let ways = ways_to_sum(&ranks);
        let total: f64 = ways.iter().sum();
        let (low, high): (f64, f64) = (ways[..=risen].iter().sum(), ways[risen..].iter().sum());
        return Some((2.0 * low.min(high) / total).min(1.0));
    }
    let middle = ranks.iter().sum::<usize>() as f64 / 2.0;
    let spread = ranks.iter().map(|&rank| (rank * rank) as f64).sum::<f64>().sqrt() / 2.0;
    Some((2.0 * normal_above((risen as f64 - middle).abs() / spread)).min(1.0))
}

/// How much the second of a pair lies above the first: the median of all means of two differences, and the interval that
/// covers the true shift with this confidence. The interval is `None` where no pairs could be that sure: 95% needs six.
pub fn paired_shift(differences: &[f64], confidence: f64) -> Option<(f64, Option<(f64, f64)>)> {
    if differences.is_empty() {
        return None;
    }
    let mut means: Vec<f64> = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (at, a) in differences.iter().enumerate() {
        means.extend(differences[at..].iter().map(|b| (a + b) / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let count = means.len();
    let middle = (means[(count - 1) / 2] + means[count / 2]) / 2.0;
    let interval = outer_means(differences.len(), (1.0 - confidence) / 2.0)
        .map(|skip| (means[skip], means[count - 1 - skip]));
    Some((middle, interval))
}

/// The largest sum of signed ranks that is at most so likely to be that small; `None` if even 0 is likelier.
fn outer_means(pairs: usize, tail: f64) -> Option<usize> {
    if pairs > MAX_EXACT {
        let n = pairs as f64;
        let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let sum = (n * (n + 1.0) / 4.0 - normal_quantile_above(tail) * spread - 0.5).floor();
        return (sum >= 0.0).then_some(sum as usize);
    }
    let ways = ways_to_sum(&(1..=pairs).collect::<Vec<_>>());
    let allowed = tail * ways.iter().sum::<f64>();
    let mut below = 0.0;
    let fits = ways.iter().take_while(|count| {
        below += **count;
        below <= allowed
    });
    fits.count().checked_sub(1)
}

/// How many sets of these ranks have each sum. The counts of 60 ranks fit a float's range with room to spare.
fn ways_to_sum(ranks: &[usize]) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![0.0f64; most + 1];
    ways[0] = 1.0;
    for &rank in ranks {
        for sum in (rank..=most).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Darwin's plants: how much taller the cross-fertilized one of a pair was, in eighths of an inch.
    const DARWIN: [f64; 15] = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];

    #[test]
    fn p_values_are_as_scipy_says() {
        // scipy.stats.wilcoxon(DARWIN, method="exact"), SciPy 1.17.1.
        assert!((signed_rank(&DARWIN).unwrap() - 0.041_259_765_625).abs() < 1e-12);
        // With ties and a zero: scipy.stats.permutation_test of the same statistic over all signs.
        let tied = signed_rank(&[1.0, 2.0, -2.0, 3.0, 0.0, 3.0, 4.0]).unwrap();
        assert!((tied - 0.125).abs() < 1e-12, "{tied}");
        // Many: method="asymptotic".
        let many: Vec<f64> = (0..70).map(|i| f64::from(i * 37 % 101) / 10.0 - 3.7).collect();
        assert!((signed_rank(&many).unwrap() - 0.001_205_154_768_240_766_3).abs() < 1e-6);
        assert_eq!((signed_rank(&[0.0; 5]), signed_rank(&[])), (Some(1.0), None));
    }

    #[test]
    fn intervals_leave_out_what_the_test_allows() {
        // The largest sum with P(W <= sum) <= 0.025, from the tables of Wilcoxon's test (critical values at 5%, two-sided).
        for (pairs, sum) in [(6, 0), (7, 2), (8, 3), (10, 8), (15, 25), (20, 52)] {
            assert_eq!(outer_means(pairs, 0.025), Some(sum), "{pairs}");
        }
        assert_eq!(outer_means(5, 0.025), None);
        let (exact, near) = (outer_means(60, 0.025).unwrap(), outer_means(61, 0.025).unwrap());
        assert!(near > exact && near - exact < 40, "{exact} {near}");
    }

    #[test]
    fn the_interval_excludes_zero_when_the_test_rejects() {
        for shift in [0.0, 5.0, 20.0, 21.0, 22.0, 23.0, 30.0, 45.0] {
            let moved: Vec<f64> = DARWIN.iter().map(|d| d - shift - 0.25).collect();
            let (_, interval) = paired_shift(&moved, 0.95).unwrap();
            let (low, high) = interval.unwrap();
            assert_eq!(low > 0.0 || high < 0.0, signed_rank(&moved).unwrap() <= 0.05, "{shift}");
        }
        assert_eq!(paired_shift(&[1.0, 3.0], 0.95), Some((2.0, None)));
        assert_eq!(paired_shift(&[], 0.95), None);
    }
}
