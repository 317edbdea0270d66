//! Comparing two small sets of independent values by their order alone: no shape of the noise is assumed.
//!
//! The interval of Hodges and Lehmann is the Mann-Whitney test turned around: the shifts that the test would not reject.
//! Its coverage holds for every shape of noise, which is why it decides here: timings have tails and two humps.

/// Up to so many values in total, ranks are counted exactly; above, the normal approximation is closer than any noise.
const MAX_EXACT: usize = 60;

/// The two-sided p-value of the Mann-Whitney test: how likely values of one kind would fall at least this much apart.
/// Exact for up to 60 values in total, ties included; above that, the normal approximation with its correction for ties.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    // Ranks times two, so that the mean rank of ties is a whole number.
    let mut all: Vec<(f64, bool)> = a.iter().map(|&x| (x, true)).chain(b.iter().map(|&x| (x, false))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut ranks = vec![0usize; all.len()];
    let mut ties = 0.0;
    let mut start = 0;
    while start < all.len() {
        let end = start + all[start..].iter().take_while(|x| x.0 == all[start].0).count();
        ranks[start..end].fill(start + 1 + end);
        let tied = (end - start) as f64;
        ties += tied * tied * tied - tied;
        start = end;
    }
    let sum: usize = all.iter().zip(&ranks).filter(|((_, of_a), _)| *of_a).map(|(_, rank)| rank).sum();
    let (n, total) = (a.len(), all.len());
    if total <= MAX_EXACT {
        return Some(exact(&ranks, n, sum));
    }
    let (n, m, total) = (n as f64, b.len() as f64, total as f64);
    let middle = n * (total + 1.0);
    let variance = n * m / 3.0 * ((total + 1.0) - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    let z = ((sum as f64 - middle).abs() - 1.0).max(0.0) / variance.sqrt();
    Some((2.0 * normal_above(z)).min(1.0))
}

/// Twice the share of all ways to choose `n` of these doubled ranks whose sum is as low, or as high.
fn exact(ranks: &[usize], n: usize, sum: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    // ways[k][s]: how many sets of k ranks sum to s. Counts of 60 values fit a float's range with room to spare.
    let mut ways = vec![vec![0.0f64; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for k in (1..=n).rev() {
            let (below, at) = ways.split_at_mut(k);
            for s in (rank..=most).rev() {
                at[0][s] += below[k - 1][s - rank];
            }
        }
    }
    let total: f64 = ways[n].iter().sum();
    let low: f64 = ways[n][..=sum].iter().sum();
    let high: f64 = ways[n][sum..].iter().sum();
    (2.0 * low.min(high) / total).min(1.0)
}

/// How far `b` lies above `a`: the median of all pairwise differences, and the interval that covers the true shift with
/// this confidence. The interval is `None` where no choice of the values could be that sure: 95% needs four values on each
/// side.
pub fn hodges_lehmann(a: &[f64], b: &[f64], confidence: f64) -> Option<(f64, Option<(f64, f64)>)> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut shifts: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
    shifts.sort_by(f64::total_cmp);
    let pairs = shifts.len();
    let middle = (shifts[(pairs - 1) / 2] + shifts[pairs / 2]) / 2.0;
    let skip = outer_pairs(a.len(), b.len(), (1.0 - confidence) / 2.0);
    // `skip` pairs may be left out on each side; the interval ends at the next one.
    let interval = skip.and_then(|skip| Some((*shifts.get(skip)?, *shifts.get(pairs.checked_sub(skip + 1)?)?)));
    Some((middle, interval.filter(|(low, high)| low <= high)))
}

/// Whether values of so many repeats on each side can be that sure at all.
pub(super) fn can_decide(a: usize, b: usize, confidence: f64) -> bool {
    outer_pairs(a, b, (1.0 - confidence) / 2.0).is_some()
}

/// The largest `u` with P(U <= u) at most `tail`; `None` if even U = 0 is likelier than that.
fn outer_pairs(n: usize, m: usize, tail: f64) -> Option<usize> {
    if n + m > MAX_EXACT {
        let (n, m) = (n as f64, m as f64);
        let spread = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let u = (n * m / 2.0 - normal_quantile_above(tail) * spread - 0.5).floor();
        return (u >= 0.0).then_some(u as usize);
    }
    // ways[k][u]: how many ways to place k of the first group so that they come after u of the second in total.
    let most = n * m;
    let mut ways = vec![vec![0.0f64; most + 1]; n + 1];
    ways[0][0] = 1.0;
    for place in 1..=(n + m) {
        for k in (1..=n.min(place)).rev() {
            let after = place - k;
            if after > m {
                continue;
            }
            let (below, at) = ways.split_at_mut(k);
            for u in (after..=most).rev() {
                at[0][u] += below[k - 1][u - after];
            }
        }
    }
    let total: f64 = ways[n].iter().sum();
    let mut sum = 0.0;
    let fitting = ways[n].iter().take_while(|w| {
        sum += **w;
        sum / total <= tail
    });
    fitting.count().checked_sub(1)
}

/// The median of independent values, and the interval between two of them that covers the true median with this
/// confidence (the sign test turned around). 95% needs six values.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<(f64, Option<(f64, f64)>)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    let middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    // ln of the binomial coefficients, so that thousands of values do not overflow.
    let (mut choose, mut below) = (0.0f64, 0.0f64);
    let mut skip = None;
    for k in 0..n / 2 {
        below += (choose - n as f64 * std::f64::consts::LN_2).exp();
        if below > (1.0 - confidence) / 2.0 {
            break;
        }
        skip = Some(k);
        choose += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    Some((middle, skip.map(|k| (sorted[k], sorted[n - 1 - k]))))
}

/// The share of the standard normal distribution above `z` (Abramowitz and Stegun 7.1.26, within 1.5e-7).
pub(super) fn normal_above(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = t
        * (0.254_829_592
            + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let tail = polynomial * (-x * x).exp() / 2.0;
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// The point above which this share of the standard normal distribution lies.
pub(super) fn normal_quantile_above(share: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if normal_above(middle) > share { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests;
