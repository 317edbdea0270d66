//! Several tests at once: the more one looks, the more one finds by chance.

/// Holm's correction: p-values as if each had been the only one, in the order given. If those at or below 0.05 are
/// believed, any of them is wrong in at most 5% of cases.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max(p_values[at] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_held_to_what_is_left() {
        // By hand: 0.01 * 3 = 0.03, 0.02 * 2 = 0.04, 0.04 * 1 = 0.04.
        let close = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12);
        assert!(close(holm(&[0.04, 0.01, 0.02]), &[0.04, 0.03, 0.04]));
        assert!(close(holm(&[0.5, 0.9]), &[1.0, 1.0]));
        assert!(holm(&[]).is_empty());
    }
}
