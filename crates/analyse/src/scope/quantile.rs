//! Quantiles, by the nearest rank, as in [`spread`](super::spread).

/// The smallest value that this share of them does not exceed; 0 without any.
pub(crate) fn quantile(values: &mut [i64], share: f64) -> i64 {
    if values.is_empty() {
        return 0;
    }
    // What is above a whole number by rounding alone is that number.
    let rank = (values.len() as f64 * share - 1e-9).ceil() as usize;
    let at = rank.saturating_sub(1).min(values.len() - 1);
    *values.select_nth_unstable(at).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rank_counts() {
        let of = |values: &[i64], share| quantile(&mut values.to_vec(), share);
        assert_eq!(of(&[], 0.5), 0);
        assert_eq!(of(&[7], 0.99), 7);
        assert_eq!(of(&[5, 1, 3], 0.5), 3);
        assert_eq!(of(&[5, 1, 3, 4], 0.5), 3);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 0.95), 12);
        assert_eq!(of(&(1..=100).collect::<Vec<_>>(), 0.07), 7);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 0.95), 11);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 0.9), 10);
    }
}
