//! Quantiles, by the nearest of the sorted values.

/// The value at a share of the way through the sorted values, rounded to the nearest; 0 without any.
pub(crate) fn quantile(values: &mut [i64], share: f64) -> i64 {
    if values.is_empty() {
        return 0;
    }
    let at = ((values.len() - 1) as f64 * share).round() as usize;
    *values.select_nth_unstable(at).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_value_counts() {
        let of = |values: &[i64], share| quantile(&mut values.to_vec(), share);
        assert_eq!(of(&[], 0.5), 0);
        assert_eq!(of(&[7], 0.99), 7);
        assert_eq!(of(&[5, 1, 3], 0.5), 3);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 0.95), 11);
        assert_eq!(of(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 0.9), 10);
    }
}
