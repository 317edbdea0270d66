//! Student's t distribution, for too few repeats to count ranks.

/// How likely a t value is to lie at least this far from 0, on either side.
pub(super) fn outside(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() || freedom <= 0.0 {
        return if t.is_infinite() { 0.0 } else { 1.0 };
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The t value outside of which, on both sides together, this share lies.
pub(crate) fn quantile(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while outside(high, freedom) > share && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if outside(middle, freedom) > share { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// A mean, and where the true one lies.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The mean of two values or more with its interval, which takes their noise to be normal; none for fewer.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let half = quantile(1.0 - confidence, n - 1.0) * (variance(values) / n).sqrt();
    Some(Interval { mean, low: mean - half, high: mean + half })
}

/// The variance of the values that these are a sample of; 0 for a single one.
pub(super) fn variance(values: &[f64]) -> f64 {
    squares(values) / values.len().saturating_sub(1).max(1) as f64
}

/// The sum of the squared distances from the mean.
pub(super) fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// Half of Welch's interval of the difference of two means, each given by its variance and its degrees of freedom.
pub(crate) fn welch(a: (f64, f64), b: (f64, f64), confidence: f64) -> f64 {
    let sum = a.0 + b.0;
    if sum == 0.0 {
        return 0.0;
    }
    let freedom = sum * sum / (a.0 * a.0 / a.1 + b.0 * b.0 / b.1);
    quantile(1.0 - confidence, freedom) * sum.sqrt()
}

/// The regularized incomplete beta function, by its continued fraction (Lentz's way to evaluate one).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only on this side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let tiny = 1e-300;
    let nonzero = |v: f64| if v.abs() < tiny { tiny } else { v };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        for term in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function: Stirling's series, after moving the argument up to where it is exact enough.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 12.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_is_as_scipy_says() {
        // scipy.stats.t.ppf(0.975, df) and 2 * scipy.stats.t.sf(t, df), SciPy 1.17.1.
        for (freedom, t) in [(1.0, SCIPY[0]), (2.0, SCIPY[1]), (4.0, SCIPY[2]), (30.0, SCIPY[3])] {
            assert!((quantile(0.05, freedom) - t).abs() < 1e-8, "{freedom}: {}", quantile(0.05, freedom));
        }
        assert!((outside(2.0, 5.0) - SCIPY[4]).abs() < 1e-10);
        assert!((outside(-0.3, 7.0) - SCIPY[5]).abs() < 1e-10);
        assert_eq!((outside(f64::INFINITY, 3.0), outside(0.0, 3.0)), (0.0, 1.0));
    }

    #[test]
    fn a_mean_has_its_interval() {
        // Mean 2, standard deviation 1, t(2 degrees, 95%) = 4.302653: 2 ± 4.302653 / sqrt(3) = 2 ± 2.484138.
        let found = mean_interval(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert!((found.low + 0.484_138).abs() < 1e-5 && (found.high - 4.484_138).abs() < 1e-5, "{found:?}");
        assert_eq!(mean_interval(&[2.0; 4], 0.95), Some(Interval { mean: 2.0, low: 2.0, high: 2.0 }));
        assert_eq!(mean_interval(&[2.0], 0.95), None);
        // One that is far from the rest widens the interval more than it moves the mean.
        let one_off = mean_interval(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 50.0], 0.95).unwrap();
        assert!(one_off.mean == 5.0 && one_off.low < 0.0);
    }

    #[test]
    fn two_equal_means_are_compared_by_welch() {
        // Equal variances and ten values each: Student's t with 18 degrees of freedom, 2.100922.
        assert!((welch((0.5, 9.0), (0.5, 9.0), 0.95) - 2.100_922).abs() < 1e-6);
        assert_eq!(welch((0.0, 9.0), (0.0, 9.0), 0.95), 0.0);
    }

    const SCIPY: [f64; 6] = [
        12.706204736174694,
        4.302652729749462,
        2.7764451051977934,
        2.0422724563012378,
        0.10193947882985835,
        0.7728900504021342,
    ];
}
